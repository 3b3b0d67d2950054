"""Texts from the file to the folder: labelled, reused, suggested, started without labels."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.labelling import Labelling, LabelOptions, label_features
from grande_gnn.labelling.decisions import Decision, Journal
from grande_gnn.labelling.text_labelling import (
    label_texts,
    reuse_for_texts,
    start_texts,
    suggest_for_texts,
    text_features,
    with_text_features,
    write_text_template,
)
from grande_gnn.texts import TEXT_EXTRACTORS, load_text_extractor

FIXED = LabelOptions(model="sgc", graph="knn", n_neighbors=8, normalize="center-l2", sigma=0.2, device="cpu")
ANIMALS = "fox dog cat owl cow hen pig bear wolf deer frog mole swan crow seal"
TOOLS = "hammer saw drill nail screw rasp file pliers chisel level clamp vise axe spade rake"
SUBJECTS = {"animals": ANIMALS.split(), "tools": TOOLS.split()}


def sentences(n, seed=0):
    """n texts of two subjects in turn."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        label = list(SUBJECTS)[i % 2]
        words = [*rng.permutation(SUBJECTS[label])[:6], rng.choice(["the", "a", "with", "and"])]
        texts.append(" ".join(map(str, words)))
        labels.append(label)
    return texts, labels


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table of texts, of which eight are labelled, and its labelling."""
    folder = tmp_path_factory.mktemp("texts")
    texts, labels = sentences(60)
    with (folder / "texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        writer.writerows(
            (f"t{i}", t, c if i < 8 else "") for i, (t, c) in enumerate(zip(texts, labels, strict=True))
        )
    result = label_texts(folder / "texts.csv", folder / "out", replace(FIXED, export=("csv", "label-studio")))
    return folder, texts, labels, result


@pytest.fixture
def table(made, tmp_path):
    """Its own copy for a test: the table, and the labelling in ``out``."""
    folder, texts, labels, _ = made
    shutil.copy(folder / "texts.csv", tmp_path)
    shutil.copytree(folder / "out", tmp_path / "out")
    return tmp_path / "texts.csv", texts, labels


@pytest.fixture
def letters(monkeypatch):
    """An extractor that does not learn: counts of letters; remembers what it was asked."""
    asked = []

    class Letters:
        identity, learns = "letters-1", False

        def features(self, texts, new=(), progress=None):
            asked.extend(texts)
            return np.array([[t.count(c) for c in "abcdeimoswx"] for t in texts], dtype=np.float32)

    monkeypatch.setitem(TEXT_EXTRACTORS, "letters", lambda name: Letters())
    return asked


def test_texts_are_labelled_as_their_features_are(made, table, tmp_path):
    _, texts, labels, result = made
    given = [label if i < 8 else "" for i, label in enumerate(labels)]
    same = label_features(load_text_extractor().features(texts), given, options=FIXED)
    assert result.labels == same.labels == labels
    np.testing.assert_array_equal(result.confidence, same.confidence)
    assert "52 texts labelled in 2 classes" in result.summary()
    assert not any("image" in said for said in [result.note, *result.doubts])
    again = Labelling.load(tmp_path / "out")
    assert (again.texts, again.files) == (texts, [f"t{i}" for i in range(60)])
    assert again.settings["extractor"] == "tfidf"
    assert again.corrected({"t9": "animals"}).texts == texts


def test_new_texts_are_labelled_with_the_earlier_model(table, tmp_path):
    texts, labels = sentences(20, seed=5)
    new = tmp_path / "new.jsonl"
    new.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    result = reuse_for_texts(tmp_path / "out", new, tmp_path / "more", FIXED)
    assert result.labels == labels
    assert Labelling.load(tmp_path / "more").texts == texts


def test_decisions_that_the_model_does_not_know_are_told(table, tmp_path):
    path, _, _ = table
    Journal(tmp_path / "out").append(Decision("label", ("t9",), "animals"))
    steps = []
    reuse_for_texts(tmp_path / "out", path, None, FIXED, steps.append)
    assert any("1 decision of a review is not in that model yet" in step.message for step in steps)


def test_a_model_of_other_texts_or_of_features_is_refused(table, tmp_path):
    path, _, _ = table
    label_features(np.eye(4), ["a", "b", "", ""], out=tmp_path / "plain", options=FIXED)
    with pytest.raises(InvalidInputError, match="need the model of a run on texts"):
        reuse_for_texts(tmp_path / "plain", path, None, FIXED)
    stored = tmp_path / "out" / "texts.csv"
    lines = stored.read_text().splitlines()
    (one, first), (other, second) = (line.split(",") for line in lines[1:3])
    stored.write_text("\n".join([lines[0], f"{one},{second}", f"{other},{first}", *lines[3:]]))
    with pytest.raises(FileFormatError, match="are not what they were"):
        reuse_for_texts(tmp_path / "out", path, None, FIXED)
    stored.write_text("file,text\n")
    with pytest.raises(FileFormatError, match=r"must have the rows of predictions\.csv"):
        Labelling.load(tmp_path / "out")


def test_a_template_has_the_texts_and_can_be_used(table, tmp_path):
    path, texts, labels = table
    rows = suggest_for_texts(path, FIXED)
    assert [label for _, label, _ in rows] == [""] * 52 + labels[:8]
    assert {name: text for name, _, text in rows} == {f"t{i}": text for i, text in enumerate(texts)}
    filled = [(n, labels[int(n[1:])] if i < 8 else "", text) for i, (n, _, text) in enumerate(rows)]
    write_text_template(tmp_path / "labels.csv", filled)
    result = label_texts(path, None, replace(FIXED, labels=tmp_path / "labels.csv"))
    assert sum(map(bool, result.given)) == 8


def test_without_labels_the_template_is_named_and_a_review_can_start(table, tmp_path):
    _, texts, _ = table
    bare = tmp_path / "bare.csv"
    bare.write_text("text\n" + "\n".join(texts))
    with pytest.raises(
        InvalidInputError, match=r"none of the 60 texts is labelled: `grande label .*bare\.csv --template"
    ):
        label_texts(bare, None, FIXED)
    start_texts(bare, tmp_path / "bare", FIXED)
    loaded = Labelling.load(tmp_path / "bare")
    assert (loaded.classifier, loaded.neighbors, loaded.texts) == (None, None, texts)
    again = with_text_features(loaded, FIXED)
    np.testing.assert_array_equal(again.neighbors.features, load_text_extractor().features(texts))


def test_the_command_that_is_suggested_names_the_same_columns_and_extractor(letters, tmp_path):
    bare, table = tmp_path / "bare.csv", tmp_path / "table.csv"
    bare.write_text("head line,body\nfox,dog\nsaw,axe\n")
    table.write_text("file,label\n1,\n")
    options = replace(FIXED, text=("head line", "body"))
    with pytest.raises(
        InvalidInputError, match=r"--template labels\.csv --text 'head line' --text body` writes"
    ):
        label_texts(bare, None, options)
    options = replace(options, extractor="letters", labels=table)
    with pytest.raises(
        InvalidInputError,
        match=r"--text body --extractor letters` .*; got .*table\.csv, in which no label is filled in$",
    ):
        label_texts(bare, None, options)


def test_reuse_says_nothing_about_labels_that_it_does_not_use(table, tmp_path):
    steps = []
    reuse_for_texts(tmp_path / "out", table[0], None, FIXED, steps.append)
    assert [step.message for step in steps if step.message] == ["Texts are read from the column text."]


def test_features_are_kept_in_the_store_and_a_stopped_run_goes_on(letters, tmp_path):
    options, extractor = replace(FIXED, store=tmp_path / "store"), load_text_extractor("letters")
    texts = [*sentences(10)[0], "same", "same"]
    first = text_features(texts[:6], extractor, options)
    assert letters == list(dict.fromkeys(texts[:6]))
    letters.clear()
    steps = []
    second = text_features(texts, extractor, options, steps.append)
    assert set(letters) == set(texts[6:]) - set(texts[:6])
    np.testing.assert_array_equal(second[:6], first)
    np.testing.assert_array_equal(second[-1], second[-2])
    assert steps[-1].message.startswith("12 texts have features")
    letters.clear()
    text_features(texts, extractor, options)
    assert letters == []


def test_an_extractor_that_does_not_learn_is_reused(letters, table, tmp_path):
    path, _, labels = table
    options = replace(FIXED, extractor="letters", store=tmp_path / "store")
    label_texts(path, tmp_path / "letters", options)
    letters.clear()
    result = reuse_for_texts(tmp_path / "letters", path, None, options)
    assert letters == []  # all from the store
    assert np.mean(np.array(result.labels) == labels) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"copy_to": "copies"}, "not copied into class folders"),
        ({"adapt": "full"}, "only image networks can be adapted"),
        ({"weights": "w.pth"}, "has its own weights"),
        ({"export": "coco"}, "coco is for images only: texts can be exported as csv, label-studio"),
        ({"text": ("body",)}, "one of id, text, label; got body"),
    ],
)
def test_what_texts_do_not_have_is_refused_before_the_work(table, tmp_path, options, message):
    with pytest.raises(InvalidInputError, match=message):
        label_texts(table[0], tmp_path / "other", replace(FIXED, **options))
    assert not (tmp_path / "other").exists()


def test_exports_hold_the_texts(table, tmp_path):
    _, texts, labels = table
    tasks = json.loads((tmp_path / "out" / "label-studio.json").read_text())
    assert [task["data"]["text"] for task in tasks] == texts
    assert tasks[20]["predictions"][0]["result"][0] == {
        "from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [labels[20]]},
    }  # fmt: skip
    assert (tmp_path / "out" / "grande-labels.csv").is_file()


def test_results_never_replace_the_texts(table, tmp_path):
    path, _, _ = table
    with pytest.raises(InvalidInputError, match="would replace what --texts names"):
        label_texts(path, tmp_path, FIXED)
