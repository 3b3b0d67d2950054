"""A labelling saved is a labelling loaded, and a folder is whole or as it was."""

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from grande_gnn import Labelling, LabelOptions
from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError
from grande_gnn.labelling import label_features
from grande_gnn.labelling.folder import ENTRIES, check_destination, write_labelling

OLD = Path(__file__).parents[1] / "data" / "version_0_1" / "labelling" / "out"
OPTIONS = LabelOptions(sigma=0.2, graph="knn", n_neighbors=8, normalize="none", device="cpu")


@pytest.fixture
def result(groups):
    X, _, given = groups()
    given[0] = "dog"  # a wrong label
    return label_features(X, given, files=[f"{i}.jpg" for i in range(len(X))], options=OPTIONS)


def test_what_is_saved_is_loaded(result, tmp_path):
    result.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*ENTRIES} - {"texts.csv"}
    again = Labelling.load(tmp_path / "out")
    for name in ("files", "labels", "runner_up", "given", "accuracy", "class_accuracy", "bins", "calibration",
                 "note", "doubts", "copy_of", "root", "problems", "settings"):  # fmt: skip
        assert getattr(again, name) == getattr(result, name), name
    np.testing.assert_allclose(again.confidence, result.confidence, atol=5.1e-5)
    assert again.flags() == result.flags()
    assert [(s.row, s.label) for s in again.suspicions] == [(s.row, s.label) for s in result.suspicions]
    assert again.suspicions[0].confidence == pytest.approx(result.suspicions[0].confidence, abs=1.1e-4)
    np.testing.assert_array_equal(again.neighbors.lists(7), result.neighbors.lists(7))
    assert again.classifier.choice_ == result.classifier.choice_
    assert again.thumbnails is None
    assert again.summary() == result.summary()


def test_what_is_loaded_is_saved_to_the_same_files(result, tmp_path):
    result.save(tmp_path / "one")
    Labelling.load(tmp_path / "one").save(tmp_path / "two")
    for name in ("predictions.csv", "settings.json", "problems.csv", "model/model.safetensors"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_folder_of_version_0_1_is_loaded_and_saved(tmp_path):
    old = Labelling.load(OLD)
    assert len(old.files) == 36
    assert old.given.count("") == 24
    assert [problem.file for problem in old.problems] == ["broken.jpg"]
    assert old.settings["graph"] == "dgcg"
    assert old.calibration.temperature == old.settings["temperature"]
    assert (old.accuracy, old.bins, old.root, old.thumbnails) == (None, [], None, None)
    assert len(old.neighbors) == 36
    old.save(tmp_path / "out")
    assert (tmp_path / "out" / "predictions.csv").read_bytes() == (OLD / "predictions.csv").read_bytes()
    corrected = old.corrected({"12.png": "green", "13.png": "green"})
    assert corrected.given.count("") == 22
    assert corrected.accuracy is not None


def test_images_are_found_again_when_both_folders_are_moved_together(photos, tmp_path):
    from grande_gnn import label_images

    options = LabelOptions(extractor="pixels", paper=True, model="sgc", workers=0, device="cpu")
    label_images(photos, tmp_path / "out", options)
    assert Labelling.load(tmp_path / "out").root == photos
    (tmp_path / "there").mkdir()
    for name in ("photos", "out"):
        shutil.move(tmp_path / name, tmp_path / "there" / name)
    again = Labelling.load(tmp_path / "there" / "out")
    assert again.root == tmp_path / "there" / "photos"
    (again.root / again.files[1]).unlink()
    first, gone = again.thumbnails([0, 1])
    assert first.size == (64, 64)
    assert gone is None


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("settings.json", None, r"with model/ and settings\.json; got"),
        ("settings.json", "[", r"with model/ and settings\.json; got"),
        ("settings.json", "[]", r"label again; got settings\.json must be an object"),
        ("settings.json", "{}", r"label again; got settings\.json needs the field 'temperature'"),
        ("predictions.csv", None, r"predictions\.csv cannot be read; got"),
        ("predictions.csv", "", r"predictions\.csv needs the columns .*; got an empty file"),
        ("model/model.json", "{", "is not a readable model folder"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_sentence(tmp_path, name, content, expected):
    shutil.copytree(OLD, tmp_path / "out")
    path = tmp_path / "out" / name
    path.unlink() if content is None else path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=expected) as caught:
        Labelling.load(tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_an_earlier_result_is_kept_unless_it_may_be_overwritten(result, tmp_path):
    result.save(tmp_path / "out")
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(OutputExistsError):
        result.save(tmp_path / "out")
    result.save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match="not the result of an earlier run"):
        result.save(tmp_path / "other", overwrite=True)


def test_an_unknown_export_leaves_nothing(result, tmp_path):
    with pytest.raises(InvalidInputError, match=r"export must be one of csv, .*; got 'xml'"):
        result.save(tmp_path / "out", export=["csv", "xml"])
    assert not (tmp_path / "out").exists()


def test_a_further_entry_is_one_function_and_one_line(result, tmp_path, monkeypatch):
    def write_count(labelling, path, folder):
        path.write_text(f"{len(labelling.files)} in {folder.name}")

    monkeypatch.setitem(ENTRIES, "count.txt", write_count)
    result.save(tmp_path / "out")
    assert (tmp_path / "out" / "count.txt").read_text() == "90 in out"
    result.save(tmp_path / "out", overwrite=True)  # it is known as ours


def test_the_report_is_written_while_the_others_are_and_in_the_thread_that_called(
    result, tmp_path, monkeypatch
):
    begun, threads = threading.Event(), []
    report, model = ENTRIES["report.html"], ENTRIES["model"]

    def wait_for_the_model(*arguments):
        threads.append(threading.get_ident())
        assert begun.wait(30)
        report(*arguments)

    monkeypatch.setitem(ENTRIES, "report.html", wait_for_the_model)
    monkeypatch.setitem(ENTRIES, "model", lambda *a: begun.set() or model(*a))
    result.save(tmp_path / "out")
    assert threads == [threading.get_ident()]
    assert Labelling.load(tmp_path / "out").files == result.files


@pytest.mark.parametrize("name", ["report.html", "model"])
def test_an_entry_that_fails_leaves_the_earlier_result(result, tmp_path, monkeypatch, name):
    result.save(tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setitem(ENTRIES, name, fail)
    with pytest.raises(OSError, match="disk full"):
        write_labelling(result, tmp_path / "out", overwrite=True)
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_places_named_by_options_are_not_replaced(tmp_path):
    check_destination(tmp_path / "out", [], {"labels": tmp_path / "out" / "mine.csv"})
    with pytest.raises(InvalidInputError, match="would replace what --graph-file names"):
        check_destination(tmp_path / "out", [], {"graph_file": tmp_path / "out" / "model" / "graph.npz"})


def test_copies_are_not_put_among_the_images(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    (tmp_path / "link").symlink_to(photos)
    check_destination(tmp_path / "out", iter([photos]), {"copy_to": tmp_path / "photos-sorted"})
    for place in (photos / "sorted", tmp_path / "link" / "deep" / "sorted", photos):
        with pytest.raises(InvalidInputError, match=r"further images .* outside it with --copy-to; got .*/"):
            check_destination(tmp_path / "out", iter([tmp_path / "other", photos]), {"copy_to": place})


def test_copies_in_a_result_among_the_images_are_not_found_again(photos):
    from grande_gnn import label_images
    from grande_gnn.images import find_images

    before = find_images(photos)
    options = LabelOptions(
        extractor="pixels", paper=True, model="sgc", workers=0, device="cpu", export=("image-folder",)
    )
    label_images(photos, photos / "labelled", options)
    assert any((photos / "labelled" / "image-folder").rglob("*.*"))
    after = find_images(photos)
    assert (after.files, after.labels) == (before.files, before.labels)


def test_settings_hold_what_other_programs_read(result, tmp_path):
    result.save(tmp_path / "out")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text(encoding="utf-8"))
    assert {"version", "extractor", "weights", "model", "degree", "graph", "n_neighbors", "normalize", "sigma",
            "seed", "temperature", "offset"} <= set(settings)  # fmt: skip
    assert settings["estimate"]["accuracy"]["n"] == 30
