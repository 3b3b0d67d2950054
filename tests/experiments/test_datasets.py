"""Which features there are, and whether they are the paper's datasets."""

from pathlib import Path

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.experiments.datasets import (
    DATASETS,
    FeatureSet,
    find_feature_sets,
    image_paths,
    load_feature_set,
)


def save(path, labels, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, features=np.arange(2.0 * len(labels)).reshape(-1, 2), labels=labels, **more)
    return FeatureSet(path.parent.name, path.stem.removeprefix("features_"), path)


def balanced(dataset, images=None):
    images = images or dataset.paper_images
    return np.sort(np.arange(images) % dataset.classes)


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_a_whole_dataset_is_known(dataset, tmp_path):
    loaded = load_feature_set(save(tmp_path / dataset.name / "features_x.npz", balanced(dataset)))
    assert loaded.paper is dataset
    assert loaded.note is None
    assert loaded.n_classes == dataset.classes


def test_the_sources_own_count_is_noted(tmp_path):
    labels = balanced(DATASETS["pets"], 7390)
    loaded = load_feature_set(save(tmp_path / "pets" / "features_x.npz", labels))
    assert loaded.paper is DATASETS["pets"]
    assert "7,390" in loaded.note
    assert "7,409" in loaded.note


@pytest.mark.parametrize("images", [1359, 1361])
def test_another_count_runs_as_a_custom_dataset(tmp_path, images):
    loaded = load_feature_set(
        save(tmp_path / "flowers17" / "features_x.npz", balanced(DATASETS["flowers17"], images))
    )
    assert loaded.paper is None
    assert "custom dataset" in loaded.note


def test_uneven_classes_are_another_edition(tmp_path):
    labels = balanced(DATASETS["flowers17"])
    labels[0] = 1
    loaded = load_feature_set(save(tmp_path / "flowers17" / "features_x.npz", labels))
    assert loaded.paper is None
    assert "79 to 81 per class" in loaded.note


def test_wrong_class_count_is_one_sentence(tmp_path):
    with pytest.raises(FileFormatError, match=r"17 classes.*got 16 classes"):
        load_feature_set(save(tmp_path / "flowers17" / "features_x.npz", np.arange(1360) % 16))


def test_unlabelled_samples_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"every label.*got 1 without"):
        load_feature_set(save(tmp_path / "own" / "features_x.npz", np.array([0, 1, -1])))


def test_the_fingerprint_follows_features_and_labels(tmp_path):
    labels = np.array([0, 0, 1, 1])
    first = load_feature_set(save(tmp_path / "own" / "features_x.npz", labels))
    again = load_feature_set(save(tmp_path / "own" / "features_y.npz", labels, files=np.array(list("abcd"))))
    other = load_feature_set(save(tmp_path / "own" / "features_z.npz", labels[[0, 2, 1, 3]]))
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_find_lists_the_papers_first(tmp_path):
    for name in ("aaa", "dogs", "flowers17"):
        save(tmp_path / name / "features_x.npz", np.array([0, 1]))
    save(tmp_path / "aaa" / "features_w.npz", np.array([0, 1]))
    assert [str(source) for source in find_feature_sets(tmp_path)] == [
        "flowers17/x",
        "dogs/x",
        "aaa/w",
        "aaa/x",
    ]
    assert [str(source) for source in find_feature_sets(tmp_path, ["aaa"], ["x"])] == ["aaa/x"]


@pytest.mark.parametrize(
    ("datasets", "features", "message"),
    [
        (["nowhere"], [], r"datasets in .* are own; got 'nowhere'"),
        (["cub200"], [], r"comes from https.*got 'cub200'"),
        ([], ["resnet152"], r"features_<name>.npz for x.*grande extract.*got 'resnet152'"),
    ],
)
def test_unknown_names_are_one_sentence(tmp_path, datasets, features, message):
    save(tmp_path / "own" / "features_x.npz", np.array([0, 1]))
    with pytest.raises(InvalidInputError, match=message):
        find_feature_sets(tmp_path, datasets, features)


def test_an_empty_folder_says_what_it_should_hold(tmp_path):
    with pytest.raises(InvalidInputError, match=r"<dataset>/features_<name>\.npz.*got none"):
        find_feature_sets(tmp_path)


def test_the_real_sets(shared_data):
    """Flowers17 is the paper's; the Corel5k of the research data is another edition."""
    flowers, corel = shared_data("flowers17"), shared_data("corel5k")
    sources = find_feature_sets(flowers.parent, [flowers.name, corel.name])
    loaded = {source.dataset: load_feature_set(source) for source in sources}
    assert loaded["flowers17"].paper is DATASETS["flowers17"]
    assert loaded["corel5k"].paper is None
    assert "4,999" in loaded["corel5k"].note


def test_the_documentation_names_every_dataset():
    text = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    for dataset in DATASETS.values():
        start = f"| `{dataset.name}` | {dataset.title} | {dataset.classes} | {dataset.paper_images:,} |"
        assert start in text
        assert all(f"{count:,}" in text.split(start)[1].splitlines()[0] for count in dataset.source_images)


def test_images_are_found_by_path_or_by_name(tmp_path):
    inner = tmp_path / "images"
    inner.mkdir()
    (inner / "a.png").touch()
    files = ["images/a.png"]
    assert image_paths(files, tmp_path) == image_paths(files, inner) == [str(inner / "a.png")]
    with pytest.raises(FileFormatError, match=r"b\.png"):
        image_paths(["images/a.png", "images/b.png"], tmp_path)
    with pytest.raises(FileFormatError, match=r"got no c\.png"):
        image_paths(["c.png"], tmp_path)
    with pytest.raises(InvalidInputError, match="--images; got none"):
        image_paths(files, None)


def test_a_file_is_named_after_its_folder_and_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = FeatureSet.at("features_vit.npz")
    assert (here.name, here.path) == ((tmp_path.name, "vit"), Path("features_vit.npz"))
    assert FeatureSet.at("pets/other.npz").name == ("pets", "other")
