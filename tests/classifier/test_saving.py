"""A saved model is a folder that gives the same answers, whole or not there at all."""

import hashlib
import json
import os
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.committee import Committee
from grande_gnn.classifier.graph_free import GraphFree
from grande_gnn.classifier.model_folder import fill_model_folder
from grande_gnn.degree import Grande
from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError, OutputExistsError

QUICK = {"hidden": 16, "epochs": 10, "lr": 0.02, "n_neighbors": 10, "device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def fitted(blobs, few):
    return GrandeClassifier(**QUICK).fit(blobs[0], few)


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("model", ["sgc", "appnp"])
@pytest.mark.parametrize("degree", ["grande", "centrality"])
@pytest.mark.parametrize(
    ("names", "options"),
    [
        ((0, 1, 2), {}),
        (("ash", "bêche", "cedar"), {"normalize": "center-l2", "graph": "knn"}),
        ((0.0, 1.0, 2.0), {"normalize": "l2", "hidden": None, "n_hops": 3}),
        (
            (False, True, True),
            {"random_state": np.int64(3), "sigma": np.float32(0.3), "n_neighbors": np.int64(9)},
        ),
    ],
)
@pytest.mark.parametrize("asked_before", [False, True])
def test_round_trip(blobs, few, tmp_path, model, degree, names, options, asked_before):
    X, _ = blobs
    y = np.array([None if c < 0 else names[c] for c in few], dtype=object)
    clf = GrandeClassifier(model, degree, **(QUICK | options)).fit(X, y)
    new = np.vstack([X[:4] + 0.1, X[:2]])
    if asked_before:
        clf.predict(new)
    clf.save(tmp_path / "deep" / "model")
    again = GrandeClassifier.load(tmp_path / "deep" / "model")
    np.testing.assert_array_equal(again.predict_proba(new), clf.predict_proba(new))
    np.testing.assert_array_equal(again.predict(new), clf.predict(new))
    for name in ("transduction_", "label_distributions_", "classes_", "degree_", "reached_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clf, name))
        assert getattr(again, name).dtype == getattr(clf, name).dtype
    np.testing.assert_array_equal(again.graph_.indices, clf.graph_.indices)
    assert again.get_params() == clf.get_params()
    assert again.n_features_in_ == clf.n_features_in_
    np.testing.assert_array_equal(again.fit(X, y).label_distributions_, clf.label_distributions_)


@pytest.mark.parametrize("misled", [False, True])
def test_a_committee_comes_back_with_all_its_members(blobs, few, tmp_path, misled):
    X, _ = blobs
    few = few.copy()
    auto = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")
    clf = GrandeClassifier(**(QUICK | auto)).fit(X, few)
    if misled:  # a member without a graph, which these data do not need
        members = tuple(replace(m, weight=0.7 * m.weight) for m in clf.committee_.members)
        linear = GraphFree(np.ones((X.shape[1], 3)) / 7, np.arange(3.0), 0.3)
        clf.settle(Committee(members, linear))
    clf.save(tmp_path / "model")
    again = GrandeClassifier.load(tmp_path / "model")
    new = X[:6] + np.float32(0.1)
    np.testing.assert_array_equal(again.predict_proba(new), clf.predict_proba(new))
    for name in ("transduction_", "label_distributions_", "degree_", "reached_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clf, name))
    assert str(again.committee_) == str(clf.committee_)
    assert again.committee_.described() == clf.committee_.described()
    assert again.get_params() == clf.get_params()
    np.testing.assert_array_equal(again.refit(few).label_distributions_, clf.refit(few).label_distributions_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["members"][1].update(weight=0.9), "sum to one"),
        (lambda r: r["members"][1].update(weight=-0.2), "weight"),
        (lambda r: r["members"][0].update(temperature=0), "members"),
        (lambda r: r["members"].append({"graph": None, "weight": 0.0}), "members"),
        (lambda r: r["members"].insert(0, {"graph": None, "weight": 0.5}), "members"),
        (lambda r: r.update(members=[]), "members"),
        (lambda r: r["members"].append(dict(r["members"][0])), "sum to one"),
    ],
)
def test_members_that_do_not_fit_are_refused(blobs, few, tmp_path, change, words):
    auto = dict.fromkeys(("graph", "normalize", "sigma"), "auto")
    GrandeClassifier("sgc", **(QUICK | auto | {"epochs": 2})).fit(blobs[0], few).save(tmp_path / "model")
    rest = json.loads((tmp_path / "model" / "model.json").read_text())
    arrays = load_file(tmp_path / "model" / "model.safetensors")
    change(rest)
    (tmp_path / "again").mkdir()
    del rest["checksums"]
    fill_model_folder(tmp_path / "again", rest, arrays)
    with pytest.raises(FileFormatError, match=words):
        GrandeClassifier.load(tmp_path / "again")


@pytest.mark.parametrize("what", ["context", "random_state", "device"])
def test_parameters_that_are_objects_do_not_stand_in_the_way(blobs, few, tmp_path, what):
    X, _ = blobs
    value = {"context": X, "random_state": np.random.RandomState(0), "device": torch.device("cpu")}[what]
    rows = slice(60 if what == "context" else None)
    clf = GrandeClassifier(**(QUICK | {what: value})).fit(X[rows], few[rows])
    clf.save(tmp_path / "model")
    again = GrandeClassifier.load(tmp_path / "model")
    new = np.vstack([X, X + 0.1])
    np.testing.assert_array_equal(again.predict_proba(new), clf.predict_proba(new))


def test_a_function_cannot_be_saved(tmp_path):
    clf = GrandeClassifier("sgc", lambda h, graph: h.new_tensor(graph.degree), **QUICK).fit(
        [[0.0], [1.0]], [0, 1]
    )
    with pytest.raises(InvalidInputError, match="a degree of your own cannot be saved"):
        clf.save(tmp_path / "model")
    assert not os.listdir(tmp_path)


@dataclass(frozen=True)
class Squared(Grande):
    """A variant that forgot to have a name of its own."""

    def __call__(self, h, graph):
        return super().__call__(h, graph) ** 2


@pytest.mark.parametrize("degree", [Squared(0.3), Grande(0.3)])
def test_a_degree_is_saved_only_if_its_name_gives_it_again(blobs, few, tmp_path, degree):
    clf = GrandeClassifier(**(QUICK | {"degree": degree})).fit(blobs[0], few)
    if type(degree) is Grande:
        clf.save(tmp_path / "model")
        assert GrandeClassifier.load(tmp_path / "model").sigma == 0.3
    else:
        with pytest.raises(InvalidInputError, match="register it under a name of its own"):
            clf.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()


def test_a_model_of_ones_own_with_the_name_of_another_is_asked_for(blobs, few, tmp_path):
    class appnp(torch.nn.Module):
        def __init__(self, n_features, n_classes):
            super().__init__()
            self.layer = torch.nn.Linear(n_features, n_classes)

        def forward(self, X, graph, degree):
            return self.layer(X)

    X = blobs[0]
    clf = GrandeClassifier(appnp, **QUICK).fit(X, few)
    clf.save(tmp_path / "model")
    with pytest.raises(
        FileFormatError, match=r"fitted with a model of your own.*got the model 'appnp \(not the"
    ):
        GrandeClassifier.load(tmp_path / "model")
    again = GrandeClassifier.load(tmp_path / "model", model=appnp)
    np.testing.assert_array_equal(again.predict_proba(X[:5] + 0.1), clf.predict_proba(X[:5] + 0.1))


def test_only_plain_files_and_no_pickle(folder):
    assert sorted(p.name for p in folder.iterdir()) == ["model.json", "model.safetensors"]
    rest = json.loads((folder / "model.json").read_text())
    assert rest["parameters"]["model"] == "appnp"
    assert "features" in load_file(folder / "model.safetensors")


# -- writing ------------------------------------------------------------------------------------------


def test_an_existing_folder_is_kept_unless_told(fitted, folder):
    before = (folder / "model.json").stat().st_mtime_ns
    with pytest.raises(OutputExistsError, match=r"the model folder exists.*; got .*model"):
        fitted.save(folder)
    assert (folder / "model.json").stat().st_mtime_ns == before
    fitted.save(folder, overwrite=True)
    assert GrandeClassifier.load(folder).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["folder of something else", "file"])
def test_only_a_model_is_overwritten(fitted, tmp_path, kind):
    target = tmp_path / "thesis"
    if kind == "file":
        target.write_text("years of work")
    else:
        target.mkdir()
        (target / "chapter1.tex").write_text("years of work")
    with pytest.raises(OutputExistsError, match="not a saved model"):
        fitted.save(target, overwrite=True)
    assert (target if kind == "file" else target / "chapter1.tex").read_text() == "years of work"
    assert os.listdir(tmp_path) == ["thesis"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_what_was_there(fitted, tmp_path, monkeypatch, overwrite):
    if overwrite:
        fitted.save(tmp_path / "model")
    before = sorted(p.name for p in tmp_path.rglob("*"))

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr("grande_gnn.classifier.model_folder.json.dumps", fail)
    with pytest.raises(OSError, match="disk full"):
        fitted.save(tmp_path / "model", overwrite=overwrite)
    monkeypatch.undo()
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    if overwrite:
        GrandeClassifier.load(tmp_path / "model")


def test_a_failed_exchange_puts_the_old_model_back(fitted, folder, monkeypatch):
    replace = os.replace

    def fail_for_the_new(source, target):
        if target == folder / "model.json" and source.parent.name != "old":
            raise OSError("no")
        replace(source, target)

    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    monkeypatch.setattr(os, "replace", fail_for_the_new)
    with pytest.raises(OSError, match="no"):
        fitted.save(folder, overwrite=True)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert os.listdir(folder.parent) == ["model"]


def test_the_old_model_is_deleted_after_the_new_one_is_in_place(fitted, folder, monkeypatch):
    deleted = []

    def rmtree(path, **_):
        GrandeClassifier.load(folder)
        deleted.append(path)

    monkeypatch.setattr("grande_gnn.internal.swap.shutil.rmtree", rmtree)
    fitted.save(folder, overwrite=True)
    assert deleted


def test_other_files_in_the_folder_stay(fitted, folder):
    (folder / "notes.txt").write_text("mine")
    fitted.save(folder, overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"
    GrandeClassifier.load(folder)


def test_what_a_killed_process_left_is_overwritten(fitted, tmp_path):
    (tmp_path / "model" / ".grande-abcd1234.part").mkdir(parents=True)
    fitted.save(tmp_path / "model")
    GrandeClassifier.load(tmp_path / "model")
    assert sorted(os.listdir(tmp_path / "model")) == ["model.json", "model.safetensors"]


def test_a_link_to_a_model_stays(fitted, folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    fitted.save(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "model"]
    GrandeClassifier.load(folder)


def test_an_unfitted_classifier_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        GrandeClassifier().save(tmp_path / "model")
    assert not os.listdir(tmp_path)


# -- reading ------------------------------------------------------------------------------------------


def _edit_json(folder, change):
    """Change the fields and give them a fitting checksum, as somebody would who means harm."""
    rest = change(json.loads((folder / "model.json").read_text()))
    _write_signed(folder, rest)


def _edit_arrays(folder, change):
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors")
    _write_signed(folder, json.loads((folder / "model.json").read_text()))


def _write_signed(folder, rest):
    if "checksums" in rest:
        del rest["checksums"]
        spelled = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
        arrays = (folder / "model.safetensors").read_bytes()
        digests = {"model.json": spelled, "model.safetensors": arrays}
        rest["checksums"] = {name: hashlib.sha256(data).hexdigest() for name, data in digests.items()}
    (folder / "model.json").write_text(json.dumps(rest))


def _set(folder, name, place, value):
    """Change one number of a saved array."""

    def change(arrays):
        array = arrays[name].copy()
        array.flat[place] = value
        return arrays | {name: array}

    _edit_arrays(folder, change)


DAMAGE = {
    "no json": lambda f: (f / "model.json").unlink(),
    "no arrays": lambda f: (f / "model.safetensors").unlink(),
    "empty json": lambda f: (f / "model.json").write_text(""),
    "not json": lambda f: (f / "model.json").write_bytes(b"\xff\x00\n\n{"),
    "json of something else": lambda f: (f / "model.json").write_text('["a", "b"]'),
    "json null": lambda f: (f / "model.json").write_text("null"),
    "json without parameters": lambda f: _edit_json(f, lambda r: {"format": 1}),
    "format of words": lambda f: _edit_json(f, lambda r: r | {"format": "one"}),
    "unknown parameter": lambda f: _edit_json(f, lambda r: r | {"parameters": {"depth": 3}}),
    "parameters of a kind": lambda f: _edit_json(f, lambda r: r | {"parameters": [1, 2]}),
    "too few classes": lambda f: _edit_json(f, lambda r: r | {"classes": [0]}),
    "too many classes": lambda f: _edit_json(f, lambda r: r | {"classes": [0, 1, 2, 3]}),
    "empty arrays": lambda f: (f / "model.safetensors").write_bytes(b""),
    "arrays of text": lambda f: (f / "model.safetensors").write_text("hello\nthere" * 20),
    "cut arrays": lambda f: (f / "model.safetensors").write_bytes(
        (f / "model.safetensors").read_bytes()[:-50]
    ),
    "an array missing": lambda f: _edit_arrays(f, lambda a: {k: v for k, v in a.items() if k != "degree"}),
    "a weight missing": lambda f: _edit_arrays(
        f, lambda a: {k: v for k, v in a.items() if "weight1" not in k}
    ),
    "fewer samples": lambda f: _edit_arrays(f, lambda a: a | {"features": a["features"][:9]}),
    "another graph": lambda f: _edit_arrays(f, lambda a: a | {"graph.indptr": a["graph.indptr"][:9]}),
    "a negative neighbor": lambda f: _set(f, "graph.indices", 3, -(2**30)),
    "a neighbor beyond the last": lambda f: _set(f, "graph.indices", 0, 10**6),
    "a row that begins before the first": lambda f: _set(f, "graph.indptr", 0, -5),
    "rows out of order": lambda f: _set(f, "graph.indptr", 4, 0),
    "a weight that is NaN": lambda f: _set(f, "parameter.bias2", 0, np.nan),
    "a degree of zero": lambda f: _set(f, "degree", 2, 0.0),
    "an infinite feature": lambda f: _set(f, "features", 0, np.inf),
    "probabilities above one": lambda f: _set(f, "label_distributions", 0, 7.0),
    "flat features": lambda f: _edit_arrays(f, lambda a: a | {"features": a["features"].ravel()}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_gets_one_sentence(folder, damage):
    DAMAGE[damage](folder)
    with pytest.raises(FileFormatError, match="model") as caught:
        GrandeClassifier.load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("saved", "n_gpus", "loaded"),
    [
        ("cuda", 0, "auto"),
        ("cuda:1", 1, "auto"),
        ("cuda:1", 2, "cuda:1"),
        ("cuda", 1, "cuda"),
        ("cpu", 0, "cpu"),
    ],
)
def test_a_gpu_that_is_not_there_becomes_auto(folder, monkeypatch, saved, n_gpus, loaded):
    _edit_json(folder, lambda r: r | {"parameters": r["parameters"] | {"device": saved}})
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    assert GrandeClassifier.load(folder).device == loaded


def test_a_newer_format_says_upgrade(folder):
    _edit_json(folder, lambda r: r | {"format": 99, "version": "9.0"})
    with pytest.raises(FileFormatError, match=r"newer version \(9.0\): upgrade"):
        GrandeClassifier.load(folder)


def test_a_foreign_place_gets_one_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "file"):
        with pytest.raises(FileFormatError, match=r"model folder.*; got"):
            GrandeClassifier.load(path)
    assert issubclass(FileFormatError, GrandeError)
