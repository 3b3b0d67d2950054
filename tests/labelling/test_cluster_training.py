"""A labelling by a Ray cluster is that of this machine, also when a worker is killed in any stage."""

import importlib.util
import os
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.errors import GrandeError, InvalidInputError
from grande_gnn.labelling import LabelOptions, label_features, label_images
from grande_gnn.labelling import cluster_training as module

FAST = LabelOptions(
    model="sgc", graph="knn", n_neighbors=8, normalize="center-l2", sigma=0.2, device="cpu", seed=5
)


class FakeRay:
    """Ray as far as it is used, in this process."""

    class exceptions:
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            def __init__(self, cause):
                self.cause = cause

    def __init__(self, lost=False, gpus=0):
        self.lost, self.gpus, self.asked = lost, gpus, []

    def cluster_resources(self):
        return {"CPU": 2, "GPU": self.gpus}

    def put(self, value):
        return value

    def remote(self, **options):
        self.asked.append(options)

        def as_task(function):
            class Task:
                remote = staticmethod(lambda work: lambda: function(work))

            return Task()

        return as_task

    def get(self, reference):
        if self.lost:
            raise self.exceptions.RayError("the node died")
        try:
            return reference()
        except GrandeError as error:
            raise self.exceptions.RayTaskError(error) from error


@pytest.fixture
def joined(monkeypatch):
    def join(ray):
        @contextmanager
        def cluster(address):
            yield ray

        monkeypatch.setattr(module, "joined_cluster", cluster)
        monkeypatch.setattr(module, "RaySearch", lambda: "exact")
        return ray

    return join


def assert_same(one, other):
    assert one.labels == other.labels
    assert one.flags() == other.flags()
    np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-6)


@pytest.mark.parametrize("gpus", [0, 4])
def test_a_task_gives_the_labelling_of_this_process(groups, joined, gpus):
    ray = joined(FakeRay(gpus=gpus))
    X, _, given = groups()
    assert_same(
        label_features(X, given, options=replace(FAST, runner="ray")), label_features(X, given, options=FAST)
    )
    assert ray.asked == [{"num_cpus": 1, "num_gpus": min(gpus, 1), "max_retries": module.RETRIES}]


def test_errors_of_a_task_are_those_of_this_process(groups, joined):
    joined(FakeRay())
    X, _, _ = groups()
    with pytest.raises(InvalidInputError, match="at least one sample must be labelled"):
        label_features(X, [""] * len(X), options=replace(FAST, runner="ray"))


def test_a_training_that_is_lost_again_and_again_is_reported(groups, joined):
    joined(FakeRay(lost=True))
    X, _, given = groups()
    with pytest.raises(GrandeError, match=r"failed 6 times on the cluster.*the node died"):
        label_features(X, given, options=replace(FAST, runner="ray"))


def test_an_address_without_the_runner_is_refused():
    with pytest.raises(InvalidInputError, match="use the runner ray"):
        LabelOptions(address="head:6379")
    with pytest.raises(InvalidInputError, match="runner must be one of local, ray"):
        LabelOptions(runner="slurm")


# -- a real cluster of two nodes ----------------------------------------------------------------------------


def _two_nodes():
    path = Path(__file__).parents[1] / "experiments" / "runners" / "test_ray_tasks.py"
    spec = importlib.util.spec_from_file_location("two_nodes", path)
    helpers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helpers)
    return helpers


@pytest.fixture
def cluster(monkeypatch):
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    helpers = _two_nodes()
    yield from ((address, nodes, helpers) for address, nodes in helpers.cluster.__wrapped__())


def kill_when_running(nodes, helpers, name, killed):
    """Kill the first worker that is seen running a task of this name."""
    for _ in range(3000):
        for pid in [pid for node in nodes for pid in node.pids()]:
            if helpers.command_of(pid).startswith(name):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.01)


@pytest.mark.cluster
@pytest.mark.parametrize("stage", [b"ray::_task", b"ray::_exact_rows"])
def test_a_killed_worker_changes_nothing(cluster, stage):
    address, nodes, helpers = cluster
    rng = np.random.default_rng(0)
    classes = np.arange(10_000) % 5
    X = (3 * rng.normal(size=(5, 64))[classes] + rng.normal(size=(10_000, 64))).astype(np.float32)
    given = [str(c) if i < 100 else "" for i, c in enumerate(classes)]
    local = label_features(X, given, options=FAST)
    killed = []
    watcher = threading.Thread(target=kill_when_running, args=(nodes, helpers, stage, killed))
    watcher.start()
    spread = label_features(X, given, options=replace(FAST, runner="ray", address=address))
    watcher.join()
    assert killed
    assert_same(spread, local)


@pytest.mark.cluster
def test_images_are_labelled_by_a_cluster_as_by_one_machine(cluster, photos, tmp_path):
    address, _, _ = cluster
    options = replace(FAST, extractor="pixels", workers=0, store=tmp_path / "one")
    local = label_images(photos, options=options)
    on_ray = replace(options, runner="ray", address=address, store=tmp_path / "two", workers=None)
    assert_same(label_images(photos, options=on_ray), local)
