"""A fitted classifier as a folder: ``model.safetensors`` for arrays, ``model.json`` for the rest. Never pickle."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grande_gnn import __version__
from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.tuning import Choice
from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError
from grande_gnn.graph import Graph

__all__ = ["load_classifier", "save_classifier"]

FORMAT = 1
_ARRAYS, _REST = "model.safetensors", "model.json"


def save_classifier(clf: Any, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write beside the target and move into place, so that there is the old model or the new one, whole."""
    from safetensors.numpy import save_file

    target = Path(folder)
    if callable(clf.degree):
        raise InvalidInputError(
            "a degree function cannot be saved: use 'grande' or 'centrality'; got a function"
        )
    if target.exists() and not overwrite:
        raise OutputExistsError(f"the model folder exists: name another or pass overwrite=True; got {target}")
    if target.exists() and not (target / _REST).is_file():
        raise OutputExistsError(f"what exists is not a saved model, so it is not overwritten; got {target}")
    target = target.resolve()  # a link stays, and what it leads to is replaced
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        save_file({name: np.ascontiguousarray(a) for name, a in _arrays(clf).items()}, temporary / _ARRAYS)
        (temporary / _REST).write_text(json.dumps(_rest(clf), indent=1), encoding="utf-8")
        os.chmod(temporary, 0o755)
        _replace_folder(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace_folder(new: Path, target: Path) -> None:
    """Move ``new`` to ``target``; what was there is deleted only afterwards, and comes back if the move fails."""
    if not target.exists():
        os.replace(new, target)
        return
    aside = new.with_name(f"{new.name}.old")
    os.replace(target, aside)
    try:
        os.replace(new, target)
    except BaseException:
        os.replace(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _arrays(clf: Any) -> dict[str, np.ndarray]:
    arrays = {
        "features": clf._X, "label_distributions": clf.label_distributions_, "degree": clf.degree_,
        "reached": clf.reached_, "graph.indptr": clf.graph_.indptr, "graph.indices": clf.graph_.indices,
        "normalizer.center": clf._normalizer.center,
    }  # fmt: skip
    arrays |= {f"parameter.{name}": array for name, array in clf._parameters.items()}
    return arrays if clf._radius is None else arrays | {"radius": clf._radius}


def _rest(clf: Any) -> dict[str, Any]:
    parameters = clf.get_params(deep=False) | {"context": None}  # its rows are among the features
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None
    parameters["device"] = str(parameters["device"])
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in parameters.items()}
    return {
        "format": FORMAT, "version": __version__, "parameters": plain, "choice": asdict(clf.choice_),
        "classes": clf.classes_.tolist(), "classes_dtype": clf.classes_.dtype.str,
        "normalizer_length": clf._normalizer.length,
        "feature_names": clf.feature_names_in_.tolist() if hasattr(clf, "feature_names_in_") else None,
    }  # fmt: skip


def load_classifier(cls: type, folder: str | os.PathLike[str]) -> Any:
    """Rebuild the classifier that was saved in ``folder``."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    source = Path(folder)
    try:
        rest = json.loads((source / _REST).read_text(encoding="utf-8"))
        arrays = load_file(source / _ARRAYS)
        if rest["format"] > FORMAT:
            raise FileFormatError(
                f"{source} was written by a newer version ({rest['version']}): upgrade grande-gnn; got {__version__}"
            )
        return _rebuilt(cls, rest, arrays)
    except FileNotFoundError:
        raise FileFormatError(
            f"no model folder: {_ARRAYS} and {_REST} are expected in it; got {source}"
        ) from None
    except (OSError, KeyError, IndexError, TypeError, ValueError, SafetensorError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(
            f"{source} is not a readable model folder: save it again; got {' '.join(str(error).split())}"
        ) from None


def _rebuilt(cls: type, rest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    clf = cls(**rest["parameters"])
    clf.device = _device_here(str(clf.device))
    clf.classes_ = np.array(rest["classes"], dtype=np.dtype(rest["classes_dtype"]))
    if rest["feature_names"] is not None:
        clf.feature_names_in_ = np.array(rest["feature_names"], dtype=object)
    clf._X = arrays["features"]
    clf.label_distributions_ = arrays["label_distributions"]
    clf.degree_, clf.reached_ = arrays["degree"], arrays["reached"]
    clf.graph_ = Graph(arrays["graph.indptr"], arrays["graph.indices"])
    clf._normalizer = Normalizer(arrays["normalizer.center"], rest["normalizer_length"])
    clf.choice_, clf.selection_ = Choice(**rest["choice"]), None
    prefix = "parameter."
    clf._parameters = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    clf._radius = arrays.get("radius")
    _check_shapes(clf)
    clf.n_features_in_ = clf._X.shape[1]
    clf.transduction_ = clf.classes_[clf.label_distributions_.argmax(axis=1)]
    return clf


def _device_here(saved: str) -> str:
    """``"auto"`` for a GPU that this machine does not have: where a model was made does not bind its users."""
    kind, _, number = saved.partition(":")
    return "auto" if kind == "cuda" and int(number or 0) >= torch.cuda.device_count() else saved


def _check_shapes(clf: Any) -> None:
    """Refuse arrays that do not belong together."""
    (n, d), c, parameters = clf._X.shape, len(clf.classes_), clf._parameters
    if "weight1" in parameters:
        h = parameters["weight1"].shape[1]
        expected = {"weight1": (d, h), "bias1": (h,), "weight2": (h, c), "bias2": (c,)}
    else:
        expected = {"weight": (d, c), "bias": (c,)}
    graph = clf.graph_
    if not (
        {name: array.shape for name, array in parameters.items()} == expected
        and clf.label_distributions_.shape == (n, c)
        and clf.degree_.shape == clf.reached_.shape == (n,)
        and clf._normalizer.center.shape == (d,)
        and (clf._radius is None or clf._radius.shape == (n,))
        and graph.n_nodes == n
        and graph.indptr[-1] == len(graph.indices)
        and graph.indices.max() < n
    ):
        raise ValueError("arrays whose shapes do not fit each other")
