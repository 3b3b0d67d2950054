"""Opening a labelling: one that exists, one of version 0.1, a folder of images with and without labels, and bad input."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling import LabelOptions
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.opening import open_session

OLD = Path(__file__).parents[1] / "data" / "version_0_1" / "labelling"
FAST = LabelOptions(extractor="pixels", workers=0, device="cpu", model="sgc", paper=True)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))


def test_images_without_any_label_become_a_labelling_that_can_be_opened_again(made, tmp_path):
    shutil.copytree(made / "photos", tmp_path / "photos")
    steps = []
    session = open_session(tmp_path / "out", tmp_path / "photos", FAST, steps.append)
    assert session.labels() == [""] * 36
    assert sorted(session.queue("useful")) == list(range(36))
    assert any(step.stage == "extract" for step in steps)
    session.decide("label", [0], "red")
    assert session.classes == ["red"]
    session.close()
    again = open_session(tmp_path / "out", None, FAST)
    assert again.labels()[0] == "red"
    again.close()


def test_a_labelling_of_version_0_1_opens_and_gets_its_images_by_name(tmp_path):
    shutil.copytree(OLD, tmp_path / "old")
    session = open_session(tmp_path / "old" / "out")
    assert len(session.labels()) == 36
    assert session.full.root is None
    session.decide("label", [20], session.classes[0])
    session.close()
    again = open_session(tmp_path / "old" / "out", tmp_path / "old" / "photos")
    assert again.full.root == tmp_path / "old" / "photos"
    assert again.state.given[again.files[20]] == again.classes[0]
    again.close()
    with pytest.raises(InvalidInputError, match="none of the 36 files"):
        open_session(tmp_path / "old" / "out", tmp_path)


def test_what_is_no_labelling_is_refused(tmp_path, out):
    for place in (tmp_path / "nothing", tmp_path, out / "predictions.csv"):
        with pytest.raises(InvalidInputError, match="only the folder of a labelling"):
            open_session(place)
    (out / "settings.json").write_text("[]")
    with pytest.raises(InvalidInputError, match="must be an object"):
        open_session(out)


def test_a_result_of_reuse_is_refused_because_nothing_was_trained_on_it(out):
    full = Labelling.load(out)
    replace(full, given=[""] * 36, suspicions=[]).save(out, overwrite=True)
    with pytest.raises(InvalidInputError, match="model of an earlier run"):
        open_session(out)


def test_images_that_are_gone_do_not_keep_a_labelling_from_opening(out, made):
    shutil.rmtree(out.parent / "photos")
    session = open_session(out)
    assert len(session.labels()) == 36
    session.close()


def test_images_added_later_join_without_losing_a_decision(made, tmp_path):
    shutil.copytree(made / "photos", tmp_path / "photos")
    for i, name in enumerate(("red", "green", "blue", "red", "green", "blue")):
        (tmp_path / "photos" / name).mkdir(exist_ok=True)
        (tmp_path / "photos" / f"{i:03d}.png").rename(tmp_path / "photos" / name / f"{i:03d}.png")
    session = open_session(tmp_path / "out", tmp_path / "photos", FAST)
    file = session.files[20]
    session.decide("label", [20], "violet")
    session.decide("rename", label="crimson", old="red")
    session.close()
    shutil.copy(tmp_path / "photos" / session.files[25], tmp_path / "photos" / "blue" / "new.png")
    shutil.copy(tmp_path / "photos" / session.files[26], tmp_path / "photos" / "zz_new.png")
    again = open_session(tmp_path / "out", None, FAST)
    assert len(again.files) == 38
    assert again.labels()[again.row_of[file]] == "violet"
    assert again.labels()[again.row_of["blue/new.png"]] == "blue"
    assert again.labels()[again.row_of["red/000.png"]] == "crimson"
    assert again.written == -1  # the files of the folder do not have the new images yet
    again.close()


def test_new_images_that_cannot_join_are_left_out_and_named(out):
    full = Labelling.load(out)
    replace(full, settings=full.settings | {"graph_file": "mine.csv"}).save(out, overwrite=True)
    shutil.copy(full.root / full.files[0], full.root / "zz_new.png")
    steps = []
    session = open_session(out, None, FAST, steps.append)
    session.close()
    assert session.files == full.files
    assert session.labels() == full.labels
    assert "left out (1): new images cannot be added to a labelling whose graph" in session.problem
    assert session.problem.endswith("; got mine.csv")
    assert [step.message for step in steps] == [session.problem]


def test_texts_are_opened_with_and_without_labels_and_again(tmp_path):
    words = ("fox dog cat owl", "hammer saw drill nail")
    rows = [f"{words[i % 2].split()[i % 4]} and {words[i % 2].split()[i // 2 % 4]}" for i in range(24)]
    (tmp_path / "bare.csv").write_text("body\n" + "\n".join(rows))
    (tmp_path / "known.csv").write_text(
        "body,label\n" + "\n".join(f"{row},{'ab'[i % 2] if i < 6 else ''}" for i, row in enumerate(rows))
    )
    options = LabelOptions(device="cpu", model="sgc", paper=True, text=("body",))
    session = open_session(tmp_path / "bare", tmp_path / "bare.csv", options)
    assert session.labels() == [""] * 24
    session.decide("label", [0], "a")
    session.close()
    again = open_session(tmp_path / "bare", tmp_path / "bare.csv", options)
    assert again.full.texts == rows
    assert again.full.neighbors is not None
    assert again.labels()[0] == "a"
    again.close()
    labelled = open_session(tmp_path / "known", tmp_path / "known.csv", options)
    assert set(labelled.labels()) == {"a", "b"}
    labelled.close()
