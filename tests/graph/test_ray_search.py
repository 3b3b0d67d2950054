"""Lists from tasks of a cluster are those of one machine; the cluster here is this process."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from grande_gnn.errors import GrandeError
from grande_gnn.graph import Neighbors
from grande_gnn.graph import ray_search as module
from grande_gnn.graph.exact_search import exact_lists

CPU = torch.device("cpu")
X = np.random.default_rng(0).normal(size=(101, 6)).astype(np.float32)


class FakeRay:
    """Ray as far as it is used, in this process."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self, cpus, gpus=0, broken=False):
        self.resources, self.broken, self.asked = {"CPU": cpus, "GPU": gpus}, broken, []

    def cluster_resources(self):
        return self.resources

    def put(self, value):
        return value

    def remote(self, **options):
        def as_task(function):
            class Task:
                def remote(_, *arguments):
                    self.asked.append((function.__name__, options, arguments[2:]))
                    return lambda: function(*arguments)

            return Task()

        return as_task

    def get(self, reference):
        if self.broken:
            raise self.exceptions.RayError("the worker died")
        return reference()


@pytest.fixture
def joined(monkeypatch):
    def join(ray, seconds=1.0):
        @contextmanager
        def cluster(address):
            yield ray

        monkeypatch.setattr(module, "joined_cluster", cluster)
        monkeypatch.setattr(module, "exact_seconds", lambda *arguments: seconds)
        return ray

    return join


@pytest.mark.parametrize("cpus", [1, 4, 200])
def test_lists_do_not_depend_on_the_number_of_tasks(joined, cpus):
    ray = joined(FakeRay(cpus))
    threads = torch.get_num_threads()
    neighbors = Neighbors(X, backend=module.RaySearch("head:6379"), device="cpu")
    np.testing.assert_array_equal(neighbors.lists(9), exact_lists(X, 9, CPU))
    torch.set_num_threads(threads)
    parts = [(start, stop) for _, _, (start, stop) in ray.asked]
    assert parts[0][0] == 0
    assert parts[-1][1] == 101
    assert [stop for _, stop in parts[:-1]] == [start for start, _ in parts[1:]]
    assert len(parts) == min(cpus, 101)
    assert neighbors.recall is None


def test_long_searches_are_many_small_tasks(joined, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 10)
    ray = joined(FakeRay(1))
    np.testing.assert_array_equal(module.RaySearch()(X, 5, CPU), exact_lists(X, 5, CPU))
    assert len(ray.asked) == 11
    assert all(options["max_retries"] == 5 for _, options, _ in ray.asked)


@pytest.mark.parametrize(
    ("cpus", "gpus", "name"), [(1, 1, "_approximate"), (1, 0, "_approximate"), (1000, 1, "_exact_rows")]
)
def test_what_a_whole_cluster_would_take_long_for_is_approximate_and_on_a_gpu(joined, cpus, gpus, name):
    ray = joined(FakeRay(cpus, gpus), seconds=61.0)
    found = module.RaySearch()(X, 5, CPU)
    assert ray.asked[0][0] == name
    if name == "_approximate":
        assert ray.asked[0][1]["num_gpus"] == gpus
        np.testing.assert_array_equal(found[0], exact_lists(X, 5, CPU))
        assert found[1].value == 1


def test_a_task_that_fails_again_and_again_is_reported(joined):
    joined(FakeRay(2, broken=True))
    with pytest.raises(GrandeError, match=r"failed 6 times on the cluster.*the worker died"):
        module.RaySearch()(X, 5, CPU)
