"""One training at a time, the latest request wins, and a failed one does not end the thread."""

import os
import sys
import threading

from grande_gnn.review.retraining import Retraining


def test_requests_made_while_one_runs_are_replaced_by_the_latest(wait_for):
    begin, go, trained, done = threading.Event(), threading.Event(), [], []

    def train(labels):
        trained.append(dict(labels))
        begin.set()
        assert go.wait(10)
        return "result"

    work = Retraining(train, lambda full, labels: done.append((full, dict(labels))), done.append)
    work.request({"a": "1"})
    assert begin.wait(10)
    assert work.is_busy
    for number in "234":
        work.request({"a": number})
    assert not work.wait(0.01)
    go.set()
    assert work.wait(10)
    assert trained == [{"a": "1"}, {"a": "4"}]
    assert done == [("result", {"a": "1"}), ("result", {"a": "4"})]
    assert not work.is_busy
    work.stop()
    work.request({"a": "5"})
    assert trained[-1] == {"a": "4"}


def test_a_failure_is_told_and_the_next_request_is_served():
    failed, done = [], []

    def train(labels):
        if labels["a"] == "bad":
            raise ValueError("no\n luck")
        return labels["a"]

    work = Retraining(train, lambda full, labels: done.append(full), failed.append)
    work.request({"a": "bad"})
    assert work.wait(10)
    work.request({"a": "good"})
    assert work.wait(10)
    assert (failed, done) == (["no luck"], ["good"])
    work.stop()


def test_the_thread_has_the_priority_of_those_that_answer_the_page():
    def niceness(labels=None):
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) if sys.platform == "linux" else 0

    done = []
    work = Retraining(niceness, lambda result, labels: done.append(result), done.append)
    work.request({"a": "1"})
    assert work.wait(10)
    work.stop()
    assert done == [niceness()]
