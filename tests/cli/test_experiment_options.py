"""What tables and figures share: the plan that options describe, and what is printed during a run."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grande_gnn.cli import experiment_options
from grande_gnn.cli.experiment_options import RunOptions, data_options, duration, run_options
from grande_gnn.experiments.trials import Plan


def parsed(*arguments):
    """The options as a command gets them."""
    seen = []

    @click.command()
    @data_options
    @run_options
    def command(**options):
        seen.append(RunOptions(**options))

    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return seen[0]


def test_the_defaults_are_the_papers(data, tmp_path):
    options = parsed("--data", data, "-o", tmp_path)
    plan = options.plan()
    assert plan == Plan(data=plan.data)
    assert [source.name for source in plan.data] == [("own", "a")]
    assert (options.out, options.runner, options.jobs) == (tmp_path, "local", 1)


def test_every_option_reaches_the_plan(data, tmp_path):
    chosen = {
        "--repeats": 2, "--folds": 3, "--models": "sgc", "--sigma": 0.7, "--graph": "knn", "--neighbors": 7,
        "--normalize": "l2", "--lr": 0.5, "--epochs": 9, "--seed": 4,
    }  # fmt: skip
    options = parsed("--data", data, "-o", tmp_path, *(word for pair in chosen.items() for word in pair))
    plan = options.plan(widths=(8,))
    assert plan == Plan(
        data=plan.data, repeats=2, folds=3, models=("sgc",), sigma=0.7, graph="knn", n_neighbors=7, normalize="l2",
        lr=0.5, epochs=9, seed=4, widths=(8,),
    )  # fmt: skip


def test_notes_on_the_data_are_printed(tmp_path, save_features, capsys):
    save_features(tmp_path / "data" / "flowers17" / "features_a.npz", n_classes=17)
    options = parsed("--data", tmp_path / "data", "-o", tmp_path)
    (loaded,) = options.load(options.plan()).values()
    assert capsys.readouterr().err == f"note: {loaded.note}\n"
    assert "custom dataset" in loaded.note


def test_the_expected_time_is_announced(data, tmp_path, monkeypatch, grande, fast):
    monkeypatch.setattr(experiment_options, "ANNOUNCE_AFTER", 0.0)
    result = grande("table", 1, "--data", data, "-o", tmp_path / "out", *fast)
    assert "expected time in all" in result.stderr
    assert "announced after a minute" in result.stderr


@pytest.mark.parametrize(
    ("seconds", "words"), [(99, "99 s"), (100, "1.7 min"), (5999, "100.0 min"), (7200, "2.0 h")]
)
def test_durations_for_people(seconds, words):
    assert duration(seconds) == words


def test_two_jobs_give_the_same_rows(grande, data, tmp_path, fast):
    """The options of the runner are used: rows do not depend on it."""
    tables = []
    for jobs in (1, 2):
        out = tmp_path / f"out{jobs}"
        result = grande("table", 1, "--data", data, "-o", out, *fast, "--inner-folds", 0, "--jobs", jobs)
        assert result.exit_code == 0, result.output
        tables.append(Path(out / "table1.csv").read_text())
    assert tables[0] == tables[1]
