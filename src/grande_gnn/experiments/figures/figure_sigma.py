"""Accuracy against σ: one panel per model and dataset, one line per feature set, the deviation shaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grande_gnn.engine import as_model
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.figures.canvas import STYLE, new_figure
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["COLUMN_WIDTH", "sigma_figure", "sigma_trials"]

COLUMN_WIDTH = 3.5
"""Inches: a column of a two-column paper, and the width of this figure in the GRaNDe paper."""

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colors, which the color-blind can tell apart."""
_MARKERS = "osD^vPX"


def sigma_trials(plan: Plan) -> Iterator[Trial]:
    """Degree centrality and every σ, without the inner trials."""
    for source in plan.data:
        for model in plan.models:
            yield from plan.engine_trials(source, model, [None, *plan.sigmas])


def sigma_figure(results: Results) -> Any:
    """Draw the scores that are finished, one column per dataset; degree centrality is the dashed line of the same color."""
    plan = results.plan
    datasets: dict[str, list[FeatureSet]] = {}
    for source in plan.data:
        datasets.setdefault(source.dataset, []).append(source)
    figure = new_figure(COLUMN_WIDTH * len(datasets), 0.5 + 1.75 * len(plan.models))
    import matplotlib

    with matplotlib.rc_context(STYLE):
        panels = figure.subplots(len(plan.models), len(datasets), sharex=True, squeeze=False)
        over = "repetitions" if plan.repeats > 1 else "folds"
        for column, sources in zip(panels.T, datasets.values(), strict=True):
            for panel, model in zip(column, plan.models, strict=True):
                _draw(panel, results, model, sources)
            column[-1].set_xlabel(f"σ   (shaded: ± deviation over {over})")
        if len(datasets) == 1:
            handles, names = panels[0, 0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False)
        else:
            for panel in panels[0]:
                panel.legend(loc="lower right", frameon=False)
    return figure


def _draw(panel: Any, results: Results, model: str, sources: Sequence[FeatureSet]) -> None:
    plan = results.plan
    for i, source in enumerate(sources):
        color, marker = _COLORS[i % len(_COLORS)], _MARKERS[i % len(_MARKERS)]
        scores = {s: results.scores(plan.engine_trials(source, model, [s])) for s in (None, *plan.sigmas)}
        known = {sigma: score for sigma, score in scores.items() if sigma is not None and score is not None}
        if known:
            sigmas = np.array(list(known))
            means = np.array([score.mean for score in known.values()])
            # The paper shades the deviation over repetitions; with a single repetition, it is the deviation over folds.
            spread = np.array(
                [score.std_folds if score.std is None else score.std for score in known.values()]
            )
            name = f"{source.features} ({results.title(source)})"
            panel.plot(sigmas, means, color=color, marker=marker, markersize=3, linewidth=1.2, label=name)
            panel.fill_between(sigmas, means - spread, means + spread, color=color, alpha=0.18, linewidth=0)
        if (centrality := scores[None]) is not None:
            panel.axhline(centrality.mean, color=color, linewidth=0.8, linestyle=(0, (4, 3)))
    panel.set_title(f"{as_model(model).title} (dashed: degree centrality)")
    panel.set_ylabel("Accuracy (%)")
    panel.set_xticks(plan.sigmas)
    panel.grid(axis="y", linewidth=0.3, alpha=0.6)
