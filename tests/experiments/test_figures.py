"""The figures: right numbers, far neighbours → larger δ, and text that can be read at column width."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

from grande_gnn.degree import grande_degree
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import FeatureSet, LoadedSet
from grande_gnn.experiments.figures import write_figure
from grande_gnn.experiments.figures.figure_degree import (
    TEXT_WIDTH,
    degree_figure,
    edge_distances,
    pick_examples,
    work_out,
)
from grande_gnn.experiments.figures.figure_sigma import COLUMN_WIDTH, sigma_figure, sigma_trials
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.tables.results import Evidence
from grande_gnn.experiments.trials import Plan
from grande_gnn.graph import Graph, reciprocal_knn_graph

matplotlib = pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")


@pytest.fixture
def star():
    """The paper's two scenarios: node 0 with five far neighbours, node 6 with five near ones."""
    angle = 2 * np.pi * np.arange(5) / 5
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    h = np.concatenate([[[0.0, 0.0]], 1.0 * ring, [[9.0, 0.0]], [9.0, 0.0] + 0.3 * ring])
    graph = Graph.from_edges([0] * 5 + [6] * 5, [1, 2, 3, 4, 5, 7, 8, 9, 10, 11], 12)
    return h, graph


def test_far_neighbours_give_a_larger_degree(star):
    h, graph = star
    distances = edge_distances(h, graph)
    far, near = (work_out(distances, graph, 0.2, node) for node in (0, 6))
    np.testing.assert_allclose(far.distances, 1.0)
    np.testing.assert_allclose(near.distances, 0.3)
    assert far.s == pytest.approx((1 + 5 * np.exp(1 / 0.2)) / 6)
    assert near.s == pytest.approx((1 + 5 * np.exp(0.09 / 0.2)) / 6)
    assert far.n_neighbours == near.n_neighbours == 6
    assert far.degree == 6 + far.s > near.degree == 6 + near.s


def test_the_examples_picked_are_the_far_and_the_near_one(star):
    h, graph = star
    far, near = pick_examples(edge_distances(h, graph), graph, 0.2)
    assert (far.node, near.node) == (0, 6)


@pytest.mark.parametrize("sigma", [0.01, 0.2, 1.0])
def test_the_worked_degree_is_the_degree(sigma):
    h = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    graph = reciprocal_knn_graph(h, 7)
    distances = edge_distances(h, graph)
    worked = [work_out(distances, graph, sigma, node).degree for node in range(40)]
    np.testing.assert_allclose(worked, grande_degree(torch.from_numpy(h).double(), graph, sigma), rtol=1e-6)


def test_neighbours_come_nearest_first_and_without_the_node():
    h = np.array([[0.0], [3.0], [1.0], [2.0]])
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], 4)
    assert work_out(edge_distances(h, graph), graph, 0.2, 0).neighbours.tolist() == [2, 3, 1]


def test_what_cannot_be_shown_is_said(star):
    h, graph = star
    with pytest.raises(InvalidInputError, match="0 to 11; got 12"):
        work_out(edge_distances(h, graph), graph, 0.2, 12)
    lonely = Graph.from_edges([], [], 3)
    with pytest.raises(InvalidInputError, match="two nodes with equally many neighbours"):
        pick_examples(edge_distances(np.zeros((3, 1)), lonely), lonely, 0.2)


def texts(figure):
    """Every piece of text that is drawn, with its box in pixels; labels of ticks out of view are not."""
    unseen = set()
    for axis in (axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)):
        low, high = sorted(axis.get_view_interval())
        unseen |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    renderer = figure.canvas.get_renderer()
    found = [
        text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text not in unseen
    ]
    boxes = [(text, text.get_window_extent(renderer)) for text in found if text.get_text().strip()]
    return [(text, box) for text, box in boxes if box.width > 0]


def assert_legible(figure, width):
    """No letter below 7 pt at the printed width, nothing cut off, no text on another."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()
    assert figure.get_figwidth() == width
    drawn = texts(figure)
    assert len(drawn) > 5
    assert min(text.get_fontsize() for text, _ in drawn) >= 7
    page = figure.bbox
    for text, box in drawn:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
        assert inside, text.get_text()
    for (one, box), (other, other_box) in combinations(drawn, 2):
        assert not box.padded(-1).overlaps(other_box.padded(-1)), (one.get_text(), other.get_text())


def test_the_degree_figure_is_legible(tmp_path):
    from PIL import Image

    image = tmp_path / "flower.png"
    Image.new("RGB", (40, 30), "red").save(image)
    h = np.random.default_rng(0).normal(size=(60, 3))
    graph = reciprocal_knn_graph(h, 9)
    far, near = pick_examples(edge_distances(h, graph), graph, 0.2)
    figure = degree_figure(far, near, dict(enumerate([image, Path("nowhere.jpg")] * 30)), 0.2)
    assert_legible(figure, TEXT_WIDTH)
    paths = write_figure(figure, tmp_path / "new", "degree")
    assert [path.suffix for path in paths] == [".png", ".svg"]
    with Image.open(paths[0]) as picture:
        assert picture.width == round(300 * TEXT_WIDTH)
    assert paths[1].read_text().startswith("<?xml")


def sigma_evidence(repeats):
    sources = [
        FeatureSet("flowers17", name, Path(name)) for name in ("resnet152", "senet154", "vit-b16", "lite0")
    ]
    plan = Plan(data=tuple(sources), repeats=repeats, folds=2)
    rows = {}
    for i, trial in enumerate(sigma_trials(plan)):
        rows[trial] = Row(trial, "", "", 0.0, n_test=9, accuracy=80.0 + 10 * (trial.sigma or 0.5) + i % 3)
    nothing = np.zeros(0)
    sets = {s: LoadedSet(s, nothing, nothing, nothing, "", None, None) for s in sources}
    return Evidence(plan, sets, rows)


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_sigma_figure_is_legible_and_shows_every_score(repeats):
    evidence = sigma_evidence(repeats)
    figure = sigma_figure(evidence)
    assert_legible(figure, COLUMN_WIDTH)
    panels = figure.axes
    assert len(panels) == 2
    for panel, model in zip(panels, evidence.plan.models, strict=True):
        curves = [line for line in panel.lines if line.get_marker() != "None"]
        assert len(curves) == len(panel.collections) == 4
        for line, source in zip(curves, evidence.plan.data, strict=True):
            means = [
                evidence.scores(evidence.plan.engine_trials(source, model, [s])).mean
                for s in evidence.plan.sigmas
            ]
            np.testing.assert_allclose(line.get_xdata(), evidence.plan.sigmas)
            np.testing.assert_allclose(line.get_ydata(), means)


def test_the_sigma_figure_draws_what_there_is():
    evidence = sigma_evidence(1)
    missing = evidence.plan.data[0]
    rows = {trial: row for trial, row in evidence.finished.items() if trial.features != missing.features}
    figure = sigma_figure(Evidence(evidence.plan, evidence.sets, rows))
    assert len(figure.axes[0].collections) == 3


def test_the_sigma_figure_has_a_column_for_each_dataset():
    evidence = sigma_evidence(1)
    other = [FeatureSet("corel5k", "lite0", Path("x")), FeatureSet("corel5k", "vit-b16", Path("y"))]
    plan = replace(evidence.plan, data=(*evidence.plan.data, *other))
    rows = {
        trial: Row(trial, "", "", 0.0, n_test=9, accuracy=40.0 if trial.data[0] == "corel5k" else 80.0)
        for trial in sigma_trials(plan)
    }
    sets = evidence.sets | {s: replace(next(iter(evidence.sets.values())), source=s) for s in other}
    figure = sigma_figure(Evidence(plan, sets, rows))
    assert_legible(figure, 2 * COLUMN_WIDTH)
    assert [len(panel.collections) for panel in figure.axes] == [4, 2, 4, 2]
    for panel in figure.axes:  # its own scale: no dataset squeezes another
        low, high = panel.get_ylim()
        assert high - low < 10
