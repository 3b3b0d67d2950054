"""The worked example: right numbers, far neighbors → larger δ, and text that can be read in print."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn.degree import grande_degree
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.figures.canvas import write_figure
from grande_gnn.experiments.figures.figure_degree import (
    TEXT_WIDTH,
    degree_figure,
    edge_terms,
    examples,
    pick_examples,
    thumbnail,
    work_out,
)
from grande_gnn.graph import Graph, reciprocal_knn_graph


@pytest.fixture
def star():
    """The paper's two scenarios: node 0 with five far neighbors, node 6 with five near ones."""
    angle = 2 * np.pi * np.arange(5) / 5
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    h = np.concatenate([[[0.0, 0.0]], 1.0 * ring, [[9.0, 0.0]], [9.0, 0.0] + 0.3 * ring])
    graph = Graph.from_edges([0] * 5 + [6] * 5, [1, 2, 3, 4, 5, 7, 8, 9, 10, 11], 12)
    return h, graph


def test_far_neighbors_give_a_larger_degree(star):
    h, graph = star
    terms = edge_terms(h, graph, 0.2)
    far, near = (work_out(terms, graph, node) for node in (0, 6))
    np.testing.assert_allclose(far.distances, 1.0)
    np.testing.assert_allclose(near.distances, 0.3)
    assert far.s == pytest.approx((1 + 5 * np.exp(1 / 0.2)) / 6)
    assert near.s == pytest.approx((1 + 5 * np.exp(0.09 / 0.2)) / 6)
    assert far.n_neighbors == near.n_neighbors == 6
    assert far.degree == 6 + far.s > near.degree == 6 + near.s


def test_the_examples_picked_are_the_far_and_the_near_one(star):
    h, graph = star
    far, near = pick_examples(edge_terms(h, graph, 0.2), graph)
    assert (far.node, near.node) == (0, 6)


@pytest.mark.parametrize("sigma", [0.01, 0.2, 1.0])
def test_the_worked_degree_is_the_degree(sigma):
    h = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    graph = reciprocal_knn_graph(h, 7)
    terms = edge_terms(h, graph, sigma)
    worked = [work_out(terms, graph, node).degree for node in range(40)]
    np.testing.assert_allclose(worked, grande_degree(torch.from_numpy(h).double(), graph, sigma), rtol=1e-6)


def test_neighbors_come_nearest_first_and_without_the_node():
    h = np.array([[0.0], [3.0], [1.0], [2.0]])
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], 4)
    assert work_out(edge_terms(h, graph, 0.2), graph, 0).neighbors.tolist() == [2, 3, 1]


def test_what_cannot_be_shown_is_refused(star):
    h, graph = star
    with pytest.raises(InvalidInputError, match="0 to 11; got 12"):
        work_out(edge_terms(h, graph, 0.2), graph, 12)
    lonely = Graph.from_edges([], [], 3)
    with pytest.raises(InvalidInputError, match="two nodes with equally many neighbors"):
        pick_examples(edge_terms(np.zeros((3, 1)), lonely, 0.2), lonely)


def test_the_degree_figure_is_legible(tmp_path, assert_legible):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")

    image = tmp_path / "flower.png"
    Image.new("RGB", (40, 30), "red").save(image)
    h = np.random.default_rng(0).normal(size=(60, 3))
    graph = reciprocal_knn_graph(h, 9)
    far, near = pick_examples(edge_terms(h, graph, 0.2), graph)
    figure = degree_figure(far, near, dict(enumerate([image, Path("nowhere.jpg")] * 30)), 0.2)
    assert_legible(figure, TEXT_WIDTH)
    paths = write_figure(figure, tmp_path / "new", "degree")
    assert [path.suffix for path in paths] == [".png", ".svg"]
    with Image.open(paths[0]) as picture:
        assert picture.width == round(300 * TEXT_WIDTH)
    assert paths[1].read_text().startswith("<?xml")


def test_examples_of_a_features_file_are_typical_or_asked_for(plan, sets):
    loaded = sets[plan.data[0]]
    far, near = examples(loaded, plan, "cpu")
    assert far.n_neighbors == near.n_neighbors
    assert far.s >= near.s
    asked = examples(loaded, plan, "cpu", (near.node, far.node))
    assert [one.node for one in asked] == [far.node, near.node]
    assert [one.degree for one in asked] == [far.degree, near.degree]


def test_a_thumbnail_is_the_upright_middle_or_gray(tmp_path):
    picture = Image.new("RGB", (30, 10), "red")
    picture.paste("blue", (10, 0, 20, 10))
    picture.save(tmp_path / "a.png")
    assert (thumbnail(tmp_path / "a.png", 10) == [0, 0, 255]).mean() > 0.7
    assert (thumbnail(tmp_path / "none.png", 10) == 200).all()
