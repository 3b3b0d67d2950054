"""Options that contradict each other are refused at once, in one sentence."""

from pathlib import Path

import numpy as np
import pytest

from grande_gnn.classifier.tuning import PAPER
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.graph.graph_files import save_graph, save_lists
from grande_gnn.labelling import LabelOptions


def test_everything_is_chosen_by_default_and_nothing_with_the_papers_settings():
    clf = LabelOptions(model="sgc", seed=3).classifier()
    assert (clf.graph, clf.n_neighbors, clf.normalize, clf.sigma) == ("auto",) * 4
    assert (clf.model, clf.degree, clf.random_state) == ("sgc", "grande", 3)
    clf = LabelOptions(paper=True).classifier()
    assert (clf.graph, clf.n_neighbors, clf.normalize, clf.sigma) == (
        PAPER.graph, PAPER.n_neighbors, PAPER.normalize, PAPER.sigma,
    )  # fmt: skip


@pytest.mark.parametrize(
    "setting", [{"sigma": 0.5}, {"graph": "knn"}, {"n_neighbors": 9}, {"normalize": "l2"}]
)
def test_the_papers_settings_and_another_are_refused(setting):
    ((name, value),) = setting.items()
    with pytest.raises(InvalidInputError, match=f"got paper=True and {name}={value!r}"):
        LabelOptions(paper=True, **setting)


def test_two_sources_of_one_graph_are_refused():
    with pytest.raises(InvalidInputError, match=r"give one of the two; got g\.npz and l\.npz"):
        LabelOptions(graph_file="g.npz", lists_file="l.npz")
    with pytest.raises(InvalidInputError, match=r"no kind of graph is built.*got g\.npz and 'knn'"):
        LabelOptions(graph_file="g.npz", graph="knn")
    LabelOptions(lists_file="l.npz", graph="knn")  # the kind that the lists are turned into


def test_an_unknown_export_is_refused():
    assert LabelOptions(export="label-studio").export == "label-studio"
    assert LabelOptions(export=("coco", "csv")).export == ("coco", "csv")
    with pytest.raises(InvalidInputError, match=r"export must be one of csv, .*; got 'xml'"):
        LabelOptions(export="xml")


def test_files_must_fit_the_images(tmp_path):
    save_graph(tmp_path / "graph.npz", Graph.from_edges([0], [1], 3))
    save_lists(tmp_path / "lists.npz", np.array([[0, 1], [1, 0], [2, 1]], dtype=np.int32))
    graph, lists = (LabelOptions(**{f"{name}_file": tmp_path / f"{name}.npz"}) for name in ("graph", "lists"))
    assert graph.ready_graph(3).n_nodes == 3
    assert lists.ready_graph(3).shape == (3, 2)
    assert LabelOptions().ready_graph(3) is None
    with pytest.raises(
        InvalidInputError, match=r"one node per sample that has features: 4 samples; got 3 nodes"
    ):
        graph.ready_graph(4)
    with pytest.raises(InvalidInputError, match=r"one ranked list per sample .*: 4 samples; got 3 lists"):
        lists.ready_graph(4)
    with pytest.raises(FileFormatError, match="no such graph file"):
        LabelOptions(graph_file=tmp_path / "absent.npz").ready_graph(3)


def test_named_places_are_those_that_were_given(tmp_path):
    assert LabelOptions().named_places == {}
    options = LabelOptions(labels="labels.csv", store=tmp_path, graph_file="g.npz")
    assert options.named_places == {
        "labels": Path("labels.csv"),
        "store": tmp_path,
        "graph_file": Path("g.npz"),
    }
