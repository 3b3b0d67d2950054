"""A file is the citation graph that its name says, another edition of it, or a custom graph."""

import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.experiments.citation_graphs import CITATION_GRAPHS, identify_graph, origin_of
from grande_gnn.experiments.split_graphs import PUBLISHED

CORA = ((2708, 1433), 7, (140, 500, 1000))


def test_the_public_editions_are_known():
    for name, graph in CITATION_GRAPHS.items():
        numbers = (graph.nodes, graph.features), graph.classes, graph.split
        assert identify_graph(name, *numbers) == (graph, None)


@pytest.mark.parametrize(
    ("shape", "split"),
    [((2485, 1433), CORA[2]), ((2708, 500), CORA[2]), (CORA[0], (1208, 500, 1000))],
)
def test_another_edition_runs_with_a_note(shape, split):
    graph, note = identify_graph("cora", shape, 7, split)
    assert graph is None
    assert "2,708 nodes with 1,433 features and a split of 140 + 500 + 1,000" in note
    assert f"{shape[0]:,} nodes with {shape[1]:,} features" in note


def test_a_custom_graph_has_no_note_and_a_wrong_one_is_refused():
    assert identify_graph("friends", (9, 9), 2, (1, 1, 1)) == (None, None)
    with pytest.raises(FileFormatError, match=r"Cora has 7 classes.*got 6 classes"):
        identify_graph("cora", CORA[0], 6, CORA[2])


def test_a_missing_graph_has_a_source_and_all_published_accuracies_have_a_graph():
    assert "planetoid" in origin_of("cora")
    assert origin_of("friends") == ""
    for published in PUBLISHED.values():
        assert set(published.accuracy) == set(CITATION_GRAPHS)
