"""Apply one mutation at a time to a copy of the project and run the tests that should notice it.

python tests/mutation/run.py --check             only look whether every mutation still applies
python tests/mutation/run.py --ids deg-cap,la-n  a few of them
python tests/mutation/run.py --jobs 2 --out mutants.jsonl

``mutations.jsonl`` holds one mutation per line: the ``file`` below ``src/grande_gnn``, the ``old`` text, which must
occur there exactly once (or ``nth`` says which occurrence is meant, counted from 0), the ``new`` text, the ``tests``
to run, a ``note``, and whether version 0.1 noticed it. A mutation is

- *killed* if a test fails,
- *survived* if all tests pass,
- *moved* if its text is no longer there: follow the code and change the list,
- *unclear* if pytest did not come to a verdict (a time-out, an import that fails, no test selected).

The exit status is 1 if a mutation is moved, or if one that version 0.1 killed is not killed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

PROJECT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutations.jsonl")
FAST = "not slow and not cluster and not browser and not kills and not latex"
"""The tests of ``make test``."""

NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "__pycache__", "*_cache", ".hypothesis")


@dataclass(frozen=True)
class Mutation:
    """One deliberate bug and the tests that should notice it."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    note: str
    killed_before: bool
    nth: int | None = None

    def path(self, project: Path) -> Path:
        """The mutated file in a copy of the project."""
        return project / "src" / "grande_gnn" / self.file

    def applied_to(self, text: str) -> str | None:
        """The text with the bug in it; None if the mutation does not apply."""
        found = text.count(self.old)
        if not (found == 1 if self.nth is None else 0 <= self.nth < found):
            return None
        parts = text.split(self.old)
        before = 1 + (self.nth or 0)
        return self.old.join(parts[:before]) + self.new + self.old.join(parts[before:])


def read_mutations(path: Path = LIST) -> list[Mutation]:
    """All mutations of the list, in its order."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    return [
        Mutation(killed_before=row.pop("killed_in_0.1"), tests=tuple(row.pop("tests")), **row) for row in rows
    ]


def is_moved(mutation: Mutation, project: Path = PROJECT) -> bool:
    """Whether the mutation's text is no longer there, or is there more often than expected."""
    path = mutation.path(project)
    return not path.is_file() or mutation.applied_to(path.read_text("utf-8")) is None


@contextmanager
def applied(mutation: Mutation, project: Path) -> Iterator[None]:
    """The mutation in place; the file is restored afterwards."""
    path = mutation.path(project)
    original = path.read_text("utf-8")
    mutated = mutation.applied_to(original)
    assert mutated is not None, mutation.id
    path.write_text(mutated, "utf-8")
    try:
        yield
    finally:
        path.write_text(original, "utf-8")


def run_tests(tests: Sequence[str], project: Path, seconds: float) -> int | None:
    """The exit status of pytest on the fast ones of these tests; None after a time-out."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", FAST, *tests]
    environment = (
        {"GRANDE_DATA": str(PROJECT.parent / "shared" / "data")}
        | os.environ
        | {
            "PYTHONPATH": str(project / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "TRITON_INTERPRET": "1",
        }
    )
    try:
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def state_of(mutation: Mutation, project: Path, seconds: float) -> str:
    """Killed, survived, moved or unclear: the mutation tried in this copy of the project."""
    if is_moved(mutation, project):
        return "moved"
    with applied(mutation, project):
        status = run_tests(mutation.tests, project, seconds)
    return {0: "survived", 1: "killed"}.get(status, "unclear")  # type: ignore[arg-type]


def try_all(
    mutations: Sequence[Mutation], jobs: int, seconds: float, out: Path | None, *, unmutated: bool = True
) -> dict[str, str]:
    """The state of each mutation by its id; several are tried at once, each in a copy of its own."""
    states: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            copies.put(Path(shutil.copytree(PROJECT, Path(folder) / str(job), ignore=NOT_COPIED)))
        if unmutated:
            check_unmutated(mutations, Path(folder) / "0")

        def attempt(mutation: Mutation) -> str:
            copy = copies.get()
            try:
                return state_of(mutation, copy, seconds)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            for mutation, state in zip(mutations, pool.map(attempt, mutations), strict=True):
                states[mutation.id] = state
                row = {"id": mutation.id, "state": state, "note": mutation.note}
                line = json.dumps(row | {"killed_in_0.1": mutation.killed_before}, ensure_ascii=False)
                print(line, flush=True)
                if out:
                    with out.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
    return states


def check_unmutated(mutations: Sequence[Mutation], project: Path) -> None:
    """Stop if the tests fail without any mutation: every mutation would then seem to be killed."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    status = run_tests(tests, project, seconds=3600)
    if status:
        sys.exit(f"the tests fail without any mutation (pytest's exit status {status}): {' '.join(tests)}")


def summarize(mutations: Sequence[Mutation], states: dict[str, str]) -> int:
    """Print the counts and what got worse since version 0.1; the exit status."""
    print(", ".join(f"{count} {state}" for state, count in sorted(Counter(states.values()).items())))
    moved = [m for m in mutations if states[m.id] == "moved"]
    worse = [m for m in mutations if m.killed_before and states[m.id] in ("survived", "unclear")]
    better = [m for m in mutations if not m.killed_before and states[m.id] == "killed"]
    for mutation in moved:
        print(f"moved: {mutation.id} in {mutation.file} ({mutation.note})")
    for mutation in worse:
        print(f"killed in 0.1, now {states[mutation.id]}: {mutation.id} in {mutation.file} ({mutation.note})")
    if better:
        print(f"survived in 0.1, now killed: {' '.join(m.id for m in better)}")
    return int(bool(moved or worse))


def main() -> int:
    """The command line; its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="list the mutations that do not apply; run no tests"
    )
    parser.add_argument("--ids", default="", help="only these, separated by commas")
    parser.add_argument("--prefix", default="", help="only those whose id begins like this")
    parser.add_argument("--jobs", type=int, default=1, help="mutations tried at once")
    parser.add_argument(
        "--seconds", type=float, default=600, help="longest time for the tests of one mutation"
    )
    parser.add_argument("--out", type=Path, help="JSONL file to which each state is appended")
    parser.add_argument(
        "--no-unmutated", action="store_true", help="do not first run the tests without mutation"
    )
    options = parser.parse_args()
    ids = set(filter(None, options.ids.split(",")))
    mutations = [m for m in read_mutations() if m.id.startswith(options.prefix) and (not ids or m.id in ids)]
    if unknown := ids - {m.id for m in mutations}:
        parser.error(f"--ids must name mutations of {LIST.name}; got {', '.join(sorted(unknown))}")
    if options.check:
        states = {m.id: "moved" if is_moved(m) else "applies" for m in mutations}
    else:
        unmutated = not options.no_unmutated
        states = try_all(mutations, options.jobs, options.seconds, options.out, unmutated=unmutated)
    return summarize(mutations, states)


if __name__ == "__main__":
    sys.exit(main())
