"""A data folder small enough to train on in a test, a plan for it, and runs of the plan."""

from pathlib import Path

import numpy as np
import pytest

from grande_gnn.experiments.datasets import find_feature_sets, load_feature_set
from grande_gnn.experiments.rows import RowStore
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.schedule import run
from grande_gnn.experiments.tables.table1_gains import gains_trials
from grande_gnn.experiments.trials import Plan


def save_blobs(folder: Path, name: str, n_classes: int = 3, per_class: int = 12, seed: int = 0) -> Path:
    """Write ``folder/features_<name>.npz`` with Gaussian classes and return its path."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_classes), per_class)
    features = rng.normal(size=(n_classes, 6))[labels] + rng.normal(size=(len(labels), 6))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"features_{name}.npz"
    np.savez(
        path,
        features=features.astype(np.float32),
        labels=labels,
        files=np.array([f"images/{i}.jpg" for i in range(len(labels))]),
    )
    return path


@pytest.fixture
def save_toy():
    """The function that writes a small features file."""
    return save_blobs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with two custom datasets."""
    save_blobs(tmp_path / "data" / "blobs", "a")
    save_blobs(tmp_path / "data" / "others", "b", n_classes=2, seed=1)
    return tmp_path / "data"


@pytest.fixture
def plan(data: Path) -> Plan:
    """A small table 1."""
    return Plan(
        data=tuple(find_feature_sets(data)), sigmas=(0.1, 0.4), widths=(8,), folds=3, repeats=2, epochs=3,
        n_neighbors=5, inner_folds=2,
    )  # fmt: skip


@pytest.fixture
def sets(plan: Plan):
    """The features of the plan."""
    return {source: load_feature_set(source) for source in plan.data}


@pytest.fixture
def run_all():
    """A function that runs the trials of table 1 into a file and returns its store."""

    def run_all(plan, sets, path, runner=None, **options):
        with RowStore(path) as store:
            run(plan, gains_trials(plan), sets, store, runner or LocalRunner(device="cpu"), **options)
        return store

    return run_all


@pytest.fixture
def measured():
    """A function from a store to what must not depend on how a run went."""

    def measured(store):
        return {(trial, row.fingerprint, row.n_test, row.accuracy) for trial, row in store.finished.items()}

    return measured
