"""A model folder is read as it was written, or refused with one sentence before anything uses it."""

import hashlib
import json
import shutil
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.model_folder import FORMAT, check_member, class_array
from grande_gnn.errors import FileFormatError, InvalidInputError

OLD_MODELS = Path(__file__).parents[1] / "data" / "version_0_1" / "models"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)).astype(np.float32)
    clf = GrandeClassifier("sgc", n_neighbors=4, epochs=3, device="cpu", random_state=0)
    clf.fit(X, ["a", "b", *[""] * 10])
    folder = tmp_path_factory.mktemp("saved") / "model"
    clf.save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return Path(shutil.copytree(saved, tmp_path / "model"))


def edit(folder, fields=None, arrays=None):
    """Change fields and arrays and compute fitting checksums, as somebody would who means harm."""
    rest = json.loads((folder / "model.json").read_text())
    del rest["checksums"]
    if arrays:
        kept = {name: array.copy() for name, array in load_file(folder / "model.safetensors").items()}
        arrays(kept)
        save_file(kept, folder / "model.safetensors")
    if fields:
        fields(rest)
    spelled = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    data = (folder / "model.safetensors").read_bytes()
    rest["checksums"] = {
        "model.json": hashlib.sha256(spelled).hexdigest(), "model.safetensors": hashlib.sha256(data).hexdigest(),
    }  # fmt: skip
    (folder / "model.json").write_text(json.dumps(rest))


def test_an_edit_that_changes_nothing_loads(folder):
    edit(folder, lambda rest: rest, lambda arrays: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GrandeClassifier.load(folder)


def test_every_flipped_bit_is_found(folder):
    rng = np.random.default_rng(1)
    for name in ("model.json", "model.safetensors"):
        whole = (folder / name).read_bytes()
        before = json.loads(whole) if name == "model.json" else None
        for place in rng.choice(len(whole), 60, replace=False):
            changed = bytearray(whole)
            changed[place] ^= 1 << rng.integers(8)
            (folder / name).write_bytes(changed)
            try:
                GrandeClassifier.load(folder)
            except FileFormatError as error:
                assert "\n" not in str(error)  # noqa: PT017
            else:  # white space between the fields
                assert json.loads(changed) == before
        (folder / name).write_bytes(whole)
    GrandeClassifier.load(folder)


def test_a_changed_number_is_reported_as_damage(folder):
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(FileFormatError, match=r"damaged.*do not match their checksums"):
        GrandeClassifier.load(folder)


def test_a_folder_with_sha_256_loads_and_its_damage_is_found(folder):
    want = GrandeClassifier.load(folder).label_distributions_
    rest = json.loads((folder / "model.json").read_text())
    assert rest["checksums"]["model.safetensors"].startswith("sums:")
    edit(folder)
    assert not json.loads((folder / "model.json").read_text())["checksums"]["model.safetensors"].startswith(
        "sums:"
    )
    np.testing.assert_array_equal(GrandeClassifier.load(folder).label_distributions_, want)
    test_a_changed_number_is_reported_as_damage(folder)


@pytest.mark.parametrize("word", ["", "sum:", "sums:sums:", "SUMS:"])
def test_a_checksum_of_another_kind_is_refused(folder, word):
    rest = json.loads((folder / "model.json").read_text())
    rest["checksums"]["model.safetensors"] = word + rest["checksums"]["model.safetensors"][5:]
    (folder / "model.json").write_text(json.dumps(rest))
    with pytest.raises(FileFormatError, match="checksums"):
        GrandeClassifier.load(folder)


def test_a_changed_setting_is_reported_as_damage(folder):
    text = (folder / "model.json").read_text()
    (folder / "model.json").write_text(text.replace('"alpha": 0.1', '"alpha": 0.2'))
    with pytest.raises(FileFormatError, match=r"damaged.*do not match their checksums"):
        GrandeClassifier.load(folder)


def test_a_checksum_cannot_be_left_out(folder):
    rest = json.loads((folder / "model.json").read_text())
    del rest["checksums"]
    (folder / "model.json").write_text(json.dumps(rest))
    with pytest.raises(FileFormatError, match="needs the field 'checksums'"):
        GrandeClassifier.load(folder)


@pytest.mark.parametrize("name", sorted(path.name for path in OLD_MODELS.iterdir() if path.is_dir()))
def test_models_of_version_0_1_load_with_a_warning(name):
    with pytest.warns(UserWarning, match=r"has no checksums.*save the model again"):
        GrandeClassifier.load(OLD_MODELS / name)


def test_a_model_of_version_0_1_is_checked_all_the_same(tmp_path):
    folder = Path(shutil.copytree(OLD_MODELS / "sgc_grande", tmp_path / "model"))
    arrays = {name: array.copy() for name, array in load_file(folder / "model.safetensors").items()}
    arrays["graph.indices"][3] = -(2**30)
    save_file(arrays, folder / "model.safetensors")
    with (
        pytest.warns(UserWarning, match="checksums"),
        pytest.raises(FileFormatError, match=r"graph\.indices"),
    ):
        GrandeClassifier.load(folder)


def set_number(name, place, value):
    def change(arrays):
        arrays[name].flat[place] = value

    return change


def replace_array(name, change):
    return lambda arrays: arrays.update({name: np.ascontiguousarray(change(arrays[name]))})


def without_a_loop(arrays):
    """Let one row name another node in the place of its own, in ascending order."""
    pointers, indices = arrays["graph.indptr"], arrays["graph.indices"]
    for row, (start, stop) in enumerate(pairwise(pointers)):
        place = start + indices[start:stop].tolist().index(row)
        low = indices[place - 1] if place > start else -1
        high = indices[place + 1] if place + 1 < stop else 12
        others = [node for node in range(low + 1, high) if node != row]
        if others:
            indices[place] = others[0]
            return
    raise AssertionError("no row has room")


ARRAY_HARM = {
    "index far outside": set_number("graph.indices", 3, -(2**30)),
    "index just outside": set_number("graph.indices", -1, 12),
    "pointer beyond the end": set_number("graph.indptr", -1, 10**9),
    "pointer before the start": set_number("graph.indptr", 0, -1),
    "pointers that descend": set_number("graph.indptr", 5, 1),
    "a row in another order": replace_array("graph.indices", lambda a: np.r_[a[1], a[0], a[2:]]),
    "a node without its own loop": lambda arrays: without_a_loop(arrays),
    "pointers as floats": replace_array("graph.indptr", lambda a: a.astype(np.float64)),
    "indices as a matrix": replace_array("graph.indices", lambda a: a[None]),
    "lists outside": set_number("neighbors.lists", -1, 12),
    "lists as floats": replace_array("neighbors.lists", lambda a: a.astype(np.float32)),
    "lists of other samples": replace_array("neighbors.lists", lambda a: a[:-1]),
    "lists that repeat": set_number("neighbors.lists", 1, 0),
    "NaN weight": set_number("parameter.weight", 0, np.nan),
    "infinite weight": set_number("parameter.weight", 0, np.inf),
    "weight of another shape": replace_array("parameter.weight", lambda a: a[:, :1]),
    "NaN feature": set_number("features", 0, np.nan),
    "features as text": replace_array("features", lambda a: a.astype(np.int64)),
    "NaN center": set_number("normalizer.center", 0, np.nan),
    "center of another length": replace_array("normalizer.center", lambda a: a[:-1]),
    "degree of zero": set_number("degree", 0, 0),
    "degree beyond float32": set_number("degree", 0, 1e300),
    "degree below float32": set_number("degree", 0, 1e-300),
    "degree NaN": set_number("degree", 0, np.nan),
    "negative probability": set_number("label_distributions", 0, -0.5),
    "rows that sum to more than one": replace_array("label_distributions", lambda a: np.minimum(2 * a, 1)),
    "NaN probability": set_number("label_distributions", 0, np.nan),
    "reached as numbers": replace_array("reached", lambda a: a.astype(np.float32)),
    "reached of other samples": replace_array("reached", lambda a: a[:-1]),
    "no features": lambda arrays: arrays.pop("features"),
    "no degree": lambda arrays: arrays.pop("degree"),
    "no bias": lambda arrays: arrays.pop("parameter.bias"),
    "another parameter": lambda arrays: arrays.update({"parameter.other": np.zeros(1)}),
}


@pytest.mark.parametrize("harm", ARRAY_HARM)
def test_arrays_that_no_training_gives_are_refused(folder, harm):
    edit(folder, arrays=ARRAY_HARM[harm])
    with pytest.raises(FileFormatError, match="not a readable model folder") as caught:
        GrandeClassifier.load(folder)
    assert "\n" not in str(caught.value)


def in_parameters(**values):
    return lambda rest: rest["parameters"].update(values)


FIELD_HARM = {
    "device": in_parameters(device="cpu\0"),
    "device number": in_parameters(device="cuda:" + "9" * 5000),
    "hops": in_parameters(n_hops=10**9),
    "sigma": in_parameters(sigma=0),
    "sigma text": in_parameters(sigma="large"),
    "alpha": in_parameters(alpha=-1),
    "dropout": in_parameters(dropout=1.0),
    "hidden": in_parameters(hidden=10**12),
    "seed": in_parameters(random_state=-1),
    "context": in_parameters(context=[[1.0]]),
    "degree": in_parameters(degree="other"),
    "precision": in_parameters(precision="none"),
    "detach": in_parameters(detach=1),
    "unknown": in_parameters(depth=3),
    "choice": lambda rest: rest["choice"].update(sigma=-1.0),
    "open choice": lambda rest: rest["choice"].update(sigma="auto"),
    "classes of two kinds": lambda rest: rest.update(classes=["a", 1]),
    "classes twice": lambda rest: rest.update(classes=["a", "a"]),
    "classes nested": lambda rest: rest.update(classes=[["a"], ["b"]]),
    "classes null": lambda rest: rest.update(classes=[None, "b"]),
    "dtype of objects": lambda rest: rest.update(classes_dtype="|O8"),
    "dtype of gigabytes": lambda rest: rest.update(classes_dtype="<U99999999"),
    "dtype too narrow": lambda rest: rest.update(classes=["aa", "bb"], classes_dtype="<U1"),
    "dtype odd": lambda rest: rest.update(classes_dtype="<f3"),
    "dtype of numbers": lambda rest: rest.update(classes_dtype="<i8"),
    "length": lambda rest: rest.update(normalizer_length=-1.0),
    "length text": lambda rest: rest.update(normalizer_length="long"),
    "names": lambda rest: rest.update(feature_names=[1]),
    "more": lambda rest: rest.update(more=1),
    "format": lambda rest: rest.update(format=True),
}


@pytest.mark.parametrize("harm", FIELD_HARM)
def test_fields_that_no_fit_gives_are_refused(folder, harm):
    edit(folder, FIELD_HARM[harm])
    with pytest.raises(FileFormatError, match="model") as caught:
        GrandeClassifier.load(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": 3, "format": 3}', '{"format": 1e999}'])
def test_json_beyond_the_limits_is_refused(folder, text):
    (folder / "model.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"model\.json"):
        GrandeClassifier.load(folder)


@pytest.mark.parametrize(
    "classes",
    [np.array(["a", "ß"], dtype="<U9"), np.arange(3), np.array([0.5, 2.0]), np.array([False, True])],
)
def test_classes_keep_their_type(classes):
    again = class_array({"classes": classes.tolist(), "classes_dtype": classes.dtype.str})
    assert again.dtype == classes.dtype
    np.testing.assert_array_equal(again, classes)


def test_further_members_are_checked_by_their_prefix(saved):
    arrays = load_file(saved / "model.safetensors")
    shapes = {"weight": (3, 2), "bias": (2,)}
    more = {f"member.1.{name}": array for name, array in arrays.items()}
    check_member(more, "member.1.", 12, shapes)
    more["member.1.graph.indices"] = more["member.1.graph.indices"] + 1
    with pytest.raises(InvalidInputError, match="graph"):
        check_member(more, "member.1.", 12, shapes)
    with pytest.raises(InvalidInputError, match=r"member\.2\.degree"):
        check_member(more, "member.2.", 12, shapes)


def test_the_format_is_written(saved):
    assert json.loads((saved / "model.json").read_text())["format"] == FORMAT
