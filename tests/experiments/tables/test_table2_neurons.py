"""Table 2 from rows made by hand."""

from pathlib import Path

import pytest

from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.tables.table2_neurons import neurons_table, neurons_trials
from grande_gnn.experiments.trials import Plan


@pytest.fixture
def neurons(made):
    plan = Plan(data=(made.paper, made.lite), repeats=2, widths=(64, 128, 256))
    return made.results(plan, neurons_trials(plan))


def test_table_2_numbers(neurons, made):
    table = neurons_table(neurons)
    rows = made.rows_of(table)
    assert [row["neurons"] for row in rows] == ["64", "128", "256"] * 2
    assert float(rows[2]["grande"]) - float(rows[0]["grande"]) == pytest.approx(0.75)
    assert (rows[2]["mgcn_paper"], rows[2]["grande_paper"], rows[3]["grande_paper"]) == ("85.35", "86.19", "")


def test_the_notes_tell_what_the_last_doubling_brings(neurons):
    table = neurons_table(neurons)
    assert table.notes[1] == (
        "flowers17/lite0, from 128 to 256 neurons: MGCN gains (+0.50 [+0.50, +0.50]); DGCG gains (+0.50 [+0.50, "
        "+0.50]); Degree centrality gains (+0.50 [+0.50, +0.50]); GRaNDe gains (+0.50 [+0.50, +0.50])."
    )


def test_table_2_takes_the_papers_sigma_for_the_papers_features(made):
    source = FeatureSet("cub200", "vit-b16", Path("d"))
    plan = Plan(data=(source, made.lite), repeats=1, widths=(64,))
    sigmas = {t.features: t.sigma for t in neurons_trials(plan) if t.system == "grande"}
    assert sigmas == {"vit-b16": 0.4, "lite0": 0.2}


def test_the_other_systems_have_plain_degree_on_their_own_graph(made):
    plan = Plan(data=(made.lite,), repeats=1, folds=2, widths=(64,), graph="knn")
    found = {(t.system, t.graph, t.sigma) for t in neurons_trials(plan)}
    assert found == {
        ("mgcn", "mgcn", None), ("dgcg", "dgcg", None), ("centrality", "knn", None), ("grande", "knn", 0.2)
    }  # fmt: skip
