"""Table 1 from rows made by hand: every number where it belongs, compared with the paper's."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.tables.table import Number, to_markdown
from grande_gnn.experiments.tables.table1_gains import gains_table, gains_trials, where_folds_split
from grande_gnn.experiments.trials import Plan


@pytest.fixture
def gains(made):
    """A function that makes the results of table 1 with some changes of its plan."""

    def gains(**changes):
        plan = replace(Plan(data=(made.paper, made.lite, made.custom), repeats=3), **changes)
        return made.results(plan, gains_trials(plan))

    return gains


def test_table_1_numbers(made, gains):
    first = made.rows_of(gains_table(gains()))[0]
    centrality = 80.0 + 1.0 + 0.1 + 0.5 * 4.5 + 0.01 * np.mean([f % 7 for f in range(10)])
    grande = centrality + 1.0 + 0.01 * np.mean([(f + 3) % 7 - f % 7 for f in range(10)])
    assert float(first["centrality"]) == pytest.approx(centrality)
    assert float(first["centrality_std"]) == pytest.approx(0.1)
    assert float(first["grande"]) == pytest.approx(grande + 1.0)
    assert float(first["best"]) == pytest.approx(grande + 2.0)
    assert (first["best_sigma"], first["honest_sigma"]) == ("0.3", "0.3")
    assert float(first["honest"]) == pytest.approx(grande + 2.0)
    assert float(first["gain"]) == pytest.approx(100 * (grande + 2.0 - centrality) / centrality)
    assert float(first["difference"]) == pytest.approx(grande + 1.0 - centrality)
    assert float(first["difference_low"]) < float(first["difference"]) < float(first["difference_high"])


def test_the_nested_sigma_is_measured_on_the_test_samples(made):
    """The inner trials prefer σ = 1; its accuracy on the test samples is what counts."""
    plan = Plan(data=(made.lite,), repeats=1, models=("appnp",))
    found = made.results(plan, gains_trials(plan))
    tricked = {
        t: replace(row, accuracy=100.0 * (t.sigma == 1.0)) if t.inner is not None else row
        for t, row in found.finished.items()
    }
    (row,) = made.rows_of(gains_table(replace(found, finished=tricked)))
    assert row["honest_sigma"] == "1"
    scores = [found.finished[t].accuracy for t in plan.engine_trials(made.lite, "appnp", [1.0])]
    assert float(row["honest"]) == pytest.approx(np.mean(scores))


def test_the_paper_is_compared_with_its_own_cells_only(made, gains):
    rows = made.rows_of(gains_table(gains()))
    paper = [row for row in rows if row["centrality_paper"]]
    assert {(row["dataset"], row["features"]) for row in paper} == {("Flowers17", "resnet152")}
    appnp = paper[0]
    assert (appnp["centrality_paper"], appnp["centrality_paper_std"], appnp["gain_paper"]) == (
        "84.43",
        "0.088",
        "+2.09",
    )
    assert float(appnp["centrality_minus_paper"]) == pytest.approx(
        float(appnp["centrality"]) - 84.43, abs=1e-4
    )


def test_a_column_compared_by_request_is_noted(made):
    plan = Plan(data=(made.lite, made.custom), repeats=1)
    table = gains_table(made.results(plan, gains_trials(plan), compared_with={"lite0": "ResNet"}))
    rows = made.rows_of(table)
    assert {row["dataset"] for row in rows if row["best_paper"]} == {"Flowers17"}
    assert any("not the same features" in note for note in table.notes)


def test_custom_data_and_other_settings_are_noted(gains):
    text = to_markdown(gains_table(gains(repeats=2, inner_folds=0)))
    assert "corel5k*" in text
    assert "4,999" in text
    assert "repeats = 2 (the paper's: 5)" in text
    assert "left out of this run" in text
    assert "Settings other" not in to_markdown(gains_table(gains(repeats=5)))


def test_where_a_fold_cannot_be_split_only_the_nested_sigma_is_missing(made, gains):
    found = gains(cannot_split=frozenset({made.custom.name}))
    table = gains_table(found)
    for row in made.rows_of(table):
        nested = row["dataset"] != "corel5k*"
        assert bool(row["honest"]) == bool(row["honest_sigma"]) == nested
        assert row["centrality"]
        assert row["best_sigma"]
    assert [note for note in table.notes if "is left out" in note] == [
        "corel5k/lite0: best σ (in the training fold) is left out, because not every fold has 3 labels of one class "
        "to split into 3 parts; fewer folds (--folds) or parts (--inner-folds) bring it back."
    ]


def test_unfinished_cells_are_empty_and_failures_noted(made, gains):
    found = gains()
    broken = next(t for t in found.finished if t.sigma == 0.2 and t.model == "sgc")
    finished = {t: row for t, row in found.finished.items() if t != broken}
    failed = {broken: Row(broken, "", "", 0.0, error="MemoryError: full")}
    table = gains_table(replace(found, finished=finished, failed=failed))
    row = next(row for row in made.rows_of(table) if row["gnn"] == "SGC")
    assert (row["grande"], row["best"], row["difference"]) == ("", "", "")
    assert row["centrality"]
    assert "Failed: grande: MemoryError: full" in table.notes


def test_the_best_of_a_row_is_bold_and_of_a_dataset_blue(gains):
    table = gains_table(gains())
    for row in table.rows:
        assert [cell.bold for cell in row if isinstance(cell, Number)] == [False, False, True, False, False]
    blue = [cell.value for row in table.rows for cell in row if isinstance(cell, Number) and cell.blue]
    assert len(blue) >= 4


def test_the_plan_leaves_out_what_folds_are_too_small_for(plan, sets, caplog):
    """Three folds of twelve samples per class have four labels per class."""
    for parts, left_out in [(4, frozenset()), (5, {source.name for source in plan.data})]:
        caplog.clear()
        fitted = where_folds_split(replace(plan, inner_folds=parts), sets)
        assert fitted.cannot_split == left_out
        assert len(caplog.records) == len(left_out)
    assert where_folds_split(replace(plan, inner_folds=0), sets).cannot_split == frozenset()
