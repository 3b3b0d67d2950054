"""Steps read as lines, and counted work becomes steps."""

from __future__ import annotations

from grande_gnn.internal.progress import counting, reporting_to
from grande_gnn.labelling.steps import Step, counted, silent


def test_a_step_reads_as_a_line():
    assert str(Step("extract", 3, 9)) == "extract: 3 of 9"
    assert str(Step("train")) == "train"
    assert str(Step("find", message="Found.")) == "Found."


def test_counted_work_becomes_steps():
    steps: list[Step] = []
    with counted(steps.append):
        counting("train", 4)(4)
    assert steps == [Step("train", 0, 4), Step("train", 4, 4)]


def test_a_caller_who_does_not_listen_leaves_the_listener_of_others():
    calls = []
    with reporting_to(lambda *call: calls.append(call)):
        for nobody in (None, silent):
            with counted(nobody):
                counting("train", 1)
    assert calls == [("train", 0, 1)] * 2
    assert silent(Step("train")) is None
