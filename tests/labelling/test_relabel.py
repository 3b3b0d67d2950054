"""Corrected labels give what a labelling with these labels from the start would give."""

import shutil

import pytest

from grande_gnn import Labelling, LabelOptions, label_images
from grande_gnn.errors import InvalidInputError, InvalidTypeError
from grande_gnn.graph import Neighbors, build_graph
from grande_gnn.graph.graph_files import save_graph
from grande_gnn.labelling import label_features

AUTO = LabelOptions(extractor="pixels", model="sgc", workers=0, device="cpu")
FIXED = LabelOptions(
    model="sgc", sigma=0.2, graph="knn", n_neighbors=8, normalize="center-l2", device="cpu", seed=5
)


def test_corrections_give_what_the_same_labels_give_with_the_settings_fixed(groups, assert_same):
    X, _, given = groups()
    first = label_features(X, given, options=FIXED)
    corrections = {"0": "dog", "40": "elk", "50": "yak", "51": "yak", "3": "", "4": "  "}
    labels = list(given)
    for file, label in corrections.items():
        labels[int(file)] = label.strip()
    expected = label_features(X, labels, options=FIXED)
    result = first.corrected(corrections)
    assert_same(result, expected)
    assert result.labels[50] == "yak"
    assert result.given[3] == ""
    assert result.settings == expected.settings
    assert first.given == given  # the first labelling is as it was


def test_corrections_of_a_committee_give_what_the_same_labels_give(groups, assert_same):
    X, _, given = groups()
    options = LabelOptions(model="sgc", device="cpu", seed=5)
    labels = ["", *given[1:]]  # as many classes as before, so that the members are the same
    result = label_features(X, given, options=options).corrected({"0": ""})
    expected = label_features(X, labels, options=options)
    assert_same(result, expected)
    assert len(result.classifier.committee_.members) > 1
    assert expected.settings["members"] == expected.classifier.committee_.described()


def test_corrections_of_a_loaded_labelling_are_the_same(photos, tmp_path, assert_same):
    first = label_images(photos, tmp_path / "out", AUTO)
    corrections = {"12.png": "green", "red/00.png": ""}
    result, again = first.corrected(corrections), Labelling.load(tmp_path / "out").corrected(corrections)
    assert_same(result, again)
    assert result.given[result.files.index("12.png")] == "green"
    assert result.root == photos
    result.save(tmp_path / "out", overwrite=True)
    assert Labelling.load(tmp_path / "out").given == result.given


def test_corrections_keep_a_graph_from_a_file(groups, tmp_path):
    X, _, given = groups()
    save_graph(tmp_path / "graph.npz", build_graph("knn", Neighbors(X, device="cpu"), 12))
    first = label_features(
        X, given, options=LabelOptions(model="sgc", device="cpu", graph_file=tmp_path / "graph.npz")
    )
    shutil.move(tmp_path / "graph.npz", tmp_path / "elsewhere.npz")
    result = first.corrected({"40": "elk"})
    assert result.classifier.graph_ is first.classifier.graph_


def test_corrections_renew_the_settings_of_the_model(groups):
    X, _, given = groups()
    options = LabelOptions(model="sgc", device="cpu", seed=5)
    result = label_features(X, given, options=options).corrected({str(i): "yak" for i in (0, 3, 31, 34)})
    labels = ["yak" if i in (0, 3, 31, 34) else label for i, label in enumerate(given)]
    assert result.settings["members"] == result.classifier.committee_.described()
    assert result.settings == label_features(X, labels, options=options).settings


def test_a_class_with_spaces_around_its_name_can_be_given_again(groups):
    X, _, given = groups()
    spaced = [" cat" if label == "cat" else label for label in given]
    result = label_features(X, spaced, options=FIXED).corrected({"40": " cat", "50": " dog", "51": " yak "})
    assert (result.given[40], result.given[50], result.given[51]) == (" cat", "dog", "yak")
    assert result.classifier.classes_.tolist() == [" cat", "dog", "elk", "yak"]


def test_none_withdraws_a_label_and_other_types_are_refused(groups):
    X, _, given = groups()
    result = label_features(X, given, options=FIXED)
    first = result.files[0]
    assert result.corrected({first: None}).given == result.corrected({first: ""}).given
    with pytest.raises(InvalidTypeError, match="must be a text, or None to withdraw it; got 3"):
        result.corrected({first: 3})


def test_a_correction_of_an_unknown_file_is_refused(groups):
    X, _, given = groups()
    result = label_features(X, given, options=FIXED)
    with pytest.raises(
        InvalidInputError, match=r"must name files of the labelling, such as '0'; got 'z\.jpg'$"
    ):
        result.corrected({"0": "cat", "z.jpg": "cat"})
