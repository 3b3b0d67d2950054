"""A fitted classifier as a folder: ``model.safetensors`` for arrays, ``model.json`` for the rest. Never pickle.

:mod:`grande_gnn.classifier.model_folder` declares what the files may hold. The folder holds parameters and the
registered names of model, degree and graph, but no code: nothing is imported because a file names it.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grande_gnn import __version__
from grande_gnn.classifier.committee import Committee, Selection
from grande_gnn.classifier.graph_free import GraphFree
from grande_gnn.classifier.member import Member
from grande_gnn.classifier.model_folder import (
    ARRAYS,
    PARAMETER,
    REST,
    check_arrays,
    class_array,
    fill_model_folder,
    member_prefix,
    read_model_folder,
)
from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.preparation import Choice
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.classifier.reduction import Reduction
from grande_gnn.engine import Settings
from grande_gnn.engine.degrees import DEGREES, as_degree, is_registered
from grande_gnn.engine.models import MODELS, PlainModel, as_model
from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError
from grande_gnn.graph import Graph, Neighbors
from grande_gnn.internal.files import is_unfinished, write_folder
from grande_gnn.internal.swap import recover

__all__ = ["load_classifier", "save_classifier"]


def save_classifier(clf: Any, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the model's files; at any moment the folder holds the old model or the new one, never a mixture."""
    target, rest = Path(folder), _rest(clf)
    recover(target)
    is_taken = target.exists() and not (target.is_dir() and not any(target.iterdir()))
    if is_taken and not overwrite:
        raise OutputExistsError(f"the model folder exists: name another or pass overwrite=True; got {target}")
    if is_taken and not _is_ours(target):
        raise OutputExistsError(f"what exists is not a saved model, so it is not overwritten; got {target}")
    target.resolve().parent.mkdir(parents=True, exist_ok=True)
    arrays = _arrays(clf)
    write_folder(
        target, lambda part: fill_model_folder(part, rest, arrays), (REST, ARRAYS), overwrite=overwrite
    )


def _is_ours(target: Path) -> bool:
    """Whether the folder holds a model, or the unfinished files of a process that was killed while writing one."""
    return (target / REST).is_file() or (target.is_dir() and any(map(is_unfinished, target.iterdir())))


def _arrays(clf: Any) -> dict[str, np.ndarray]:
    arrays = {
        "features": clf.features_, "label_distributions": clf.label_distributions_,
        "normalizer.center": clf.normalizer_.center,
    }  # fmt: skip
    if clf.reduction_ is not None and clf.reduction_.components is not None:
        arrays["reduction.components"] = clf.reduction_.components
    if clf.neighbors_.length:  # with a ready graph, neighbors may never have been searched
        arrays["neighbors.lists"] = clf.neighbors_.lists(clf.neighbors_.length)
    for position, member in enumerate(clf.committee_.members):
        graph = member.problem.graph
        own = {
            "degree": member.degree, "reached": member.reached, "graph.indptr": graph.indptr,
            "graph.indices": graph.indices,
        } | {f"{PARAMETER}{name}": array for name, array in member.parameters.items()}  # fmt: skip
        arrays |= {member_prefix(position) + name: array for name, array in own.items()}
    linear = clf.committee_.graph_free
    if linear is not None:
        arrays |= {"graph_free.coefficients": linear.coefficients, "graph_free.intercept": linear.intercept}
    return arrays


def _rest(clf: Any) -> dict[str, Any]:
    parameters = clf.get_params(deep=False) | {"context": None}  # the rows of context are among the features
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None
    parameters["device"] = str(parameters["device"])
    parameters["model"] = _model_name(clf.model)
    parameters |= _degree_by_name(clf)
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in parameters.items()}
    return {
        "version": __version__, "parameters": plain, "choice": asdict(clf.choice_),
        "automatic": clf.selection_ is not None, "members": clf.committee_.described(),
        "classes": clf.classes_.tolist(), "classes_dtype": clf.classes_.dtype.str,
        "normalizer_length": clf.normalizer_.length,
        "feature_names": clf.feature_names_in_.tolist() if hasattr(clf, "feature_names_in_") else None,
    }  # fmt: skip


def _model_name(model: Any) -> str:
    """The registered name of a model; one of your own gets a name that is not registered, so that loading asks for it."""
    made = as_model(model)
    registered = MODELS.get(made.name)
    is_it = registered is made or (
        isinstance(registered, PlainModel) and isinstance(made, PlainModel) and registered.build is made.build
    )
    return made.name if registered is None or is_it else f"{made.name} (not the registered one)"


def _degree_by_name(clf: Any) -> dict[str, Any]:
    """The parameters ``degree`` and ``sigma`` as a registered name and a number."""
    if clf.degree in list(DEGREES):
        return {}
    degree = as_degree(clf.degree)
    if not is_registered(degree):
        raise InvalidInputError(
            f"a degree of your own cannot be saved: use {', '.join(DEGREES)}, or register it under a name of its own with "
            f"register_degree; got {degree}"
        )
    return {"degree": degree.name} | ({} if degree.sigma is None else {"sigma": degree.sigma})


def load_classifier(cls: type, folder: str | os.PathLike[str], model: Any = None) -> Any:
    """Rebuild the classifier that was saved in ``folder``; ``model`` is the class of the user's own model, if any."""
    source = Path(folder)
    recover(source)
    try:
        rest, arrays = read_model_folder(source)
        _check_model(rest["parameters"]["model"], model, source)
        return _rebuilt(cls, rest, arrays, model)
    except FileNotFoundError:
        raise FileFormatError(
            f"no model folder: {ARRAYS} and {REST} are expected in it; got {source}"
        ) from None
    except (OSError, KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(
            f"{source} is not a readable model folder: save it again; got {' '.join(str(error).split())}"
        ) from None


def _check_model(name: str, model: Any, source: Path) -> None:
    """A model that is not registered must be given, because a file does not bring code along."""
    if model is None and name not in MODELS:
        raise FileFormatError(
            f"{source} was fitted with a model of your own: pass its class, GrandeClassifier.load(folder, model=...), or "
            f"register it first; got the model {name[:200]!r}"
        )


def _rebuilt(cls: type, rest: dict[str, Any], arrays: dict[str, np.ndarray], model: Any) -> Any:
    clf = cls(**(rest["parameters"] | ({} if model is None else {"model": model})))
    clf.device = _device_here(str(clf.device))
    clf.classes_ = class_array(rest)
    settings = clf.settings()  # refuses parameters that no fit accepts
    described = rest.get("members", [rest["choice"] | {"weight": 1.0, "temperature": 1.0}])
    d = arrays["features"].shape[-1]
    shapes = settings.kind.parameter_shapes(d, clf.hidden, len(clf.classes_))
    check_arrays(arrays, len(clf.classes_), shapes, described)
    if rest["feature_names"] is not None:
        clf.feature_names_in_ = np.array(rest["feature_names"], dtype=object)
    clf.features_ = arrays["features"]
    clf.label_distributions_ = arrays["label_distributions"]
    clf.normalizer_ = Normalizer(arrays["normalizer.center"], rest["normalizer_length"])
    clf.choice_, clf.halves_, clf.half_problems_ = Choice(**rest["choice"]), None, None
    inputs = clf.normalizer_.transform(clf.features_)
    # Version 0.1 did not save the lists: they are searched when they are needed.
    lists = arrays.get("neighbors.lists")
    clf.neighbors_ = (
        Neighbors(inputs, device=clf.device)
        if lists is None
        else Neighbors.from_lists(inputs, lists, device=clf.device)
    )
    components = arrays.get("reduction.components")
    clf.reduction_ = None if components is None else Reduction(components)
    clf.n_features_in_ = clf.features_.shape[1] if components is None else components.shape[1]
    committee = _committee(clf, settings, described, arrays)
    automatic = rest.get("automatic", False)  # a choice made by version 0.1 counts as the user's
    clf.selection_ = Selection.of(committee) if automatic else None
    return clf.settle(committee)


def _committee(
    clf: Any, settings: Settings, described: list[dict[str, Any]], arrays: dict[str, np.ndarray]
) -> Committee:
    members, graph_free = [], None
    for position, about in enumerate(described):
        if about["graph"] is None:
            parts = arrays["graph_free.coefficients"], arrays["graph_free.intercept"]
            graph_free = GraphFree(*parts, about["weight"])
            continue
        prefix = member_prefix(position)
        own = {k.removeprefix(prefix): array for k, array in arrays.items() if k.startswith(prefix)}
        choice = Choice(**{name: about[name] for name in ("graph", "n_neighbors", "normalize", "sigma")})
        problem = LearningProblem(
            clf.neighbors_.features, Graph(own["graph.indptr"], own["graph.indices"]), len(clf.classes_),
            as_degree(clf.degree, float(choice.sigma)), settings, clf.hidden,
        )  # fmt: skip
        parameters = {k.removeprefix(PARAMETER): v for k, v in own.items() if k.startswith(PARAMETER)}
        members.append(
            Member(
                choice, problem, parameters, own["degree"], own["reached"], about["temperature"], about["weight"]
            )
        )  # fmt: skip
    return Committee(tuple(members), graph_free)


def _device_here(saved: str) -> str:
    """The saved device, or ``"auto"`` if that is a GPU which this machine does not have."""
    kind, _, number = saved.partition(":")
    return "auto" if kind == "cuda" and int(number or 0) >= torch.cuda.device_count() else saved
