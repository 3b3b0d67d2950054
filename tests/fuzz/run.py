"""Send damaged files through every door and count what happens; what breaks something is kept.

python tests/fuzz/run.py --minutes 30                     continue the campaign in benchmarks/results/fuzz.csv
python tests/fuzz/run.py --minutes 1 --doors images,rows  only these doors
python tests/fuzz/run.py --out NEW.csv --first 9000000    another campaign, with inputs that were not judged before
python tests/fuzz/run.py --show "rows 4711"               make one input again and show what happens to it

Input number i of a door is always the same for one corpus, so the table says where to continue. Inputs are judged in
forked processes, a few hundred at a time, with 1 GiB of memory beyond what the imports take and 10 seconds for one input,
of the processor's time: what other programs do on the machine does not count. One that waits is stopped after 30 seconds.
An input is

- *refused* with an error of this package, in one line,
- *accepted*, and what was read agrees with an independent reading of the same bytes,
- a *traceback*: any other exception, MemoryError included,
- *wrong*: accepted, yet read differently,
- a *crash* of the interpreter, or a *hang*.

The last four are failures; their files are written to ``--found``, to be moved into the corpus when they are mended.
"""

from __future__ import annotations

import argparse
import csv
import logging
import os
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from door import Door, Files
from doors import DOORS

PROJECT = Path(__file__).resolve().parents[2]
TABLE = PROJECT / "benchmarks" / "results" / "fuzz.csv"
OUTCOMES = ("refused", "accepted", "traceback", "wrong", "crash", "hang")
FAILURES = OUTCOMES[2:]
COLUMNS = ("door", "next", "inputs", *OUTCOMES, "slowest_ms", "peak_mib")
CHUNK = 250
SECONDS = 10
"""Of the processor's time for one input; by the clock it may take three times as long."""
MEMORY = 1 << 30
"""Beyond what the process has when it starts."""
SHARES = {"images": 3, "features": 2, "model": 2, "model-signed": 2, "store": 2, "store-edited": 0.5}
"""How often a door gets its turn compared with the others."""

_START, _DONE = struct.Struct("<BI"), struct.Struct("<BIf")


class Hang(BaseException):
    """An input took too long; not an Exception, so that no door can swallow it."""


def input_of(door: Door, number: int) -> Files:
    """Input ``number`` of a door."""
    return door.mutate(Random(f"{door.name} {number}"))


def outcome_of(door: Door, files: Files, folder: Path) -> str:
    """What happens to one input, in this process."""
    try:
        return door.judge(files, folder)
    except AssertionError:
        return "wrong"
    except Hang:
        return "hang"
    except BaseException:
        return "traceback"


def _too_long(*_: object) -> None:
    raise Hang


def work(door: Door, numbers: range, pipe: int) -> None:
    """Judge inputs in a worker process and report each before and after."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _too_long)
    with tempfile.TemporaryDirectory(dir=_memory_folder()) as name:
        for number in numbers:
            os.write(pipe, _START.pack(255, number))
            files, start = input_of(door, number), time.process_time()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            outcome = outcome_of(door, files, Path(name))
            signal.setitimer(signal.ITIMER_PROF, 0)
            os.write(pipe, _DONE.pack(OUTCOMES.index(outcome), number, time.process_time() - start))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    os.write(pipe, _DONE.pack(254, 0, peak))


def _memory_folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


@dataclass
class Tally:
    """What happened to the inputs of a door so far."""

    door: str
    next: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    slowest_ms: float = 0.0
    peak_mib: float = 0.0

    def row(self) -> list[object]:
        """A line of the table."""
        counted = [self.counts[outcome] for outcome in OUTCOMES]
        return [
            self.door,
            self.next,
            sum(counted),
            *counted,
            f"{self.slowest_ms:.0f}",
            f"{self.peak_mib:.0f}",
        ]

    @classmethod
    def of(cls, row: dict[str, str]) -> Tally:
        """The tally of a line of the table."""
        counts = Counter({outcome: int(row[outcome]) for outcome in OUTCOMES})
        return cls(row["door"], int(row["next"]), counts, float(row["slowest_ms"]), float(row["peak_mib"]))


class Worker:
    """A forked process that judges a range of inputs; after a crash or a hang another one continues."""

    def __init__(self, tally: Tally, numbers: range, found: Path | None) -> None:
        self.tally, self.numbers, self.found, self.current = tally, numbers, found, numbers.start
        self.pipe, self._buffer, self._since = -1, b"", time.monotonic()
        self._start(numbers)

    def _start(self, numbers: range) -> None:
        self.pipe, writing = os.pipe()
        self._buffer, self._since = b"", time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self.pipe)
                logging.disable(logging.CRITICAL)
                warnings.simplefilter("ignore")
                work(DOORS[self.tally.door], numbers, writing)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)

    def advance(self) -> bool:
        """Take in what the process has reported; whether it has more to do."""
        data = os.read(self.pipe, 1 << 16) if select.select([self.pipe], [], [], 0)[0] else None
        if data:
            self._buffer, self._since = self._buffer + data, time.monotonic()
            self._take()
            return True
        is_hanging = time.monotonic() - self._since > 3 * SECONDS
        if data is None and not is_hanging:
            return True
        if is_hanging:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.pipe)
        if status == 0 and not is_hanging:
            return False
        self._count("hang" if is_hanging else "crash", self.current, 0.0)
        rest = range(self.current + 1, self.numbers.stop)
        if not rest:
            return False
        self._start(rest)
        return True

    def _take(self) -> None:
        while self._buffer:
            kind = self._buffer[0]
            shape = _START if kind == 255 else _DONE
            if len(self._buffer) < shape.size:
                return
            values, self._buffer = shape.unpack(self._buffer[: shape.size]), self._buffer[shape.size :]
            if kind == 255:
                self.current = values[1]
            elif kind == 254:
                self.tally.peak_mib = max(self.tally.peak_mib, values[2])
            else:
                self._count(OUTCOMES[kind], values[1], values[2])

    def _count(self, outcome: str, number: int, seconds: float) -> None:
        self.tally.counts[outcome] += 1
        self.tally.slowest_ms = max(self.tally.slowest_ms, 1000 * seconds)
        if outcome in FAILURES and self.found is not None:
            self.found.mkdir(parents=True, exist_ok=True)
            for name, content in input_of(DOORS[self.tally.door], number).items():
                (self.found / f"{self.tally.door}-{outcome}-{number}-{name}").write_bytes(content)
            print(f"{outcome}: {self.tally.door} {number}", flush=True)


def read_table(path: Path) -> dict[str, Tally]:
    """The tallies of an earlier run."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["door"]: Tally.of(row) for row in csv.DictReader(file)}


def write_table(path: Path, tallies: dict[str, Tally]) -> None:
    """Write the table, whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(tally.row() for tally in tallies.values())
    os.replace(part, path)


def campaign(
    doors: list[str],
    tallies: dict[str, Tally],
    seconds: float,
    jobs: int,
    found: Path | None,
    table: Path | None,
    first: int = 0,
) -> None:
    """Judge inputs until the time is over, each door its share; those that are not in the tallies begin at ``first``."""
    for name in doors:
        tallies.setdefault(name, Tally(name, first))
        assert DOORS[name].seeds
    given = {name: sum(tallies[name].counts.values()) for name in doors}
    end = time.monotonic() + seconds
    workers: list[Worker] = []
    while workers or time.monotonic() < end:
        while len(workers) < jobs and time.monotonic() < end:
            name = min(doors, key=lambda door: given[door] / SHARES.get(door, 1))
            start = tallies[name].next
            tallies[name].next += CHUNK
            given[name] += CHUNK
            workers.append(Worker(tallies[name], range(start, start + CHUNK), found))
        select.select([worker.pipe for worker in workers], [], [], 0.5)
        still = [worker for worker in workers if worker.advance()]
        if len(still) < len(workers) and table is not None:
            write_table(table, tallies)
        workers = still


def show(text: str) -> None:
    """Judge one input in this process, with its traceback."""
    name, number = text.rsplit(" ", 1)
    files = input_of(DOORS[name], int(number))
    print({file: content[:400] for file, content in files.items()})
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(DOORS[name].judge(files, Path(folder)))
        except BaseException:
            traceback.print_exc()


def main() -> int:
    """The command line; the exit status is 1 if there was a failure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--doors", default=",".join(DOORS), help="separated by commas")
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first input of a door without a row"
    )
    parser.add_argument("--found", type=Path, default=PROJECT / "fuzz-found")
    parser.add_argument("--show", help="a door and a number")
    options = parser.parse_args()
    if options.show:
        show(options.show)
        return 0
    tallies = read_table(options.out)
    campaign(
        options.doors.split(","), tallies, 60 * options.minutes, options.jobs, options.found, options.out,
        options.first,
    )  # fmt: skip
    write_table(options.out, tallies)
    for tally in tallies.values():
        print(*tally.row(), sep="\t")
    return int(any(tally.counts[outcome] for tally in tallies.values() for outcome in FAILURES))


if __name__ == "__main__":
    sys.exit(main())
