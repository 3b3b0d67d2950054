"""``corrections.jsonl``: every decision of a review, one per line, never changed afterwards.

A decision is on the disk (``fsync``) before :meth:`Journal.append` returns. Undoing one is a decision too. A process that is
killed while it writes leaves an incomplete last line: readers ignore it, and the next writer removes it. A lock on the
file keeps the lines of several processes apart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError
from grande_gnn.internal.json_file import parse_json

__all__ = ["FILE_NAME", "KINDS", "SCHEMA", "Decision", "Journal", "check_class_name"]

FILE_NAME = "corrections.jsonl"
"""The name of the journal in the folder of a labelling."""

SCHEMA = 1
"""Written in every line; a line with a higher number is refused, because its meaning is unknown."""

MAX_LINE = 64 * 2**20
"""Bytes of the longest line that is read. The first line is long, because it names every given label."""

MAX_FILE = 2**30
"""Bytes of the largest journal that is read."""

MAX_NAME = 200
"""Characters of the longest class name."""

KINDS: dict[str, tuple[str, ...]] = {
    "start": ("given",),
    "label": ("files", "label"),
    "none": ("files",),
    "skip": ("files",),
    "rename": ("old", "label"),
    "merge": ("old", "label"),
    "audit-start": ("files", "population"),
    "audit": ("files", "label"),
    "audit-end": ("files",),
    "undo": ("of",),
}
"""The kinds of decisions, and the fields that each of them has."""

OPTIONAL: dict[str, tuple[str, ...]] = {"audit-start": ("expected",)}
"""Fields that a decision may lack."""


@dataclass(frozen=True)
class Decision:
    """One line of the journal; which fields count depends on the kind (:data:`KINDS`)."""

    kind: str
    files: tuple[str, ...] = ()
    """The images it is about; at the end of an audit, those whose label was right."""
    label: str = ""
    """The class they get, or the new name of a class; ``""`` in an audit means none of the classes."""
    old: str = ""
    """The class that is renamed or merged into another."""
    of: int = 0
    """The number of the decision that is undone."""
    population: int = 0
    """How many images an audit's sample was drawn from."""
    expected: float | None = None
    """The accuracy that was expected when an audit began, in [0, 1]."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The labels that were given before the review: file to label."""
    id: int = 0
    """Its number, given by the journal."""
    time: str = ""
    """When it was written, in UTC, given by the journal."""

    def line(self) -> bytes:
        """The decision as a line of the journal."""
        content: dict[str, object] = {"schema": SCHEMA, "id": self.id, "time": self.time, "kind": self.kind}
        content |= {name: getattr(self, name) for name in KINDS[self.kind]}
        more = {name: getattr(self, name) for name in OPTIONAL.get(self.kind, ())}
        content |= {name: value for name, value in more.items() if value is not None}
        # ASCII: a file name that is not Unicode survives as an escaped surrogate.
        return json.dumps(content, separators=(",", ":")).encode("ascii") + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Decision:
        """Read a line; raises ValueError with the reason if it is not a decision."""
        content = parse_json(line)
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        if isinstance(content.get("schema"), int) and content["schema"] > SCHEMA:
            raise FileFormatError(
                f"{FILE_NAME} was written by a newer version of grande-gnn: update this one; "
                f"got schema {content['schema']}, and this version knows {SCHEMA}"
            )
        kind = content.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"its kind is unknown: {str(kind)[:40]!r}")
        names = [*KINDS[kind], "id", "time", *(name for name in OPTIONAL.get(kind, ()) if name in content)]
        values = {name: _checked(name, content.get(name)) for name in names}
        return cls(kind, **values)


_TYPES = {
    one.name: type(one.default)
    for one in fields(Decision)
    if one.name not in ("files", "given", "kind", "expected")
}


def _checked(name: str, value: Any) -> Any:
    """The value of a field if it has the right type."""
    if name == "files":
        if isinstance(value, list) and all(isinstance(file, str) for file in value):
            return tuple(value)
    elif name == "given":
        if isinstance(value, dict) and all(isinstance(label, str) for label in value.values()):
            return value
    elif name == "expected":
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
    elif type(value) is _TYPES[name]:
        return value
    raise ValueError(f"its field {name} is missing or has the wrong type")


def check_class_name(name: object) -> str:
    """A class name without spaces around it; refuses empty, very long and unprintable ones."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError(f"a class needs a name: type at least one character; got {str(name)[:40]!r}")
    text = name.strip()
    if len(text) > MAX_NAME or not text.isprintable():
        raise InvalidInputError(
            f"a class name has at most {MAX_NAME} characters, all of them printable: choose another; "
            f"got {len(text)} characters beginning with {text[:40]!r}"
        )
    return text


class Journal:
    """The decisions of a review, read from and appended to ``corrections.jsonl`` in a folder.

    >>> import tempfile
    >>> journal = Journal(tempfile.mkdtemp())
    >>> journal.append(Decision("label", ("1.jpg",), "cat")).id
    1
    >>> [decision.label for decision in Journal(journal.path.parent).decisions]
    ['cat']
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE_NAME
        self.decisions: list[Decision] = []
        self.problems: list[str] = []
        """Lines that are not decisions: they stay in the file and are otherwise ignored."""
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self._offset, self._lines, self._inode = 0, 0, 0
        self.decisions, self.problems = [], []

    def refresh(self) -> bool:
        """Read what was appended since the last call, by other processes too; return whether there was anything."""
        try:
            with open(self.path, "rb") as file:
                return self._read(file)
        except FileNotFoundError:
            had = bool(self.decisions)
            self._forget()
            return had
        except OSError as error:
            raise FileFormatError(
                f"the decisions cannot be read: check {self.path}; got {error.strerror}"
            ) from None

    def _read(self, file: IO[bytes]) -> bool:
        state = os.fstat(file.fileno())
        if state.st_size > MAX_FILE:
            raise FileFormatError(
                f"{self.path} is too large to be a journal of decisions: move it away; got {state.st_size} bytes"
            )
        if state.st_ino != self._inode or state.st_size < self._offset:  # another file took its place
            self._forget()
            self._inode = state.st_ino
        if state.st_size == self._offset:
            return False
        file.seek(self._offset)
        before = self._offset
        while (line := file.readline(MAX_LINE + 1)).endswith(b"\n"):
            self._take(line)
        if len(line) > MAX_LINE:
            raise FileFormatError(
                f"{self.path} has a line that is too long to be a decision: move the file away; "
                f"got more than {MAX_LINE} bytes in line {self._lines + 1}"
            )
        return self._offset > before

    def _take(self, line: bytes) -> None:
        self._offset += len(line)
        self._lines += 1
        try:
            self.decisions.append(Decision.from_line(line))
        except FileFormatError:
            raise
        except ValueError as error:
            self.problems.append(f"line {self._lines} of {FILE_NAME} is not a decision: {error}")

    def append(self, decision: Decision) -> Decision:
        """Write a decision; it is on the disk when this returns, with its number and time."""
        try:
            is_new = not self.path.exists()
            with open(self.path, "ab+") as file, _locked(file):
                self._read(file)
                self._mend(file)
                number = max((known.id for known in self.decisions), default=0) + 1
                now = datetime.now(UTC).isoformat(timespec="seconds")
                written = replace(decision, id=number, time=now)
                self._write(file, written.line())
            if is_new:
                _sync_folder(self.path.parent)
        except OSError as error:
            raise GrandeError(
                f"the decision could not be written, so it does not count: free some space or check {self.path}, then "
                f"decide again; got {error.strerror or error}"
            ) from error
        return written

    def _mend(self, file: IO[bytes]) -> None:
        """Remove the line that a killed process left unfinished at the end: nobody was told that it is saved."""
        if os.fstat(file.fileno()).st_size > self._offset:
            os.ftruncate(file.fileno(), self._offset)

    def _write(self, file: IO[bytes], line: bytes) -> None:
        try:
            file.seek(0, os.SEEK_END)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):  # a full disk may hold a part of the line
                os.ftruncate(file.fileno(), self._offset)
            raise
        self._take(line)


@contextmanager
def _locked(file: IO[bytes]) -> Iterator[None]:
    """Lock the file against the other processes that write to it."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock: never review one labelling in two processes there
        yield
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file as durable as its content, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
