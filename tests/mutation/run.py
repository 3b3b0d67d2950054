"""Apply one mutation at a time to a copy of the project and run the tests that should notice it.

python tests/mutation/run.py --check             only look whether every mutation still applies
python tests/mutation/run.py --ids deg-cap,la-n  a few of them
python tests/mutation/run.py --jobs 2 --out mutants.jsonl
python tests/mutation/run.py --gpu --prefix cu-  on a machine with a GPU

``mutations.jsonl`` holds one mutation per line: the ``file`` below ``src/grande_gnn``, the ``old`` text, which must
occur there exactly once (or ``nth`` says which occurrence is meant, counted from 0), the ``new`` text, the ``tests``
to run, a ``note``, and whether version 0.1 noticed it. ``equivalent`` gives the reason why a mutation changes nothing
that a user could see; it is then tried only with ``--equivalent``. A mutation is

- *killed* if a test fails,
- *survived* if all tests pass,
- *equivalent* if the list says so,
- *moved* if its text is no longer there: follow the code and change the list,
- *unclear* if pytest did not come to a verdict (a time-out, an import that fails, no test selected).

Mutations that the file of ``--out`` has already are not tried again. The exit status is 1 if a mutation is moved, or
if one that version 0.1 killed is not killed. ``record.py`` writes the states to ``benchmarks/results/mutants.csv``.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

PROJECT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutations.jsonl")
FAST = "not slow and not cluster and not browser and not kills and not latex"
"""The tests of ``make test``."""

NO_TESTS = 5
"""Pytest's exit status where no test was selected."""

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
    equivalent: str = ""

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


@dataclass(frozen=True)
class Outcome:
    """What pytest said: its exit status (None after a time-out), the tests that failed, and the first error."""

    status: int | None
    failed: tuple[str, ...] = ()
    error: str = ""

    @property
    def state(self) -> str:
        """The state of a mutation under which the tests ended like this; an import that fails notices nothing."""
        if self.status == 1 and not any("::" in name for name in self.failed):
            return "unclear"
        return {0: "survived", 1: "killed"}.get(self.status, "unclear")  # type: ignore[arg-type]


def run_tests(
    tests: Sequence[str], project: Path, seconds: float, *options: str, gpu: bool = False
) -> Outcome:
    """Run the fast ones of these tests in a copy of the project."""
    paths = [str(project / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = (
        {"GRANDE_DATA": str(PROJECT.parent / "shared" / "data")}
        | os.environ
        | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        | ({} if gpu else {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""})
    )
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--tb=short", "-m", FAST]
        command += ["-o", f"cache_dir={cache}", "--basetemp", f"{cache}/tests", *options, *tests]
        try:
            done = subprocess.run(
                command, cwd=project, env=environment, capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return Outcome(None, error=f"no end after {seconds:g} s")
        failed = Path(cache, "v", "cache", "lastfailed")
        names = tuple(json.loads(failed.read_text("utf-8"))) if failed.exists() else ()
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    errors = [line[1:].strip() for line in lines if line.startswith("E  ")] or lines[-1:] or [""]
    return Outcome(done.returncode, names, errors[0][:200])


def state_of(
    mutation: Mutation, project: Path, seconds: float, left_out: Sequence[str] = (), *, gpu: bool = False
) -> tuple[str, Outcome]:
    """Killed, survived, moved or unclear: the mutation tried in this copy of the project."""
    if is_moved(mutation, project):
        return "moved", Outcome(None)
    tests = [test for test in mutation.tests if test not in left_out]
    if not tests:
        return "unclear", Outcome(None)
    options = [f"--deselect={name}" if "::" in name else f"--ignore={name}" for name in left_out]
    with applied(mutation, project):
        outcome = run_tests(tests, project, seconds, "-x", *options, gpu=gpu)
    return outcome.state, outcome


def row_of(mutation: Mutation, state: str, outcome: Outcome) -> str:
    """What is known about a mutation, as a line of JSON."""
    row: dict[str, object] = {"id": mutation.id, "state": state, "note": mutation.note}
    if outcome.failed:
        row |= {"by": outcome.failed[0], "error": outcome.error}
    return json.dumps(row | {"killed_in_0.1": mutation.killed_before}, ensure_ascii=False)


def try_all(
    mutations: Sequence[Mutation], jobs: int, seconds: float, out: Path | None, *,
    unmutated: bool = True, leave_out: bool = False, gpu: bool = False, equivalent: bool = False,
) -> dict[str, str]:  # fmt: skip
    """The state of each mutation by its id; several are tried at once, each in a copy of its own."""
    states: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            copies.put(Path(shutil.copytree(PROJECT, Path(folder) / str(job), ignore=NOT_COPIED)))

        def baseline(test: str) -> Outcome:
            with taken(copies) as copy:
                return run_tests([test], copy, seconds, gpu=gpu)

        def attempt(mutation: Mutation) -> tuple[str, Outcome]:
            if mutation.equivalent and not equivalent:
                return "equivalent", Outcome(None)
            with taken(copies) as copy:
                return state_of(mutation, copy, seconds, left_out, gpu=gpu)

        with ThreadPoolExecutor(jobs) as pool:
            tests = sorted({test for mutation in mutations for test in mutation.tests}) if unmutated else []
            left_out = failing_anyway(dict(zip(tests, pool.map(baseline, tests), strict=True)), leave_out)
            begun = {pool.submit(attempt, mutation): mutation for mutation in mutations}
            for done in as_completed(begun):
                mutation, (state, outcome) = begun[done], done.result()
                states[mutation.id] = state
                line = row_of(mutation, state, outcome)
                print(line, flush=True)
                if out:
                    with out.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
    return states


@contextmanager
def taken(copies: SimpleQueue[Path]) -> Iterator[Path]:
    """A copy of the project that nobody else uses meanwhile."""
    copy = copies.get()
    try:
        yield copy
    finally:
        copies.put(copy)


def failing_anyway(outcomes: dict[str, Outcome], leave_out: bool) -> list[str]:
    """The tests and files that fail without any mutation: they would seem to kill every one."""
    bad = {test: outcome for test, outcome in outcomes.items() if outcome.status not in (0, NO_TESTS)}
    failed = sorted({name for test, outcome in bad.items() for name in outcome.failed or (test,)})
    for test, outcome in bad.items():
        names = " ".join(outcome.failed)
        print(f"{test} fails without any mutation: {outcome.status} {outcome.error} {names}", file=sys.stderr)
    if failed and not leave_out:
        sys.exit(f"{len(failed)} tests fail without any mutation: mend them, or give --leave-out")
    return failed


def known_states(out: Path | None) -> dict[str, str]:
    """The states that a file of ``--out`` has already."""
    if out is None or not out.exists():
        return {}
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return {row["id"]: row["state"] for row in rows}


def summarize(mutations: Sequence[Mutation], states: dict[str, str]) -> int:
    """Print the counts and what got worse since version 0.1; the exit status."""
    print(", ".join(f"{count} {state}" for state, count in sorted(Counter(states.values()).items())))
    moved = [m for m in mutations if states[m.id] == "moved"]
    worse = [m for m in mutations if m.killed_before and states[m.id] in ("survived", "unclear")]
    if tried := [m for m in mutations if states[m.id] in ("killed", "survived", "unclear")]:
        killed = sum(states[m.id] == "killed" for m in tried)
        print(f"{killed} of {len(tried)} that are not equivalent were killed: {killed / len(tried):.1%}")
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
    parser.add_argument(
        "--leave-out",
        action="store_true",
        help="leave tests out that fail without mutation, instead of stopping",
    )
    parser.add_argument(
        "--gpu", action="store_true", help="let the tests use the GPU instead of an interpreter"
    )
    parser.add_argument(
        "--equivalent", action="store_true", help="try those that the list calls equivalent, too"
    )
    options = parser.parse_args()
    ids = set(filter(None, options.ids.split(",")))
    mutations = [m for m in read_mutations() if m.id.startswith(options.prefix) and (not ids or m.id in ids)]
    if unknown := ids - {m.id for m in mutations}:
        parser.error(f"--ids must name mutations of {LIST.name}; got {', '.join(sorted(unknown))}")
    if options.check:
        states = {m.id: "moved" if is_moved(m) else "applies" for m in mutations}
    else:
        known = known_states(options.out)
        states = {m.id: known[m.id] for m in mutations if m.id in known}
        states |= try_all(
            [m for m in mutations if m.id not in known], options.jobs, options.seconds, options.out,
            unmutated=not options.no_unmutated, leave_out=options.leave_out, gpu=options.gpu,
            equivalent=options.equivalent,
        )  # fmt: skip
    return summarize(mutations, states)


if __name__ == "__main__":
    sys.exit(main())
