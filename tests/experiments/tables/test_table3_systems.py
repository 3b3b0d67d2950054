"""Table 3 from rows made by hand."""

import pytest

from grande_gnn.baselines import SYSTEMS
from grande_gnn.experiments.tables.table3_systems import pairs_table, systems_table, systems_trials
from grande_gnn.experiments.trials import Plan


@pytest.fixture
def systems(made):
    plan = Plan(data=(made.paper, made.custom), repeats=2, systems=("svm", "mgcn", "dgcg", "grande", "knn"))
    return made.results(plan, systems_trials(plan))


def test_table_3_takes_the_better_model_and_names_it(systems, made):
    first = made.rows_of(systems_table(systems))[0]
    assert first["grande_note"] == "APPNP"
    assert float(first["grande"]) > float(first["mgcn"]) > float(first["svm"])
    assert (first["svm_paper"], first["grande_paper"], first["knn_paper"]) == ("80.54", "86.19", "")


def test_table_3_pairs_every_system_with_grande(systems, made):
    rows = made.rows_of(pairs_table(systems))
    assert [row["system"] for row in rows[:4]] == ["SVM", "MGCN APPNP", "DGCG APPNP", "knn"]
    assert all(float(row["difference_low"]) <= float(row["difference"]) for row in rows)
    assert rows[0]["difference_paper"] == f"{86.19 - 80.54:+.2f}"


def test_named_systems_only(made):
    plan = Plan(data=(made.lite,), repeats=1, systems=("svm", "grande"))
    assert {trial.system for trial in systems_trials(plan)} == {"svm", "grande"}


def test_every_system_runs_that_needs_no_images(made):
    plan = Plan(data=(made.lite,), repeats=1)
    assert {trial.system for trial in systems_trials(plan)} == set(SYSTEMS) - {"comatch", "grande-adapt"}
    degrees = {t.system: t.sigma for t in systems_trials(plan) if t.uses_engine}
    assert degrees == {"mgcn": None, "dgcg": None, "grande": 0.2, "d-grande": 0.2}
