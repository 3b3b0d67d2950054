"""The result file: one JSON object a line, one line a finished trial, appended so that a kill loses no row.

Rows describe themselves: the trial, a fingerprint of the features and labels it was trained on, where it
ran. A rerun skips the trials that are there. A line that a kill cut short is dropped when the file is next
opened; rows of other features are never mixed with new ones.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Self

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError
from grande_gnn.experiments.trials import DataName, Trial

__all__ = ["Row", "RowStore"]

logger = logging.getLogger(__name__)


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
    """Correct test samples in per cent."""
    error: str | None = None

    def to_json(self) -> str:
        """One line, without the newline."""
        content = {name: value for name, value in asdict(self).items() if name != "trial"}
        return json.dumps({**asdict(self.trial), **content}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Row:
        """The row of one line; raises ValueError, TypeError or KeyError where it is none."""
        content = dict(json.loads(line))
        trial = Trial(**{field.name: content.pop(field.name) for field in fields(Trial)})
        return cls(trial=trial, **content)


class RowStore:
    """The rows in a file, the file locked against a second writer; use it in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.finished: dict[Trial, Row] = {}
        """The row of every trial that has an accuracy."""
        self.failed: dict[Trial, Row] = {}
        """The last row of every trial that only has errors."""

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
                    f"{self.path} must hold one row of results a line: move it away or choose another output "
                    f"folder; got {type(error).__name__} {error} in line {number}"
                ) from None

    def _remember(self, row: Row) -> None:
        if row.accuracy is not None and math.isnan(row.accuracy):
            return  # earlier versions wrote these for trials without test samples: nothing was measured
        if row.error is None:
            self.finished[row.trial] = row
            self.failed.pop(row.trial, None)
        elif row.trial not in self.finished:
            self.failed[row.trial] = row

    def refuse_changed(self, fingerprints: Mapping[DataName, str]) -> None:
        """Raise unless all rows of a (dataset, features) in ``fingerprints`` have its fingerprint."""
        for row in [*self.finished.values(), *self.failed.values()]:
            name = row.trial.data
            if fingerprints.get(name, row.fingerprint) != row.fingerprint:
                raise InvalidInputError(
                    f"{self.path} holds rows of {'/'.join(name)} from other features or labels (fingerprint "
                    f"{row.fingerprint}), and old rows are never mixed with new data: choose another output "
                    f"folder or move the file away; got features with fingerprint {fingerprints[name]}"
                )

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows in one write, at the end and on disk before this returns; known ones are left out."""
        new = [row for row in rows if row.trial not in self.finished and not self._repeats_error(row)]
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

    def _repeats_error(self, row: Row) -> bool:
        return row.trial in self.failed and self.failed[row.trial].error == row.error


def _lock(descriptor: int, path: Path) -> None:
    """Hold the file for one writer until it is closed or the process ends; Windows goes without."""
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
