"""Each queue holds what its line says, in its order, and leaves out what is decided."""

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.review.queues import QUEUES, Queue, register_queue


def test_every_queue_is_explained_in_one_line(session):
    for queue in QUEUES.values():
        assert queue.about.endswith(".")
        assert len(queue.about) < 100
        assert queue.look in ("single", "gallery", "map", "audit")
        assert len(set(session.queue(queue.name))) == len(session.queue(queue.name))


def test_least_sure_ascends_and_leaves_out_given_and_decided_images(session):
    rows = session.queue("unsure")
    confidence = session.answer.confidence[rows]
    assert (np.diff(confidence) >= 0).all()
    assert sorted(rows) == [row for row in range(36) if not session.full.given[row]]
    session.decide("skip", [rows[0]])
    session.decide("label", [rows[1]], "red")
    assert not {rows[0], rows[1]} & set(session.queue("unsure"))
    session.undo()
    assert rows[1] in session.queue("unsure")


def test_most_useful_is_what_the_strategy_proposes(out):
    from dataclasses import replace

    from grande_gnn.labelling.result import Labelling
    from grande_gnn.labelling.suggest import suggest
    from grande_gnn.review.session import Session

    none = replace(Labelling.load(out), given=[""] * 36, labels=[""] * 36, classifier=None)
    session = Session(out, none)
    rows = session.queue("useful")
    assert sorted(rows) == list(range(36))
    assert rows == suggest(none).tolist()
    session.decide("skip", [rows[0]])
    session.decide("label", [rows[1]], "red")
    given = ["red" if row == rows[1] else "" for row in range(36)]
    assert session.queue("useful") == [r for r in suggest(none, labels=given).tolist() if r != rows[0]]
    session.close()


def test_a_gallery_has_the_images_of_its_class_least_sure_first(session):
    rows = session.queue("class", "red")
    assert {session.labels()[row] for row in rows} == {"red"}
    assert len(rows) == session.labels().count("red")
    assert session.queue("class", "no such class") == []


def test_suspicious_and_outside_are_the_flagged_images(session):
    doubts = [doubt.row for doubt in session.full.suspicions]
    assert session.queue("suspicious") == doubts
    flagged = session.full.unreached | session.full.out_of_distribution
    assert session.queue("outside") == [r for r in np.flatnonzero(flagged) if not session.full.given[r]]


def test_a_queue_of_your_own(session):
    register_queue(
        Queue("odd", "Odd", "Images with odd numbers.", lambda view: range(1, len(view.labels), 2))
    )
    try:
        assert session.queue("odd")[:3] == [1, 3, 5]
    finally:
        del QUEUES["odd"]
    with pytest.raises(InvalidInputError, match="queue must be one of"):
        session.queue("odd")
