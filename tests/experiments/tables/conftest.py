"""Rows made by hand, from which everything that a table must show can be calculated."""

import csv
import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from grande_gnn.experiments.datasets import DATASETS, FeatureSet, LoadedSet
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.tables.results import Results
from grande_gnn.experiments.tables.table import to_csv

PAPER = FeatureSet("flowers17", "resnet152", Path("a"))
LITE = FeatureSet("flowers17", "lite0", Path("b"))
CUSTOM = FeatureSet("corel5k", "lite0", Path("c"))


def loaded(source):
    own = source is CUSTOM
    note = "corel5k/lite0: 4,999 images; it runs as a custom dataset" if own else None
    nothing = np.zeros(0)
    return LoadedSet(
        source, nothing, nothing, nothing, "f" * 16, None if own else DATASETS[source.dataset], note
    )


def accuracy(trial):
    """A made-up result: what a table must show follows from it by hand."""
    sigma = 0.0 if trial.sigma is None else 2.0 - 10 * abs(trial.sigma - 0.3)
    width = 0.0 if trial.hidden is None else trial.hidden / 256
    system = {"centrality": 0.0, "grande": 1.0, "svm": -7.0}.get(trial.system, -3.0)
    model = -1.0 if trial.model == "sgc" else 0.0
    noise = 0.01 * ((trial.fold + 3 * (trial.system == "grande")) % 7)
    return 80.0 + sigma + width + system + model + noise + 0.1 * trial.repetition + 0.5 * trial.fold


def results(plan, trials, **more):
    rows = {t: Row(t, "f" * 16, "", 0.0, n_test=100, accuracy=accuracy(t)) for t in trials}
    return Results(plan, {source: loaded(source) for source in plan.data}, rows, **more)


def rows_of(table):
    return list(csv.DictReader(io.StringIO(to_csv(table))))


@pytest.fixture
def made():
    """The features, ``results(plan, trials)`` with made-up accuracies, and ``rows_of(table)``."""
    return SimpleNamespace(
        paper=PAPER, lite=LITE, custom=CUSTOM, results=results, rows_of=rows_of, accuracy=accuracy
    )
