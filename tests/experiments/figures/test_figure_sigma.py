"""Accuracy against σ: every score in its place, and text that can be read at column width."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.figures.figure_sigma import COLUMN_WIDTH, sigma_figure, sigma_trials
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.trials import Plan

pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")


def sigma_results(repeats):
    sources = [
        FeatureSet("flowers17", name, Path(name)) for name in ("resnet152", "senet154", "vit-b16", "lite0")
    ]
    plan = Plan(data=tuple(sources), repeats=repeats, folds=2)
    rows = {}
    for i, trial in enumerate(sigma_trials(plan)):
        rows[trial] = Row(trial, "", "", 0.0, n_test=9, accuracy=80.0 + 10 * (trial.sigma or 0.5) + i % 3)
    nothing = np.zeros(0)
    sets = {s: LoadedSet(s, nothing, nothing, nothing, "", None, None) for s in sources}
    return Results(plan, sets, rows)


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_sigma_figure_is_legible_and_shows_every_score(repeats, assert_legible):
    found = sigma_results(repeats)
    figure = sigma_figure(found)
    assert_legible(figure, COLUMN_WIDTH)
    panels = figure.axes
    assert len(panels) == 2
    for panel, model in zip(panels, found.plan.models, strict=True):
        curves = [line for line in panel.lines if line.get_marker() != "None"]
        assert len(curves) == len(panel.collections) == 4
        for line, source in zip(curves, found.plan.data, strict=True):
            means = [
                found.scores(found.plan.engine_trials(source, model, [s])).mean for s in found.plan.sigmas
            ]
            np.testing.assert_allclose(line.get_xdata(), found.plan.sigmas)
            np.testing.assert_allclose(line.get_ydata(), means)


def test_the_sigma_figure_draws_what_there_is():
    found = sigma_results(1)
    missing = found.plan.data[0]
    rows = {trial: row for trial, row in found.finished.items() if trial.features != missing.features}
    figure = sigma_figure(Results(found.plan, found.sets, rows))
    assert len(figure.axes[0].collections) == 3


def test_the_sigma_figure_has_a_column_for_each_dataset(assert_legible):
    found = sigma_results(1)
    other = [FeatureSet("corel5k", "lite0", Path("x")), FeatureSet("corel5k", "vit-b16", Path("y"))]
    plan = replace(found.plan, data=(*found.plan.data, *other))
    rows = {
        trial: Row(trial, "", "", 0.0, n_test=9, accuracy=40.0 if trial.data[0] == "corel5k" else 80.0)
        for trial in sigma_trials(plan)
    }
    sets = found.sets | {s: replace(next(iter(found.sets.values())), source=s) for s in other}
    figure = sigma_figure(Results(plan, sets, rows))
    assert_legible(figure, 2 * COLUMN_WIDTH)
    assert [len(panel.collections) for panel in figure.axes] == [4, 2, 4, 2]
    for panel in figure.axes:  # its own scale: no dataset squeezes another
        low, high = panel.get_ylim()
        assert high - low < 10
