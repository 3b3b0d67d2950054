"""Options that several commands share: choices come from the registries, graphs may come from files."""

import click
import numpy as np
import pytest

from grande_gnn.classifier.normalizer import NORMALIZATIONS
from grande_gnn.cli import compare, evaluate, table
from grande_gnn.cli.options import chain, graph_from_files
from grande_gnn.engine.degrees import DEGREES
from grande_gnn.engine.models import MODELS
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.graph import GRAPHS, Graph, ranked_lists, reciprocal_knn_graph
from grande_gnn.graph.graph_files import save_graph, save_lists


def choices(command, name):
    (option,) = (option for option in command.params if option.name == name)
    return list(option.type.choices)


def test_choices_are_the_registries():
    public = [name for name, kind in GRAPHS.items() if kind.public]
    assert choices(evaluate.command, "model") == list(MODELS)
    assert choices(evaluate.command, "degree") == list(DEGREES)
    assert choices(table.command, "models") == list(MODELS)
    for command in (evaluate.command, table.command):
        assert choices(command, "graph") == public
        assert choices(command, "normalize") == list(NORMALIZATIONS)
    assert compare.command.name == "compare"


def test_a_chain_keeps_the_order_of_its_options():
    command = click.command()(chain(click.option("--first"), click.option("--second"))(lambda **_: None))
    assert [option.name for option in command.params] == ["first", "second"]


def test_a_graph_may_come_from_a_file(blobs, tmp_path):
    X, _ = blobs
    graph = reciprocal_knn_graph(X, 7)
    save_graph(tmp_path / "graph.npz", graph)
    save_lists(tmp_path / "lists.npz", ranked_lists(X, 9))
    assert graph_from_files(X, "knn", 7, None, None) == "knn"
    read = graph_from_files(X, "knn", 3, str(tmp_path / "graph.npz"), None)
    built = graph_from_files(X, "reciprocal", 7, None, str(tmp_path / "lists.npz"))
    for got in (read, built):
        assert isinstance(got, Graph)
        np.testing.assert_array_equal(got.indices, graph.indices)
    wider = graph_from_files(X, "knn", 7, None, str(tmp_path / "lists.npz"))
    assert wider.n_edges > graph.n_edges


def test_files_of_another_problem_are_refused(blobs, tmp_path):
    X, _ = blobs
    save_graph(tmp_path / "graph.npz", reciprocal_knn_graph(X[:50], 7))
    save_lists(tmp_path / "lists.npz", ranked_lists(X[:50], 7))
    graph_file, lists_file = str(tmp_path / "graph.npz"), str(tmp_path / "lists.npz")
    with pytest.raises(InvalidInputError, match="120 samples; got 50 nodes"):
        graph_from_files(X, "knn", 7, graph_file, None)
    with pytest.raises(InvalidInputError, match=r"120.*got"):
        graph_from_files(X, "knn", 7, None, lists_file)
    with pytest.raises(InvalidInputError, match=r"not both; got .*graph\.npz and .*lists\.npz"):
        graph_from_files(X, "knn", 7, graph_file, lists_file)
    with pytest.raises(FileFormatError, match="no such graph file"):
        graph_from_files(X, "knn", 7, str(tmp_path / "no.npz"), None)


def test_edges_may_name_samples_and_weights_be_ignored(blobs, tmp_path):
    X, _ = blobs
    path = tmp_path / "edges.csv"
    path.write_text("s3,s5,2\ns5,s4,1\n")
    names = [f"s{i}" for i in range(len(X))]
    graph = graph_from_files(X, "knn", 7, str(path), None, names=names, ignore_weights=True)
    assert np.flatnonzero(graph.degree > 1).tolist() == [3, 4, 5]
    with pytest.raises(InvalidInputError, match="--ignore-weights"):
        graph_from_files(X, "knn", 7, str(path), None, names=names)
    with pytest.raises(InvalidInputError, match="only a graph file can have weights"):
        graph_from_files(X, "knn", 7, None, None, ignore_weights=True)
