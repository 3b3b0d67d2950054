"""What ``grande label`` does, from Python."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from grande_gnn import Labelling, LabelOptions, label_images
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.graph import Neighbors, build_graph, ranked_lists
from grande_gnn.graph.graph_files import save_graph, save_lists
from grande_gnn.graph.neighbors import BACKENDS
from grande_gnn.images import find_images
from grande_gnn.labelling import Calibration, label_features, reuse, run
from grande_gnn.labelling.decisions import Decision, Journal
from grande_gnn.labelling.run import extract_images
from grande_gnn.review.rewriting import write_reviewed
from grande_gnn.review.session import Session

OLD = Path(__file__).parents[1] / "data" / "version_0_1" / "labelling"
AUTO = LabelOptions(extractor="pixels", model="sgc", workers=0, device="cpu")
FAST = replace(AUTO, graph="knn", n_neighbors=6, normalize="center-l2", sigma=0.2)
FIXED = LabelOptions(
    model="sgc", sigma=0.2, graph="knn", n_neighbors=8, normalize="center-l2", device="cpu", seed=5
)


def test_three_lines_label_a_folder_and_write_nothing(photos, tmp_path):
    result = label_images(photos, options=FAST)
    assert result.labels == [("red", "green", "blue")[int(Path(file).stem) % 3] for file in result.files]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "photos"]
    assert result.root == photos
    assert [problem.file for problem in result.problems] == ["broken.jpg"]
    assert result.settings["extractor"] == "pixels"
    assert result.settings["graph"] == result.classifier.choice_.graph
    (thumbnail,) = result.thumbnails([5])
    assert thumbnail.size == (64, 64)
    assert result.neighbors is result.classifier.neighbors_


def test_the_labels_are_those_of_version_0_1(tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    old = Labelling.load(OLD / "out")
    chosen = asdict(old.classifier.choice_)
    options = LabelOptions(extractor="pixels", model="sgc", workers=0, device="cpu", **chosen)
    result = label_images(OLD / "photos", options=options)
    assert result.files == old.files
    assert result.labels == old.labels
    new = reuse(OLD / "out", OLD / "new_photos", options=LabelOptions(workers=0, device="cpu"))
    assert new.classifier.choice_ == old.classifier.choice_
    assert len(new.labels) == 6
    assert new.calibration == Calibration(old.settings["temperature"], old.settings["offset"], 0.5)
    fitted = new.calibration.probabilities(old.classifier.label_distributions_).max(axis=1)
    unknown = np.array([not label for label in old.given])
    np.testing.assert_allclose(fitted[unknown], old.confidence[unknown], atol=1.5e-4)


def test_progress_counts_images_and_passes_on_every_sentence(photos, tmp_path):
    steps = []
    label_images(photos, tmp_path / "out", FAST, steps.append)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["find", "extract", "train", "neighbors", "check", "write"]
    for stage, total in {"extract": 37, "neighbors": 36, "train": 200, "check": 400, "write": 6}.items():
        done = [step.done for step in steps if step.stage == stage and step.total]
        assert done == sorted(done) or stage == "neighbors"  # longer lists are searched again
        assert done[-1] == total, stage
    messages = [str(step) for step in steps if step.message]
    assert messages == [
        "Labels are the names of the class folders.",
        "36 images have features, 0 of them from earlier runs.",
    ]
    steps.clear()
    extract_images(photos, FAST, steps.append)
    assert [step.message for step in steps][-1] == "36 images have features, 36 of them from earlier runs."


def test_a_class_that_is_left_without_labels_is_told(photos):
    """Unreadable images, and copies with different labels, take their labels with them."""
    for file in (photos / "blue").glob("*.png"):
        file.write_bytes(b"not an image")
    for name in ("lime", "mint"):
        (photos / name).mkdir()
        shutil.copy(photos / "12.png", photos / name / "copy.png")
    steps = []
    label_images(photos, options=FAST, progress=steps.append)
    said = "No label is left of the classes blue, lime, mint: see the problems that are listed."
    assert said in [step.message for step in steps if step.stage == "extract"]
    shutil.rmtree(photos / "blue")
    shutil.rmtree(photos / "mint")
    steps.clear()
    result = label_images(photos, options=FAST, progress=steps.append)
    assert set(result.given) == {"", "green", "lime", "red"}
    assert not any(step.message.startswith("No label is left") for step in steps)


def test_without_labels_the_error_says_which_table_is_empty_and_what_to_do(photos, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("file,label\n12.png,\n13.png,\n")
    with pytest.raises(
        InvalidInputError,
        match=r"--template labels\.csv --extractor pixels` writes .*; got .*table\.csv, in which no label is filled in$",
    ):
        label_images(photos, options=replace(FAST, labels=table))
    for name in ("red", "green", "blue"):
        shutil.rmtree(photos / name)
    with pytest.raises(
        InvalidInputError,
        match=r"--template labels\.csv` writes .*got no class folders and no CSV with labels$",
    ):
        label_images(photos, options=replace(FAST, extractor=None))


def test_reuse_says_which_folders_are_left_out(photos, tmp_path, monkeypatch):
    label_images(photos, tmp_path / "out", FAST)
    found = find_images(photos)
    other = replace(found, notes=["A folder is left out."])
    monkeypatch.setattr(run, "find_images", lambda folder, labels, uses_labels: other)
    steps = []
    reuse(tmp_path / "out", photos, None, LabelOptions(workers=0, device="cpu"), steps.append)
    assert [step.message for step in steps if step.message] == [
        "A folder is left out.",
        "36 images have features, 36 of them from earlier runs.",
    ]


def test_images_can_be_found_first(photos, assert_same):
    found = find_images(photos)
    assert_same(label_images(found, options=FAST), label_images(photos, options=FAST))


def test_copies_need_no_output_folder_and_exports_do(photos, tmp_path):
    label_images(photos, options=replace(FAST, copy_to=tmp_path / "sorted"))
    assert len(list((tmp_path / "sorted").glob("*/*.png"))) == 36
    with pytest.raises(InvalidInputError, match="name a folder for them; got 'label-studio' and no folder"):
        label_images(photos, options=replace(FAST, export="label-studio"))


def test_neighbors_are_searched_once_for_each_normalization(photos, tmp_path, monkeypatch):
    """All members of the committee, outliers, confidence and report share one search."""
    searched = []
    exact = BACKENDS["exact"]
    monkeypatch.setitem(BACKENDS, "exact", lambda X, *rest: searched.append(X.tobytes()) or exact(X, *rest))
    label_images(photos, tmp_path / "out", AUTO)
    assert len(searched) == 1
    searched.clear()
    result = Labelling.load(tmp_path / "out")
    result.corrected({"12.png": "red"}).neighbors.lists(7)
    assert not searched


# -- features -------------------------------------------------------------------------------------------


def test_features_are_labelled_by_number_or_by_name(groups):
    X, _, given = groups()
    result = label_features(X, given, options=FIXED)
    assert result.files == [str(i) for i in range(len(X))]
    assert result.root is None
    assert result.thumbnails is None
    assert result.settings["extractor"] is None
    named = label_features(X.tolist(), given, files=[f"{i}.jpg" for i in range(len(X))], options=FIXED)
    assert named.labels == result.labels
    np.testing.assert_array_equal(named.confidence, result.confidence)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_features_of_the_caller_stay_as_they_are_and_are_copied_once(groups, monkeypatch, kind):
    X, _, y = groups()
    features = X.astype(kind)
    features[0] = -0.0
    made, check = [], run.check_features
    monkeypatch.setattr(run, "check_features", lambda *a: made.append(check(*a)) or made[-1])
    result = label_features(features, y, options=FIXED)
    assert np.signbit(features[0]).all()
    is_kept = np.shares_memory(result.classifier.features_, made[0])
    assert is_kept == (kind != np.float32)  # float32 features are the caller's own array


@pytest.mark.parametrize("files", [["a"] * 90, [str(i) for i in range(89)]])
def test_names_must_be_one_per_sample_and_different(groups, files):
    X, _, given = groups()
    with pytest.raises(InvalidInputError, match="one name per sample, all different: 90 samples; got"):
        label_features(X, given, files=files, options=FIXED)


@pytest.mark.parametrize("source", ["graph", "lists"])
def test_a_graph_or_lists_from_a_file_replace_the_search(groups, tmp_path, source, assert_same):
    """The graph is the one in the file and nothing about graphs is chosen."""
    X, _, given = groups()
    options = {"model": "sgc", "sigma": 0.2, "n_neighbors": 8, "normalize": "none", "device": "cpu"}
    neighbors = Neighbors(X, device="cpu")
    if source == "graph":
        save_graph(tmp_path / "file.npz", build_graph("knn", neighbors, 8))
        ready = LabelOptions(graph_file=tmp_path / "file.npz", **options)
    else:
        save_lists(tmp_path / "file.npz", ranked_lists(X, 8))
        ready = LabelOptions(lists_file=tmp_path / "file.npz", graph="knn", **options)
    result = label_features(X, given, options=ready)
    assert_same(result, label_features(X, given, options=LabelOptions(graph="knn", **options)))
    assert result.settings[f"{source}_file"] == str(tmp_path / "file.npz")
    other = label_features(
        X[:60], given[:60], options=LabelOptions(graph="knn", **options), graph=ranked_lists(X[:60], 8)
    )
    assert other.classifier.graph_.n_nodes == 60
    with pytest.raises(InvalidInputError, match=r"per sample that has features: 60 samples; got 90"):
        label_features(X[:60], given[:60], options=ready)


def test_with_a_graph_file_only_normalization_and_sigma_are_chosen(groups, tmp_path):
    X, _, given = groups()
    graph = build_graph("knn", Neighbors(X, device="cpu"), 8)
    save_graph(tmp_path / "graph.npz", graph)
    result = label_features(
        X, given, options=LabelOptions(model="sgc", device="cpu", graph_file=tmp_path / "graph.npz")
    )
    np.testing.assert_array_equal(result.classifier.graph_.indices, graph.indices)
    assert result.classifier.choice_.graph == "reciprocal"  # the kind for new samples: nothing was chosen
    assert result.classifier.choice_.n_neighbors == 40


def test_a_degree_function_labels_but_is_refused_before_the_work_where_it_would_be_saved(groups, tmp_path):
    X, _, given = groups()
    options = replace(FIXED, degree=lambda h, graph: h.new_tensor(graph.degree))
    assert len(label_features(X, given, options=options).labels) == 90
    with pytest.raises(InvalidInputError, match="a degree of your own cannot be saved: register it"):
        label_features(X, given, out=tmp_path / "out", options=options)
    assert not (tmp_path / "out").exists()


def test_a_coverage_adds_sets_that_are_saved_and_kept_by_corrections(groups, tmp_path):
    X, _, given = groups()
    result = label_features(X, given, out=tmp_path / "out", options=replace(FIXED, coverage=0.8))
    again = Labelling.load(tmp_path / "out")
    assert again.label_sets == result.label_sets
    assert again.sets_made == result.sets_made
    assert result.sets_made.coverage == 0.8
    assert again.corrected({"40": "elk"}).sets_made.coverage == 0.8
    assert label_features(X, given, options=FIXED).label_sets is None


def test_features_cannot_be_adapted(groups):
    X, _, given = groups()
    with pytest.raises(InvalidInputError, match=r"features come without the network.*got adapt='auto'"):
        label_features(X, given, options=replace(FIXED, adapt="auto"))


# -- reuse ----------------------------------------------------------------------------------------------


def test_an_earlier_model_labels_new_images(photos, tmp_path):
    label_images(photos, tmp_path / "out", FAST)
    (tmp_path / "new").mkdir()
    for name, old in {"a": "12.png", "b": "13.png"}.items():
        pixels = np.array(Image.open(photos / old))
        Image.fromarray(pixels[::-1]).save(tmp_path / "new" / f"{name}.png")
    result = reuse(
        tmp_path / "out", tmp_path / "new", tmp_path / "more", LabelOptions(workers=0, device="cpu")
    )
    assert result.labels == ["red", "green"]
    assert len(result.neighbors) == 2
    assert Labelling.load(tmp_path / "more").labels == ["red", "green"]
    assert Labelling.load(tmp_path / "more").neighbors is None  # features of new images are not kept
    with pytest.raises(InvalidInputError, match=r"can be corrected.*got one without given labels"):
        result.corrected({"a.png": "blue"})


def test_the_model_of_a_reviewed_result_knows_its_decisions_or_says_that_it_does_not(photos, tmp_path):
    out, steps = tmp_path / "out", []
    label_images(photos, out, FAST)
    options = LabelOptions(workers=0, device="cpu")
    journal = Journal(out)
    journal.append(Decision("label", ("12.png",), "violet"))
    journal.append(Decision("label", ("13.png",), "violet"))
    journal.append(Decision("undo", of=2))
    journal.append(Decision("skip", ("14.png",)))
    assert "violet" not in reuse(out, photos, options=options, progress=steps.append).labels
    assert any("1 decision of a review is not in that model yet" in str(step) for step in steps)
    session = Session(out, Labelling.load(out))
    write_reviewed(session)
    session.close()
    steps.clear()
    again = reuse(out, photos, tmp_path / "again", options=options, progress=steps.append)
    assert "violet" in again.classifier.classes_
    assert not any("review" in str(step) for step in steps)


def test_a_folder_without_a_model_or_without_an_extractor_is_refused(groups, photos, tmp_path):
    with pytest.raises(FileFormatError, match=r"with model/ and settings\.json; got"):
        reuse(photos, photos, options=FAST)
    X, _, given = groups()
    label_features(X, given, out=tmp_path / "out", options=FIXED)
    with pytest.raises(InvalidInputError, match="labelled features, so it has no network"):
        reuse(tmp_path / "out", photos, options=FAST)


def test_the_recall_of_an_approximate_search_is_among_the_settings_and_in_the_report(
    groups, tmp_path, monkeypatch
):
    X, _, given = groups()
    exact = label_features(X, given, options=FIXED)
    assert "neighbor_recall" not in exact.settings
    monkeypatch.setitem(BACKENDS, "auto", BACKENDS["approximate"])
    result = label_features(X, given, options=FIXED, out=tmp_path / "out")
    assert result.settings["neighbor_recall"] == str(result.neighbors.recall)
    assert result.labels == exact.labels
    assert "from " + str(len(X)) + " random rows" in (tmp_path / "out" / "report.html").read_text(
        encoding="utf-8"
    )
    assert Labelling.load(tmp_path / "out").settings["neighbor_recall"] == result.settings["neighbor_recall"]


def test_labels_that_contradict_each_other_on_copies_are_named_as_the_reason(tmp_path):
    for i in range(6):
        place = tmp_path / "photos" / ("a" if i < 2 else "b" if i < 4 else "_unlabeled")
        place.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), (90, 20, 30)).save(place / f"{i}.png")
    with pytest.raises(InvalidInputError, match=r"no label is left.*got two labels: copies of one image are"):
        label_images(tmp_path / "photos", options=FAST)
