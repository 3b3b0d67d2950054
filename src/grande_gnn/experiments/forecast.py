"""How long a run will take, learned from the trials that it has finished."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from grande_gnn.experiments.trials import Batch, Kind

__all__ = ["Forecast"]


@dataclass
class _Measured:
    """The measured times of the batches of one kind, or of one batch that is being trained."""

    trials: float = 0.0
    seconds: float = 0.0
    setup: float | None = None
    """Seconds until the first progress report; they do not depend on the number of trials."""

    def per_trial(self, n_trials: int) -> float | None:
        """Seconds per trial in a batch of ``n_trials``."""
        return self.seconds / self.trials + (self.setup or 0.0) / n_trials if self.trials else None


@dataclass
class Forecast:
    """The progress of a run, and an estimate of its total time.

    Every kind of trial has its own cost, which is measured on its first trials; the cost of a kind that has not been trained
    yet is estimated from its ``weight`` relative to the others.
    """

    counts: Counter[Kind]
    """Trials of each kind."""
    weight: Mapping[Kind, float]
    start: float = field(default_factory=time.perf_counter)
    done: float = 0.0
    _finished: dict[Kind, _Measured] = field(default_factory=dict)
    _running: dict[Batch, _Measured] = field(default_factory=dict)

    def add(self, batch: Batch, trials: float, seconds: float) -> None:
        """Record that ``trials`` more of a batch took one worker ``seconds``."""
        self.done += trials
        measured = self._running.setdefault(batch, _Measured())
        if measured.setup is None and trials < len(batch.trials):
            measured.setup = seconds
            return
        measured.trials += trials
        measured.seconds += seconds
        if measured.trials > len(batch.trials) - 1:
            del self._running[batch]
            kind = self._finished.setdefault(batch.kind, _Measured())
            kind.trials += len(batch.trials)
            kind.seconds += measured.seconds + (measured.setup or 0.0)

    @property
    def total(self) -> int:
        """All trials of this run."""
        return sum(self.counts.values())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def _seconds_per_trial(self) -> dict[Kind, float]:
        known = {batch.kind: m.per_trial(len(batch.trials)) for batch, m in self._running.items()}
        known |= {kind: m.per_trial(1) for kind, m in self._finished.items()}
        return {kind: seconds for kind, seconds in known.items() if seconds is not None}

    def expected(self) -> float | None:
        """Estimated seconds of the whole run; None before anything is known."""
        known = self._seconds_per_trial()
        if not known:
            return None
        scale = sum(known.values()) / sum(self.weight[kind] for kind in known)
        whole = sum(count * known.get(kind, self.weight[kind] * scale) for kind, count in self.counts.items())
        return whole / self._workers()

    def _workers(self) -> float:
        """How many batches are trained at a time."""
        busy = sum(m.seconds + (m.setup or 0.0) for m in (*self._finished.values(), *self._running.values()))
        return max(1.0, busy / self.elapsed)
