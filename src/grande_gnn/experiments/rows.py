"""Results as rows: one per finished trial, in memory or as one JSON object per line of a file.

Rows describe themselves: the trial, a fingerprint of the features and labels it was trained on, where it
ran. A rerun skips the trials that the file has. Rows are appended so that a kill loses none: a line that was cut
short is dropped when the file is next opened. Rows of other features are never mixed with new ones.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError
from grande_gnn.experiments.trials import DataName, Trial

__all__ = ["Row", "RowStore", "Rows"]

logger = logging.getLogger(__name__)

_LEFT_OUT: dict[str, Any] = {"degree": None, "options": {}, "unreached": None}
"""Fields that version 0.1 did not have, and the values with which they are left out of the file."""


@dataclass(frozen=True)
class Row:
    """A trial's result: its accuracy, or the error that stopped it."""

    trial: Trial
    fingerprint: str
    environment: str
    """Versions and device it ran with."""
    seconds: float
    """Its share of the time of the batch it was trained in."""
    n_test: int | None = None
    accuracy: float | None = None
    """Correct test samples in percent."""
    error: str | None = None
    unreached: int | None = None
    """Samples that no label reached; None where they were not counted, as in the tables."""

    def to_json(self) -> str:
        """One line, without the newline."""
        content = {field.name: getattr(self.trial, field.name) for field in fields(Trial)}
        content["options"] = dict(self.trial.options)
        content |= {field.name: getattr(self, field.name) for field in fields(Row)[1:]}
        content = {k: v for k, v in content.items() if k not in _LEFT_OUT or v != _LEFT_OUT[k]}
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Row:
        """The row of one line; raises ValueError, TypeError or KeyError where it is none."""
        content = dict(json.loads(line))
        if "options" in content:
            content["options"] = tuple(sorted(content["options"].items()))
        trial = {
            field.name: content.pop(field.name)
            for field in fields(Trial)
            if field.name in content or field.name not in _LEFT_OUT
        }
        return cls(trial=Trial(**trial), **content)


class Rows:
    """The rows of a run in memory."""

    def __init__(self) -> None:
        self.finished: dict[Trial, Row] = {}
        """The row of every trial that has an accuracy."""
        self.failed: dict[Trial, Row] = {}
        """The last row of every trial that only has errors."""

    def __str__(self) -> str:
        return "memory"

    def refuse_changed(self, fingerprints: Mapping[DataName, str]) -> None:
        """Raise unless all rows of a (dataset, features) in ``fingerprints`` have its fingerprint."""
        for row in [*self.finished.values(), *self.failed.values()]:
            name = row.trial.data
            if fingerprints.get(name, row.fingerprint) != row.fingerprint:
                raise InvalidInputError(
                    f"{self} holds rows of {'/'.join(name)} from other features or labels (fingerprint "
                    f"{row.fingerprint}), and old rows are never mixed with new data: choose another output "
                    f"folder or move the file away; got features with fingerprint {fingerprints[name]}"
                )

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows; known ones are left out."""
        for row in self._new(rows):
            self._remember(row)

    def _new(self, rows: Iterable[Row]) -> list[Row]:
        return [row for row in rows if row.trial not in self.finished and not self._repeats_error(row)]

    def _repeats_error(self, row: Row) -> bool:
        return row.trial in self.failed and self.failed[row.trial].error == row.error

    def _remember(self, row: Row) -> None:
        if row.accuracy is not None and math.isnan(row.accuracy):
            return  # earlier versions wrote these for trials without test samples: nothing was measured
        if row.error is None:
            self.finished[row.trial] = row
            self.failed.pop(row.trial, None)
        elif row.trial not in self.finished:
            self.failed[row.trial] = row


class RowStore(Rows):
    """The rows in a file, locked against a second writer; use it in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._descriptor, self.path)
            self._load()
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _load(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            logger.warning("%s: the last line was cut short by a kill and is dropped", self.path)
            os.ftruncate(self._descriptor, whole)
        for number, line in enumerate(content[:whole].decode(errors="replace").split("\n")[:-1], start=1):
            try:
                self._remember(Row.from_json(line))
            except (ValueError, TypeError, KeyError) as error:
                raise FileFormatError(
                    f"{self.path} must hold one row of results per line: move it away or choose another output "
                    f"folder; got {type(error).__name__} {error} in line {number}"
                ) from None

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows in one write, at the end and on disk before this returns; known ones are left out."""
        new = self._new(rows)
        data = "".join(row.to_json() + "\n" for row in new).encode()
        size = os.fstat(self._descriptor).st_size
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise GrandeError(f"{self.path} could not be written: {error}") from error
        for row in new:
            self._remember(row)


def _lock(descriptor: int, path: Path) -> None:
    """Hold the file for one writer until it is closed or the process ends; Windows has no such lock."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InvalidInputError(
            f"another run is writing to {path}: wait for it or choose another output folder; got a locked file"
        ) from None
