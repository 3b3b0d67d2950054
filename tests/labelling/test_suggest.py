from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError, OutputExistsError
from grande_gnn.graph import Neighbors, ranked_lists
from grande_gnn.images import find_images
from grande_gnn.labelling.label_options import LabelOptions
from grande_gnn.labelling.run import extract_images, label_features
from grande_gnn.labelling.suggest import labelling_order, suggest, suggest_labels, write_template


def blobs(sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = 20 * np.eye(len(sizes))
    group = np.repeat(np.arange(len(sizes)), sizes)
    return centres[group] + rng.normal(size=(len(group), len(sizes))), group


def test_each_image_once() -> None:
    features, _ = blobs((30, 20, 10))
    order = labelling_order(ranked_lists(features, 5))
    assert sorted(order.tolist()) == list(range(60))


def test_every_group_comes_before_any_outlier_and_before_repetition() -> None:
    features, group = blobs((40, 40, 40, 40))
    features = np.concatenate([features, [[500.0, 0, 0, 0], [0, -700.0, 0, 0]]])
    order = labelling_order(ranked_lists(features, 20))
    early = order[:8]
    assert set(group[early[early < 160]]) == {0, 1, 2, 3}
    assert (early < 160).all()


def test_first_is_the_most_listed_and_ties_go_to_the_lower_index() -> None:
    features, _ = blobs((50, 20))
    lists = ranked_lists(features, 7)
    assert labelling_order(lists)[0] == np.bincount(lists.ravel()).argmax()
    assert labelling_order([[0], [1], [2]]).tolist() == [0, 1, 2]


def test_greedy_choice_against_brute_force() -> None:
    features, _ = blobs((12, 9), seed=3)
    lists = ranked_lists(features, 4)
    covered, chosen, wanted = np.zeros(21, dtype=int), [], 1
    while len(chosen) < 21:
        gains = [
            -1 if i in chosen else sum(i in row and covered[j] < wanted for j, row in enumerate(lists))
            for i in range(21)
        ]
        if max(gains) <= 0:
            wanted += 1
            continue
        best = int(np.argmax(gains))
        chosen.append(best)
        covered += [best in row for row in lists]
    assert labelling_order(lists).tolist() == chosen


def test_it_does_not_depend_on_the_order_of_the_files() -> None:
    features, _ = blobs((25, 25, 25), seed=5)
    shuffle = np.random.default_rng(1).permutation(75)
    first = labelling_order(ranked_lists(features, 9))
    second = shuffle[labelling_order(ranked_lists(features[shuffle], 9))]
    covers = [np.isin(ranked_lists(features, 9), order[:6]).any(axis=1).mean() for order in (first, second)]
    assert covers[0] == pytest.approx(covers[1], abs=0.1)  # only ties may differ


def test_it_reaches_more_classes_than_chance(flowers: Path) -> None:
    with np.load(flowers / "features_lite0.npz") as data:
        features, labels = data["features"].astype(np.float32), data["labels"]
    first = labelling_order(ranked_lists(features, 20))[:34]
    rng = np.random.default_rng(0)
    chance = [len(set(labels[rng.permutation(len(labels))[:34]])) for _ in range(50)]
    assert len(set(labels[first])) > np.mean(chance)


def test_lists_are_checked() -> None:
    with pytest.raises(InvalidInputError):
        labelling_order([[1, 0], [1, 0]])


def test_suggestions_begin_with_the_unlabelled_and_keep_every_label(photos: Path, tmp_path: Path) -> None:
    options = LabelOptions(extractor="pixels", workers=0, device="cpu")
    suggested = suggest_labels(photos, options)
    assert [bool(label) for label in suggested.values()] == [False] * 24 + [True] * 12
    assert suggested["red/00.png"] == "red"
    features = extract_images(photos, options)
    order = suggest(features.features(), labels=features.images.labels)
    assert list(suggested)[:24] == [features.images.files[i] for i in order]
    by_chance = suggest_labels(photos, options, strategy="random")
    assert list(by_chance)[:24] != list(suggested)[:24]
    assert set(by_chance) == set(suggested)
    write_template(tmp_path / "labels.csv", suggested)
    assert find_images(photos, tmp_path / "labels.csv").class_counts == {"blue": 4, "green": 4, "red": 4}


def test_template_is_blank_in_order_and_can_be_read_back(class_folders: Path, tmp_path: Path) -> None:
    files = find_images(class_folders).files[::-1]
    path = tmp_path / "labels.csv"
    write_template(path, files)
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    assert rows == [["file", "label"], *([file, ""] for file in files)]
    assert find_images(class_folders, path).labels == [""] * 8
    assert not find_images(class_folders, path).problems
    path.write_text(path.read_text().replace("rose/1.jpg,", "rose/1.jpg,tulip"))
    assert find_images(class_folders, path).class_counts == {"tulip": 1}


def test_template_never_replaces_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("file,label\na.jpg,precious\n")
    with pytest.raises(OutputExistsError, match="--overwrite"):
        write_template(path, ["a.jpg"])
    assert "precious" in path.read_text()
    write_template(path, ["a.jpg"], overwrite=True)
    assert "precious" not in path.read_text()


def test_template_with_hostile_names(tmp_path: Path) -> None:
    import os

    from PIL import Image

    names = [
        'comma,quote".png',
        "new\nline.png",
        os.fsdecode(b"\xff\xfe.png"),
        " space .png",
        "ünï.png",
        "-1.png",
    ]
    for name in names:
        Image.new("RGB", (2, 2)).save(tmp_path / "t.bin", "PNG")
        os.rename(tmp_path / "t.bin", tmp_path / name)
    images = find_images(tmp_path)
    assert len(images) == len(names)
    write_template(tmp_path / "labels.csv", images.files)
    again = find_images(tmp_path)
    assert not again.problems
    assert again.notes == [f"Labels are read from {tmp_path / 'labels.csv'}."]


def test_the_same_suggestions_from_features_neighbors_and_a_labelling() -> None:
    features, group = blobs((30, 20, 25))
    given = ["abc"[g] if i % 8 == 0 else "" for i, g in enumerate(group)]
    options = LabelOptions(
        model="sgc", graph="reciprocal", n_neighbors=10, normalize="center-l2", sigma=0.2, device="cpu"
    )
    labelling = label_features(features, given, options=options)
    assert labelling.neighbors is not None
    by_labelling = suggest(labelling, 9)
    assert by_labelling.tolist() == suggest(features, 9, labels=given).tolist()
    assert by_labelling.tolist() == suggest(labelling.neighbors, 9, labels=given).tolist()
    assert not any(given[row] for row in by_labelling)
    margins = labelling.margin[suggest(labelling, 9, "margin")]
    assert (np.diff(margins) >= 0).all()
    assert margins[0] == labelling.margin[[not label for label in given]].min()


def test_new_labels_change_what_is_suggested() -> None:
    features, group = blobs((30, 30, 30))
    neighbors = Neighbors(features)
    first = int(suggest(neighbors, 1)[0])
    labels = [""] * 90
    labels[first] = "a"
    second = int(suggest(neighbors, 1, labels=labels)[0])
    assert group[first] != group[second]
    assert len(suggest(neighbors, labels=labels)) == 89
    assert len(suggest(neighbors, 0)) == 0


def test_suggestions_refuse_what_they_cannot_use() -> None:
    features, _ = blobs((5, 5))
    with pytest.raises(InvalidInputError, match="strategy must be one of"):
        suggest(features, 1, "best")
    with pytest.raises(InvalidInputError, match="one label per sample: 10 samples; got 2"):
        suggest(features, 1, labels=["a", ""])
    labelling = label_features(
        features, ["a", "", "", "", "", "b", "", "", "", ""], options=LabelOptions(model="sgc")
    )
    with pytest.raises(InvalidInputError, match="got a labelling without neighbors"):
        suggest(replace(labelling, neighbors=None))
