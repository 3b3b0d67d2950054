"""Joining a Ray cluster, with a stand-in for Ray; real clusters run in the tests of extraction and experiments."""

import socket
import sys
from types import SimpleNamespace

import pytest

from grande_gnn.errors import GrandeError, InvalidInputError, MissingDependencyError
from grande_gnn.internal.cluster import fetched, joined_cluster


@pytest.fixture
def ray(monkeypatch):
    """Ray, as far as it is used; ``calls`` has what was done."""
    calls = []
    fake = SimpleNamespace(
        calls=calls,
        initialized=False,
        is_initialized=lambda: fake.initialized,
        init=lambda address, **options: calls.append(("init", address)),
        shutdown=lambda: calls.append(("shutdown",)),
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


def test_a_cluster_on_this_machine_is_left_at_the_end(ray):
    with joined_cluster(None) as joined:
        assert joined is ray
        assert ray.calls == [("init", None)]
    assert ray.calls == [("init", None), ("shutdown",)]


def test_it_is_left_after_an_error_too(ray):
    with pytest.raises(KeyError), joined_cluster(None):
        raise KeyError
    assert ray.calls[-1] == ("shutdown",)


def test_a_cluster_that_was_joined_before_is_not_left(ray):
    ray.initialized = True
    with joined_cluster("somewhere:1") as joined:
        assert joined is ray
    assert ray.calls == []


def test_an_address_that_answers_is_joined(ray):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with joined_cluster(address):
            assert ray.calls == [("init", address)]


def test_an_address_that_does_not_answer_is_one_sentence(ray):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with (
        pytest.raises(
            InvalidInputError, match=rf"no Ray cluster answers.*ray start.*; got address '{address}'"
        ),
        joined_cluster(address),
    ):
        pytest.fail("joined")
    assert ray.calls == []


def test_without_ray_the_error_has_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingDependencyError, match=r'pip install "grande-gnn\[ray\]"'),
        joined_cluster(None),
    ):
        pytest.fail("joined")


class LostTask(Exception):
    """What Ray raises when a worker is lost, or around the error of a task."""

    def __init__(self, message, cause=None):
        super().__init__(message)
        self.cause = cause


def ray_that_raises(error):
    def get(reference):
        raise error

    return SimpleNamespace(get=get, exceptions=SimpleNamespace(RayError=LostTask))


def test_the_result_of_a_task_is_fetched():
    assert fetched(SimpleNamespace(get={"task": 3}.get), "task", "the training", 5) == 3


def test_a_lost_task_is_one_sentence_that_says_what_is_kept():
    lost = ray_that_raises(LostTask("the node\ndied"))
    with pytest.raises(
        GrandeError,
        match=r"^the training failed 6 times .*\(features are kept\); got LostTask: the node died$",
    ):
        fetched(lost, "task", "the training", 5, kept="features")
    with pytest.raises(GrandeError, match=r"and run the command again; got"):
        fetched(lost, "task", "the training", 5)


def test_an_error_of_this_package_is_raised_as_it_is():
    refused = InvalidInputError("y must be labels; got none")
    with pytest.raises(InvalidInputError, match="y must be labels") as found:
        fetched(ray_that_raises(LostTask("in a task", refused)), "task", "the training", 5)
    assert found.value is refused
