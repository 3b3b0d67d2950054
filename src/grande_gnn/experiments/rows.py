"""Results as rows: one per finished trial, in memory or as one JSON object per line of a file.

A row describes itself: it holds the trial, a fingerprint of the features and labels that it was trained on, and the
environment that it ran in. A rerun skips the trials that are in the file. A killed process loses no finished row: only a
line that was cut short is dropped when the file is next opened. Rows of other features are never mixed with new ones.
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
from grande_gnn.internal.json_file import parse_json
from grande_gnn.internal.schema import either, flag, integer, mapping_of, number, optional, record, text

__all__ = ["Row", "RowStore", "Rows"]

logger = logging.getLogger(__name__)

_LEFT_OUT: dict[str, Any] = {"degree": None, "options": {}, "unreached": None}
"""Fields that version 0.1 did not have, and the values at which they are left out of the file."""

_NAME = text(max_length=4096, surrogates=True)
_COUNT, _POSITIVE = integer(0, 2**63), integer(1, 2**63)
_ROW = record(
    {
        "dataset": _NAME, "features": _NAME, "system": _NAME, "folds": _POSITIVE, "fold": _COUNT, "repetition": _COUNT,
        "seed": _COUNT, "normalize": _NAME, "model": optional(_NAME), "sigma": optional(number(0, open_low=True)),
        "hidden": optional(_POSITIVE), "graph": optional(_NAME), "n_neighbors": optional(_POSITIVE),
        "lr": optional(number(0, open_low=True)), "epochs": optional(_COUNT), "inner_folds": optional(_POSITIVE),
        "inner": optional(_COUNT), "degree": optional(_NAME),
        "options": mapping_of(optional(either(flag, number(), _NAME))), "fingerprint": _NAME,
        "environment": text(max_length=1 << 16, surrogates=True), "seconds": number(0), "n_test": optional(_COUNT),
        "accuracy": optional(number(0, 100)), "error": optional(text(max_length=1 << 20, surrogates=True)),
        "unreached": optional(_COUNT),
    },
    optional=("degree", "options", "unreached", "n_test", "accuracy", "error"),
)  # fmt: skip
"""The fields that a line may have."""


@dataclass(frozen=True)
class Row:
    """The result of a trial: its accuracy, or the error that stopped it."""

    trial: Trial
    fingerprint: str
    environment: str
    """The versions and the device that it ran with."""
    seconds: float
    """Its share of the time of the batch it was trained in."""
    n_test: int | None = None
    accuracy: float | None = None
    """Correct test samples in percent."""
    error: str | None = None
    unreached: int | None = None
    """The number of samples that no label reached; None if they were not counted, as in the tables."""

    def to_json(self) -> str:
        """One line, without the newline."""
        content = {field.name: getattr(self.trial, field.name) for field in fields(Trial)}
        content["options"] = dict(self.trial.options)
        content |= {field.name: getattr(self, field.name) for field in fields(Row)[1:]}
        content = {k: v for k, v in content.items() if k not in _LEFT_OUT or v != _LEFT_OUT[k]}
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Row:
        """The row in a line; raises :class:`InvalidInputError` if the line is not a row."""
        content = parse_json(line, allow_nan=True)
        measured = isinstance(content, dict) and content.get("accuracy")
        is_nan = isinstance(measured, float) and math.isnan(
            measured
        )  # version 0.1 wrote this if nothing was measured
        _ROW(content | {"accuracy": None} if is_nan else content, "row")
        if (content.get("accuracy") is None) == (content.get("error") is None):
            raise InvalidInputError("a row must have either an accuracy or an error; got both or neither")
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
        """Add rows, except those that are already there."""
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
        for place, line in enumerate(content[:whole].split(b"\n")[:-1], start=1):
            try:
                self._remember(Row.from_json(line))
            except InvalidInputError as error:
                raise FileFormatError(
                    f"{self.path} must hold one row of results per line: move it away or choose another output "
                    f"folder; got in line {place}: {error}"
                ) from None

    def append(self, rows: Iterable[Row]) -> None:
        """Append rows, except known ones, in a single write that is on disk before this returns."""
        new = self._new(rows)
        # A file name that is not valid Unicode contains surrogates, which JSON writes as \\udc80 and the like.
        data = "".join(row.to_json() + "\n" for row in new).encode(errors="backslashreplace")
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
    """Lock the file for one writer until it is closed or the process ends; Windows has no such lock."""
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
