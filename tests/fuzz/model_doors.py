"""Doors for saved models, with and without checksums that fit."""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from functools import cached_property
from pathlib import Path

import mutators
import numpy as np
import safetensors.numpy
from door import Door, Files, X, require

from grande_gnn import GrandeClassifier
from grande_gnn.internal.block_sums import BlockSums


def resigned(files: Files) -> Files:
    """The files of a model with checksums that fit, as somebody would write them who means harm."""
    try:
        rest = json.loads(files["model.json"])
        del rest["checksums"]
        spelled = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return files
    contents = {"model.json": spelled, "model.safetensors": files["model.safetensors"]}
    rest["checksums"] = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    if len(spelled) % 2:  # the other kind of checksum that is read
        sums = BlockSums()
        sums.update(contents["model.safetensors"])
        rest["checksums"]["model.safetensors"] = "sums:" + sums.hexdigest()
    return {"model.json": json.dumps(rest).encode(), "model.safetensors": files["model.safetensors"]}


class Models(Door):
    """Damaged folders with the old checksums: nothing but the saved model may come back."""

    name = "model"
    sign = staticmethod(lambda files: files)

    def make(self):
        out = []
        chosen = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")  # a committee
        for options in (
            {"model": "sgc", "n_neighbors": 4},
            {"model": "appnp", "n_neighbors": 4, "hidden": 4, "normalize": "center-l2", "graph": "knn"},
            {"model": "sgc"} | chosen,
        ):
            clf = GrandeClassifier(**options, epochs=2, device="cpu", random_state=0)
            clf.fit(X, ["a", "b", "a", "b", "a", "b", *[""] * 6])
            with tempfile.TemporaryDirectory() as folder:
                clf.save(Path(folder) / "model")
                out.append(
                    {path.name: path.read_bytes() for path in sorted((Path(folder) / "model").iterdir())}
                )
        return out

    @cached_property
    def contents(self):
        """What the right folders hold."""
        return [(json.loads(files["model.json"]), files["model.safetensors"]) for files in self.seeds]

    def mutate(self, random):
        files = self.start(random)
        name = random.choice(sorted(files))
        way = mutators.json_field if name == "model.json" else mutators.safetensors_header
        files[name] = random.choice((mutators.blind, way))(random, files[name])
        return self.sign(files)

    def read(self, folder, files):
        clf = self.load(folder)
        require(
            (json.loads(files["model.json"]), files["model.safetensors"]) in self.contents,
            "damage was not noticed",
        )
        self.answer(clf)

    def load(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return GrandeClassifier.load(folder)

    def answer(self, clf):
        new = np.vstack([clf.features_[:2], clf.features_[:2] + np.float32(0.01)])
        p = clf.predict_proba(new)
        require(np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1), "no distribution")
        require(set(clf.predict(new).tolist()) <= set(clf.classes_.tolist()), "a class that is none")


class SignedModels(Models):
    """Damaged folders with fitting checksums: a right answer or a sentence, and arrays as the library reads them."""

    name = "model-signed"
    sign = staticmethod(resigned)

    def read(self, folder, files):
        clf = self.load(folder)
        slow = safetensors.numpy.load(files["model.safetensors"])
        np.testing.assert_array_equal(clf.features_, slow["features"])
        np.testing.assert_array_equal(clf.graph_.indices, slow["graph.indices"])
        np.testing.assert_array_equal(clf.label_distributions_, slow["label_distributions"])
        require(
            clf.get_params() | {"device": 0}
            == clf.get_params() | json.loads(files["model.json"])["parameters"] | {"device": 0},
            "other parameters",
        )
        self.answer(clf)


class OldModels(SignedModels):
    """Damaged folders of version 0.1, which have no checksums."""

    name = "model-0.1"
    sign = staticmethod(lambda files: files)

    def make(self):
        folder = Path(__file__).parents[1] / "data" / "version_0_1" / "labelling" / "out" / "model"
        return [{path.name: path.read_bytes() for path in sorted(folder.iterdir())}]
