"""What the page is told about classes, images, changes and the map."""

import json
from dataclasses import replace

from grande_gnn.labelling.corrections import apply_decisions
from grande_gnn.review.messages import changes_of, details_of, map_of, state_of


def test_the_state_counts_classes_and_queues(session):
    state = state_of(session)
    assert [one["name"] for one in state["classes"]] == ["blue", "green", "red"]
    assert sum(one["count"] for one in state["classes"]) == 36 == state["n"]
    assert (state["n_given"], state["n_decided"], state["is_written"]) == (12, 0, True)
    assert state["accuracy"] == [getattr(session.full.accuracy, name) for name in ("value", "low", "high")]
    counts = {queue["name"]: queue["count"] for queue in state["queues"]}
    assert counts["unsure"] == 24
    session.decide("none", [20])
    after = state_of(session, state["version"])
    assert (after["n_decided"], after["is_written"], after["can_undo"]) == (1, False, True)
    assert sum(one["count"] for one in after["classes"]) == 35


def test_details_name_label_neighbors_and_provenance(session):
    session.decide("label", [20], "violet")
    one, other = details_of(session, [20, 0])["images"]
    assert (one["label"], one["given"], one["provenance"]) == ("violet", "violet", "corrected")
    assert (other["provenance"], other["when"]) == ("given", "")
    lists = session.full.neighbors.lists(9)
    assert [near["row"] for near in one["near"]] == lists[20, 1:].tolist()
    assert [near["known"] for near in one["near"]] == [row < 12 or row == 20 for row in lists[20, 1:]]
    json.dumps(details_of(session, list(range(36))))


def test_file_names_that_are_not_unicode_can_be_sent(session):
    session.files[0] = "bytes \udcff.png"
    text = json.dumps(details_of(session, [0]), ensure_ascii=False)
    assert text.encode("utf-8")


def test_changes_are_grouped_by_what_became_what(session):
    session.changes = {20: "red", 21: "red", 22: "blue"}
    session.decide("label", [20, 21, 22], "green")
    assert changes_of(session)["changes"] == [["red", "green", 2], ["blue", "green", 1]]


def test_the_map_has_every_image_once(session):
    shown = map_of(session)
    assert sorted(shown["rows"]) == list(range(36))
    assert len(shown["xy"]) == 72
    assert all(0 <= value <= 9999 for value in shown["xy"])
    labels = [shown["classes"][code] for code in shown["label"]]
    assert labels == session.labels()
    assert sum(shown["known"]) == 12
    session.decide("none", [3])
    assert map_of(session)["label"][3] == -1


def test_texts_are_sent_with_their_details_and_named_as_texts(session):
    assert state_of(session)["things"] == "images"
    assert details_of(session, [3])["images"][0]["text"] == ""
    session.full = replace(session.full, texts=[f"text {i} " + "x" * 2000 for i in range(36)])
    session.version += 1
    state = state_of(session)
    assert state["things"] == "texts"
    assert state["has_pictures"]
    assert state["exports"] == ["csv", "label-studio", "parquet"]
    assert not any("image" in queue["about"] for queue in state["queues"])
    (shown,) = details_of(session, [3])["images"]
    assert shown["text"].startswith("text 3 ")
    assert len(shown["text"]) == 600
    assert all(other["text"].startswith(f"text {other['row']} ") for other in shown["near"])


def test_the_note_of_a_labelling_without_labels_goes_when_two_classes_have_some(session):
    session.full = replace(session.full, given=[""] * 36, note="Label images of at least two classes.")
    session.state = apply_decisions([], {"000.png": "red"})
    assert state_of(session)["note"] == "Label images of at least two classes."
    session.state = apply_decisions([], {"000.png": "red", "001.png": "green"})
    session.version += 1
    assert state_of(session)["note"] == ""
