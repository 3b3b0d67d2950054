"""Any kind of data, by its features."""

import base64
import csv
import json

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from grande_gnn.errors import InvalidInputError, OutputExistsError
from grande_gnn.internal.features_file import load_features
from grande_gnn.labelling import Labelling, LabelOptions, label_features
from grande_gnn.labelling.samples_file import label_file, suggest_for_file

FIXED = LabelOptions(model="sgc", graph="knn", n_neighbors=8, normalize="none", sigma=0.2, device="cpu")


@pytest.fixture
def samples(tmp_path):
    """Three groups of 20 samples with names, three labels each."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (rng.normal(size=(60, 5)) * 0.3 + 3 * np.eye(3, 5)[y]).astype(np.float32)
    names = np.array([f"text {i}" for i in range(60)])
    few = np.where(np.arange(60) < 9, np.array(["ant", "bee", "cat"])[y], "")
    path = tmp_path / "samples.npz"
    np.savez(path, features=X, files=names, labels=few)
    return path, X, names, few, np.array(["ant", "bee", "cat"])[y]


def test_labels_of_the_file_are_spread(samples, tmp_path):
    path, X, names, few, truth = samples
    result = label_file(path, tmp_path / "out", FIXED)
    same = label_features(X, few, files=names.tolist(), options=FIXED)
    assert result.labels == same.labels == truth.tolist()
    np.testing.assert_array_equal(result.confidence, same.confidence)
    assert Labelling.load(tmp_path / "out").files == names.tolist()
    assert (tmp_path / "out" / "report.html").is_file()
    assert result.root is None


@pytest.mark.parametrize("copy", [True, False])
def test_features_are_copied_unless_the_caller_gives_them_away(samples, copy):
    _, X, _, few, _ = samples
    result = label_features(X, few, options=FIXED, copy=copy)
    assert np.shares_memory(result.classifier.features_, X) is not copy


def test_features_that_cannot_be_written_to_are_copied(samples):
    _, X, _, few, _ = samples
    X.flags.writeable = False
    assert not np.shares_memory(label_features(X, few, options=FIXED, copy=False).classifier.features_, X)


def test_a_file_takes_one_matrix_only(samples, monkeypatch):
    path, _, _, _, _ = samples
    read = []

    def load(*arguments, **options):
        read.append(load_features(*arguments, **options))
        return read[-1]

    monkeypatch.setattr("grande_gnn.labelling.samples_file.load_features", load)
    assert np.shares_memory(label_file(path, None, FIXED).classifier.features_, read[0].features)


def test_labels_of_a_csv_replace_those_of_the_file(samples, tmp_path):
    path, _, names, _, truth = samples
    table = tmp_path / "labels.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "label"])
        rows.writerows((name, "x" + label) for name, label in zip(names[:12], truth[:12], strict=True))
        rows.writerow(["nothing", "x"])
    result = label_file(path, None, LabelOptions(**{**vars(FIXED), "labels": table}))
    assert set(result.labels) == {"xant", "xbee", "xcat"}
    assert [problem.file for problem in result.problems] == ["nothing"]


def test_numbers_are_labels_too_and_minus_one_is_none(samples, tmp_path):
    _, X, _, _, _ = samples
    path = tmp_path / "numbers.npz"
    np.savez(path, features=X, labels=np.where(np.arange(60) < 9, np.arange(60) % 3, -1))
    result = label_file(path, None, FIXED)
    assert result.labels == [str(i % 3) for i in range(60)]
    assert result.files[:3] == ["0", "1", "2"]


def test_files_that_are_there_can_be_shown(samples, tmp_path):
    path, *_ = samples
    for i in range(60):
        (tmp_path / f"text {i}").write_text("x")
    result = label_file(path, tmp_path / "out", FIXED)
    assert result.root == tmp_path
    assert result.thumbnails is None  # they are no images
    assert Labelling.load(tmp_path / "out").thumbnails is None


def test_images_beside_the_file_are_in_the_report(samples, tmp_path):
    _, X, _, few, _ = samples
    (tmp_path / "photos").mkdir()
    names = [f"photos/{i}.png" for i in range(60)]
    for i, name in enumerate(names):
        Image.new("RGB", (40, 30), (4 * i, 0, 0)).save(tmp_path / name)
    (tmp_path / names[7]).write_text("damaged")
    path = tmp_path / "photos.npz"
    np.savez(path, features=X, files=np.array(names), labels=few)
    result = label_file(path, tmp_path / "out", FIXED)
    assert result.root == tmp_path
    shown = list(result.thumbnails([50, 7]))
    assert abs(shown[0].convert("RGB").getpixel((9, 9))[0] - 200) < 8  # JPEG
    assert shown[1] is None
    assert [one is None for one in Labelling.load(tmp_path / "out").thumbnails([50, 7])] == [False, True]
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert base64.b64encode(b"\xff\xd8\xff").decode() in page  # the beginning of a sheet of thumbnails


@pytest.mark.parametrize("outside", ["../secret.png", "a/../../secret.png", "{}/secret.png"])
def test_names_that_lead_out_of_the_folder_show_nothing(samples, tmp_path, outside):
    _, X, _, few, _ = samples
    home = tmp_path / "home"
    home.mkdir()
    for place in (tmp_path / "secret.png", *(home / f"{i}.png" for i in range(60))):
        Image.new("RGB", (8, 8)).save(place)
    names = [f"{i}.png" for i in range(59)] + [outside.format(tmp_path)]
    np.savez(home / "photos.npz", features=X, files=np.array(names), labels=few)
    result = label_file(home / "photos.npz", None, FIXED)
    assert result.root is None
    assert result.thumbnails is None


def test_an_export_is_written_if_the_samples_are_files(samples, tmp_path):
    path, *_ = samples
    options = LabelOptions(**{**vars(FIXED), "export": "label-studio"})
    with pytest.raises(InvalidInputError, match=r"exported as csv, parquet; got 'label-studio'"):
        label_file(path, tmp_path / "out", options)
    assert not (tmp_path / "out").exists()
    for i in range(60):
        (tmp_path / f"text {i}").write_text("x")
    label_file(path, tmp_path / "out", options)
    exported = [p for p in (tmp_path / "out").rglob("*.json") if "studio" in p.name]
    assert exported
    assert len(json.loads(exported[0].read_text("utf-8"))) == 60


def test_tables_are_exported_for_samples_that_are_no_files(samples, tmp_path):
    path, _, names, _, truth = samples
    label_file(path, tmp_path / "out", LabelOptions(**{**vars(FIXED), "export": "csv"}))
    with (tmp_path / "out" / "grande-labels.csv").open(newline="") as file:
        rows = [(row["file"], row["label"]) for row in csv.DictReader(file)]
    assert rows == list(zip(names.tolist(), truth.tolist(), strict=True))
    pyarrow = pytest.importorskip("pyarrow.parquet")
    label_file(path, tmp_path / "more", LabelOptions(**{**vars(FIXED), "export": ["csv", "parquet"]}))
    table = pyarrow.read_table(tmp_path / "more" / "predictions.parquet")
    assert table["label"].to_pylist() == truth.tolist()


@pytest.mark.parametrize("name", ["coco", "image-folder", "fiftyone", "hugging-face"])
def test_formats_with_images_need_files(samples, tmp_path, name):
    with pytest.raises(
        InvalidInputError, match=rf"the format {name} needs files.* as csv, parquet; got '{name}'"
    ):
        label_file(samples[0], tmp_path / "out", LabelOptions(**{**vars(FIXED), "export": ["csv", name]}))


def test_suggestions_come_first_and_labels_are_kept(samples):
    path, _, names, few, _ = samples
    order = suggest_for_file(path)
    assert sorted(order) == sorted(names.tolist())
    labelled = {name: label for name, label in zip(names, few, strict=True) if label}
    assert list(order.items())[-9:] == list(labelled.items())
    assert not any(list(order.values())[:-9])


def test_without_labels_it_says_how_to_get_some(samples, tmp_path):
    _, X, *_ = samples
    path = tmp_path / "bare.npz"
    np.savez(path, features=X)
    with pytest.raises(
        InvalidInputError, match=r"none of the 60 samples is labelled: .*--template labels.csv"
    ):
        label_file(path, None, FIXED)
    assert len(suggest_for_file(path)) == 60
    table = tmp_path / "table.csv"
    table.write_text("file,label\n1,\n2,\n")
    with pytest.raises(InvalidInputError, match=r"got .*table\.csv, in which no label is filled in$"):
        label_file(path, None, LabelOptions(**{**vars(FIXED), "labels": table}))


def test_refuses_before_the_work(samples, tmp_path):
    path, *_ = samples
    with pytest.raises(InvalidInputError, match="cannot be copied into class folders"):
        label_file(path, None, LabelOptions(copy_to=tmp_path / "copies"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "predictions.csv").write_text("x")
    with pytest.raises(OutputExistsError):
        label_file(path, tmp_path / "out", FIXED)


def test_sparse_samples_are_labelled_as_dense_ones_are(samples, tmp_path):
    path, X, names, few, _ = samples
    matrix = sp.csr_matrix(X)
    sparse = tmp_path / "sparse.npz"
    np.savez(
        sparse, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape, files=names, labels=few
    )  # fmt: skip
    dense, same = label_file(path, None, FIXED), label_file(sparse, tmp_path / "out", FIXED)
    assert same.labels == dense.labels
    np.testing.assert_array_equal(same.confidence, dense.confidence)
    assert suggest_for_file(sparse) == suggest_for_file(path)
