"""A session: decisions become labels, answers follow, other processes are seen, nothing is lost between openings."""

from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.quick import QuickAnswer
from grande_gnn.review.session import Session


def flipped(session, n=3):
    """Rows without a label and, for each, another class than the predicted one."""
    rows = session.queue("unsure")[:n]
    return [(row, next(c for c in session.classes if c != session.labels()[row])) for row in rows]


def test_a_new_session_says_what_the_files_say(session):
    table = Labelling.load(session.folder)
    assert session.labels() == table.labels
    assert session.classes == ["blue", "green", "red"]
    assert session.is_current
    assert not session.journal.path.exists()


def test_a_decision_counts_at_once_and_the_full_training_equals_a_fresh_one(session, fresh, wait_for):
    for row, label in flipped(session):
        session.decide("label", [row], label)
        assert session.labels()[row] == label
    assert session.answer.is_provisional
    wait_for(lambda: session.is_current)
    given = [session.state.given.get(file, "") for file in session.files]
    expected = fresh(session.full, given)
    assert session.full.labels == expected.labels
    np.testing.assert_array_equal(session.full.confidence, expected.confidence)


def test_undo_restores_everything_and_can_name_its_decision(session, wait_for):
    before = session.labels()
    (one, a), (two, b) = flipped(session, 2)
    first = session.decide("label", [one], a)
    session.decide("label", [two], b)
    assert session.undo(first.id).id == first.id
    assert session.labels()[two] == b
    assert session.undo().files == (session.files[two],)
    assert session.undo() is None
    wait_for(lambda: session.is_current)
    assert session.labels() == before


def test_given_labels_come_back_after_saving_and_undoing(session, make_session, wait_for):
    from grande_gnn.review.rewriting import write_reviewed

    given = session.full.given[0]
    session.decide("label", [0], "blue" if given != "blue" else "red")
    write_reviewed(session)
    again = make_session()
    assert again.state.given[again.files[0]] != given
    again.undo()
    assert again.state.given[again.files[0]] == given
    wait_for(lambda: again.is_current)
    assert again.full.given[0] == given


def test_two_sessions_see_each_other_without_losing_a_decision(session, make_session):
    other = make_session()
    (one, a), (two, b) = flipped(session, 2)
    session.decide("label", [one], a)
    other.decide("label", [two], b)
    session.refresh()
    assert [s.labels()[one] for s in (session, other)] == [a, a]
    assert [s.labels()[two] for s in (session, other)] == [b, b]
    assert sum(d.kind == "start" for d in session.journal.decisions) == 1


def test_reopening_knows_every_decision(session, make_session):
    (one, a), _ = flipped(session, 2)
    session.decide("label", [one], a)
    session.decide("none", [1])
    session.decide("rename", label="rose", old="red")  # the last in the order of the classes, as before
    again = make_session()
    assert again.labels()[one] == ("rose" if a == "red" else a)
    assert again.labels()[1] == ""
    assert again.classes == ["blue", "green", "rose"]


def test_a_labelling_made_anew_starts_with_its_own_labels(session, out, wait_for):
    row = session.queue("unsure")[0]
    session.decide("label", [row], "red")
    labelling = Labelling.load(out).corrected({session.files[2]: "green"})
    labelling.save(out, overwrite=True)  # as grande label --overwrite does with other labels
    again = Session(out, Labelling.load(out))
    assert again.state.given[session.files[2]] == "green"
    assert again.state.given[session.files[row]] == "red"
    again.close()


def test_changes_are_counted_against_the_full_training_before(session, wait_for):
    before = session.labels()
    decided = session.queue("unsure")[:6]
    session.decide("label", decided, "red")
    wait_for(lambda: session.is_current)
    pairs = enumerate(zip(before, session.labels(), strict=True))
    changed = {row: old for row, (old, new) in pairs if old != new and row not in decided}
    assert session.changes == changed
    assert changed


def test_each_full_training_is_where_the_next_changes_and_quick_answers_start(session, wait_for):
    session.decide("label", session.queue("unsure")[:6], "red")
    wait_for(lambda: session.is_current)
    settled, first = session.labels(), session.full
    session.retraining.stop()
    session.decide("label", [session.queue("unsure")[0]], "blue")
    given = {session.row_of[file]: label for file, label in session.labels_to_train().items()}
    expected = QuickAnswer(first).answer(given)
    assert session.answer.labels == expected.labels
    np.testing.assert_allclose(session.answer.confidence, expected.confidence)
    session._trained(full_fit(first, session.labels_to_train()), session.labels_to_train())
    assert session.is_current
    assert {settled[row] == old for row, old in session.changes.items()} <= {True}
    pairs = enumerate(zip(settled, session.labels(), strict=True))
    assert session.changes == {row: old for row, (old, new) in pairs if old != new and row not in given}


def test_a_decision_made_during_a_full_training_is_added_to_its_answer(session):
    session.retraining.stop()
    (one, a), (two, b) = flipped(session, 2)
    session.decide("label", [one], a)
    labels = session.labels_to_train()
    full = full_fit(session.full, labels)
    session.decide("label", [two], b)
    session._trained(full, labels)
    assert session.answer.is_provisional
    assert not session.is_current
    given = {session.row_of[file]: label for file, label in session.labels_to_train().items()}
    expected = QuickAnswer(full).answer(given)
    np.testing.assert_allclose(session.answer.confidence, expected.confidence)


def test_a_review_that_began_without_a_model_answers_quickly_after_its_first_training(session):
    session.retraining.stop()
    trained, session._first_quick, session.full = session.full, None, replace(session.full, classifier=None)
    session._trained(trained, session.labels_to_train())
    session.decide("label", [20], "red")
    assert session.answer.is_provisional


def test_a_new_class_gets_the_last_key_and_a_merged_one_frees_its_own(session):
    session.decide("label", [20], "amber")
    assert session.classes == ["blue", "green", "red", "amber"]
    session.decide("merge", label="blue", old="green")
    assert session.classes == ["blue", "red", "amber"]
    assert "green" not in session.labels()
    with pytest.raises(InvalidInputError, match="class of that name exists"):
        session.decide("rename", label="red", old="blue")


def test_a_training_that_fails_is_reported_and_nothing_stops(session, monkeypatch, wait_for):
    def fail(*arguments):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("grande_gnn.review.session.full_fit", fail)
    session.decide("label", [20], "red")
    wait_for(lambda: session.problem)
    assert session.problem == "out of luck"
    monkeypatch.undo()
    session.decide("label", [21], "red")
    wait_for(lambda: session.is_current)
    assert session.problem == ""


def test_another_name_for_a_class_changes_no_other_label(session, wait_for):
    before = session.labels()
    assert "red" in before
    session.decide("rename", label="rose", old="red")  # the last in the order of the classes, as before
    renamed = ["rose" if label == "red" else label for label in before]
    assert session.labels() == renamed  # at once
    assert not session.answer.is_provisional
    wait_for(lambda: session.is_current)
    assert session.labels() == renamed
    assert "rose" in session.full.classifier.classes_


def test_a_merged_class_is_answered_quickly_and_then_in_full(session, wait_for):
    session.decide("merge", label="green", old="red")
    assert session.answer.is_provisional
    assert "red" not in session.labels()
    wait_for(lambda: session.is_current)
    assert set(session.labels()) == {"green", "blue"}
