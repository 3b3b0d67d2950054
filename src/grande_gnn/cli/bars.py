"""Progress bars: one at a time, with its stage, rate and time left, on the terminal."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from grande_gnn.cli.options import is_quiet

__all__ = ["STAGES", "Stage", "StageBars"]

FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left, {rate_fmt}{postfix}]"
"""The stage, a bar, how much is done, the time taken and left, and the rate."""

SHORT = 1.0
"""Seconds that a stage takes before its bar appears: most stages of small data never show one."""


class Stage(NamedTuple):
    """What a bar says about a stage."""

    title: str
    unit: str
    in_logs: bool = False
    """Whether it is also shown where the standard error is no terminal, and from the beginning."""


STAGES = {
    "extract": Stage("Reading", "image", in_logs=True),
    "neighbors": Stage("Searching neighbors", "sample"),
    "graph": Stage("Comparing ranked lists", "sample"),
    "train": Stage("Training", "epoch"),
    "check": Stage("Training without some labels", "epoch"),
    "adapt": Stage("Adapting the network", "step", in_logs=True),
    "write": Stage("Writing results", "file"),
    "copy": Stage("Copying images", "image"),
    "folds": Stage("One fold after the other", "fold"),
}
"""The stages by name; others are shown by their own name."""


class StageBars:
    """A listener of counted work (:mod:`grande_gnn.internal.progress`) that draws the bar of the present stage."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> StageBars:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, stage: str, done: float, total: int, detail: str = "") -> None:
        if is_quiet() or not total:
            return
        if self._bar is not None and (stage != self._stage or total != self._bar.total or done < self._bar.n):
            self.close()
        if self._bar is None:
            self._bar, self._stage = _new_bar(stage, done, total), stage
        if detail:
            self._bar.set_postfix_str(detail, refresh=False)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self.close()

    def close(self) -> None:
        """End the present bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _new_bar(stage: str, done: float, total: int) -> Any:
    from tqdm import tqdm

    title, unit, in_logs = STAGES.get(stage, Stage(stage, "training"))
    return tqdm(
        total=total, initial=done, desc=title, unit=unit, file=sys.stderr, leave=in_logs, delay=0 if in_logs else SHORT,
        disable=not (in_logs or sys.stderr.isatty()), bar_format=FORMAT,
    )  # fmt: skip
