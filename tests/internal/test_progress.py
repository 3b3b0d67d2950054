"""Counted work is reported to the listener of its context, and to nobody else."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from grande_gnn.graph import dgcg_graph
from grande_gnn.graph.approximate_search import approximate_lists
from grande_gnn.graph.exact_search import exact_lists
from grande_gnn.internal.progress import counting, counting_if_heard, reporting_to

CPU = torch.device("cpu")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def heard(work):
    calls: list[tuple[str, int, int]] = []
    with reporting_to(lambda *call: calls.append(call)):
        work()
    return calls


def test_advances_add_up_and_never_exceed_the_total():
    def work():
        advance = counting("train", 10)
        for _ in range(4):
            advance(3)

    assert heard(work) == [
        ("train", 0, 10),
        ("train", 3, 10),
        ("train", 6, 10),
        ("train", 9, 10),
        ("train", 10, 10),
    ]


def test_without_a_listener_nothing_happens_and_the_outer_listener_returns():
    counting("train", 1)(1)
    calls = []
    with reporting_to(lambda *call: calls.append(call)):
        with reporting_to(None):
            counting("train", 1)(1)
        counting("graph", 2)(2)
    counting("train", 1)(1)
    assert calls == [("graph", 0, 2), ("graph", 2, 2)]


def test_work_that_a_report_slows_down_knows_whether_anybody_listens():
    assert counting_if_heard("train", 5) is None
    assert heard(lambda: counting_if_heard("train", 5)(5)) == [("train", 0, 5), ("train", 5, 5)]


def test_the_listener_is_gone_after_an_error():
    calls = []

    def fail():
        with reporting_to(lambda *call: calls.append(call)):
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    counting("train", 1)(1)
    assert calls == []


def test_another_thread_does_not_report():
    def work():
        thread = threading.Thread(target=lambda: counting("train", 1)(1))
        thread.start()
        thread.join()

    assert heard(work) == []


@pytest.mark.parametrize("block_bytes", [None, 12 * 50 * 7])
def test_an_exact_search_counts_its_samples(rng, block_bytes):
    X = rng.normal(size=(50, 4)).astype(np.float32)
    calls = heard(lambda: exact_lists(X, 5, CPU, block_bytes))
    assert calls[-1] == ("neighbors", 50, 50)
    assert len(calls) == (2 if block_bytes is None else 9)


def test_an_approximate_search_ends_at_its_total(rng):
    X = rng.normal(size=(3000, 8)).astype(np.float32)
    calls = heard(lambda: approximate_lists(X, 10, CPU))
    assert calls[-1][1] == calls[-1][2]
    assert {stage for stage, _, _ in calls} == {"neighbors"}


def test_a_correlation_graph_counts_its_samples(rng):
    calls = heard(lambda: dgcg_graph(rng.normal(size=(60, 4)), 10))
    assert [calls[0], calls[-1]] == [("neighbors", 0, 60), ("graph", 60, 60)]
