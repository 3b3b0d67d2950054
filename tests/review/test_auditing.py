"""The audit: drawn before it is looked at, judged in order and blind, scored again when labels change."""

from collections import Counter
from dataclasses import replace

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.audit import audit_classes, audit_interval
from grande_gnn.labelling.confidence import AccuracyEstimate
from grande_gnn.labelling.decisions import Decision
from grande_gnn.review.auditing import audit_state, end_audit, judge, start_audit


def judge_next(session, label=None):
    """Judge the next image, by default as we label it ourselves."""
    row = audit_state(session)["row"]
    judge(session, row, session.labels()[row] if label is None else label)
    return row


def test_the_sample_is_every_image_once_in_random_order(session, make_session):
    start_audit(session)
    assert sorted(session.state.audit.files) == sorted(session.files)
    other = make_session()
    assert other.state.audit.files == session.state.audit.files  # written down before anybody looks
    end_audit(session)
    start_audit(session)
    assert session.state.audit.files != other.state.audit.files


def test_nothing_about_the_next_image_is_told(session):
    start_audit(session)
    state = audit_state(session)
    assert state["estimate"] is None
    assert set(state) == {
        "running", "row", "ahead", "judged", "sample", "population", "estimate", "more", "method"
    }  # fmt: skip


def test_the_next_images_are_named_ahead_in_the_order_of_the_draw(session):
    start_audit(session)
    rows = [session.row_of[file] for file in session.state.audit.files]
    state = audit_state(session)
    assert [state["row"], *state["ahead"]] == rows[:4]
    judge_next(session)
    state = audit_state(session)
    assert [state["row"], *state["ahead"]] == rows[1:5]


def test_the_estimate_is_the_interval_of_the_outcomes(session):
    start_audit(session)
    for i in range(12):
        judge_next(session, "violet" if i % 4 == 0 else None)
    outcomes = [i % 4 != 0 for i in range(12)]
    estimate = audit_interval(outcomes, 36, expected=session.state.audit.expected)
    state = audit_state(session)
    assert state["estimate"] == [estimate.value, estimate.low, estimate.high]
    assert state["more"] == estimate.more_for(0.03)
    assert state["judged"] == 12
    assert len(state["wrong"]) == 3


def test_the_expected_accuracy_is_noted_before_anything_is_judged(session, make_session):
    session.full = replace(session.full, accuracy=AccuracyEstimate(0.5, 0.4, 0.6, 30))
    start_audit(session)
    share = len(session.labels_to_train()) / 36
    assert 0 < share < 1
    expected = session.state.audit.expected
    assert expected == pytest.approx(share + (1 - share) * 0.5, abs=1e-4)
    session.full = replace(session.full, accuracy=AccuracyEstimate(0.9, 0.8, 1.0, 30))
    judge_next(session)
    assert session.state.audit.expected == expected  # a later forecast may have learned from the audit
    assert make_session().state.audit.expected == expected


def test_without_a_forecast_the_audit_has_none(session):
    session.full = replace(session.full, accuracy=None)
    start_audit(session)
    assert session.state.audit.expected is None


def test_judged_images_stay_out_of_training_until_the_end(session):
    start_audit(session)
    before = session.labels_to_train()
    rows = [judge_next(session, "violet") for _ in range(3)]
    assert session.labels_to_train() == before
    assert not set(rows) & set(session.queue("unsure"))
    end_audit(session)
    assert {session.labels()[row] for row in rows} == {"violet"}
    assert {session.state.provenance(session.files[row])[0] for row in rows} == {"audited"}


def test_the_same_sample_is_scored_again_when_labels_change(session):
    start_audit(session)
    row = judge_next(session, "violet")
    assert audit_state(session)["estimate"][0] == 0
    session.decide("label", [row], "violet")
    assert audit_state(session)["estimate"][0] == 1


def test_the_result_stays_as_it_was_at_the_end(session):
    start_audit(session)
    for i in range(6):
        judge_next(session, "violet" if i < 2 else None)
    before = audit_state(session)["estimate"]
    end_audit(session)
    after = audit_state(session)
    assert (after["running"], after["estimate"]) == (False, before)
    start_audit(session)
    assert audit_state(session)["population"] == 30  # those audited before are not drawn again


def test_order_and_state_are_enforced(session):
    with pytest.raises(InvalidInputError, match="no audit is running"):
        end_audit(session)
    with pytest.raises(InvalidInputError, match="in the order"):
        judge(session, 0, "red")
    start_audit(session)
    with pytest.raises(InvalidInputError, match="an audit is running"):
        start_audit(session)
    row = audit_state(session)["row"]
    with pytest.raises(InvalidInputError, match="in the order"):
        judge(session, (row + 1) % 36, "red")
    judge(session, row, "")
    session.undo()
    assert audit_state(session)["row"] == row


def test_the_page_can_audit(client, session):
    assert client.get("/api/audit").json()["running"] is False
    row = client.post("/api/audit", json={"action": "start"}).json()["row"]
    state = client.post("/api/audit", json={"action": "judge", "row": row, "label": "red"}).json()
    assert state["judged"] == 1
    assert client.post("/api/audit", json={"action": "judge", "row": row, "label": "red"}).status_code == 400
    assert client.post("/api/audit", json={"action": "judge", "row": None, "label": "red"}).status_code == 400
    assert client.post("/api/audit", json={"action": "explode"}).status_code == 400
    assert client.post("/api/audit", json={"action": "end"}).json()["running"] is False


def intervals(session, counts):
    """What the state should say about classes if this many images of the draw have each label."""
    audit, labels = session.state.audit, session.labels()
    judged = [(labels[session.row_of[f]], audit.judged[f]) for f in audit.files if f in audit.judged]
    found = audit_classes([ours == yours for ours, yours in judged], [ours for ours, _ in judged], counts)
    return {name: [e.value, e.low, e.high, e.n] for name, e in found.items()}


def judge_all(session, n):
    """Judge as many images, every fifth of them wrong; returns what the state says about classes."""
    for i in range(n):
        judge_next(session, "violet" if i % 5 == 0 else None)
    return {name: rest for name, *rest in audit_state(session)["classes"]}


def test_classes_are_counted_among_the_images_that_could_be_drawn(session):
    session.write(Decision("audit-start", tuple(session.files[:6]), population=36))
    for _ in range(6):
        judge_next(session)
    end_audit(session)
    session.retraining.wait(20)
    start_audit(session)
    classes = judge_all(session, 30)  # one of three classes has ten of them
    labels, audit = session.labels(), session.state.audit
    counts = Counter(labels[session.row_of[file]] for file in audit.files)
    assert counts.total() == audit.population == 30
    assert classes
    assert classes == intervals(session, counts)
    assert classes != intervals(session, Counter(labels))


def test_images_that_joined_after_the_draw_are_not_counted(session):
    drawn = tuple(session.files[:30])  # as if the last six had come later
    session.write(Decision("audit-start", drawn, population=30))
    classes = judge_all(session, 30)
    assert classes
    assert classes == intervals(session, Counter(session.labels()[:30]))


def test_a_sample_of_a_larger_draw_counts_all_images_of_no_earlier_audit(session):
    session.write(Decision("audit-start", tuple(session.files[:6]), population=36))
    for _ in range(6):
        judge_next(session)
    end_audit(session)
    session.retraining.wait(20)
    session.write(Decision("audit-start", tuple(session.files[6:34]), population=30))
    classes = judge_all(session, 28)
    assert classes
    assert classes == intervals(session, Counter(session.labels()[6:]))
