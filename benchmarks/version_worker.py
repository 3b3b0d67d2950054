"""A process that runs the operations of the comparisons with one version of the package (see versions.py).

    PYTHONPATH=TREE/src python benchmarks/version_worker.py

It reads one JSON command per line from its standard input and answers each with one JSON line: ``prepare`` makes an
operation from its arguments and runs it once to warm up, ``run`` runs it again and measures how long that took, ``compute``
runs an operation once and saves its arrays. Only what version 0.1 has is used here, so that the same file works with
every version.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import features_of, made_features

Arrays = dict[str, np.ndarray]
Operation = Callable[[], Arrays]

AUTO = {"graph": "auto", "n_neighbors": "auto", "normalize": "auto", "sigma": "auto"}


def tenth_of(y: np.ndarray) -> np.ndarray:
    """The labels with a tenth known, the first fold of the paper's protocol; the others are −1."""
    from grande_gnn.experiments import fold_labels, paper_folds

    return fold_labels(y, paper_folds(y, 10)[0][0])


def load(dataset: str, d: int, data: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Features of this dimension and labels, for any number of images; made ones where there is no such file."""
    for path in sorted((Path(data) / dataset).glob("features_*.npz")) if data else []:
        with np.load(path) as archive:
            if archive["features"].shape[1] == d:
                return archive["features"].astype(np.float32), archive["labels"].astype(np.int64)
    return features_of(dataset, d, None)[:2]


def engine(
    dataset: str, d: int, model: str, sigmas: int, folds: int, repetitions: int, device: str, precision: str,
    epochs: int, data: str | None,
) -> Operation:  # fmt: skip
    """Many trainings at once: a row of engine.py."""
    from grande_gnn.engine import Replica, Settings, train
    from grande_gnn.experiments import fold_labels, paper_folds
    from grande_gnn.graph import reciprocal_knn_graph

    X, y, _ = features_of(dataset, d, Path(data) if data else None)
    graph = reciprocal_knn_graph(X, 40, device=device)
    values = [0.2] if sigmas == 1 else [0.1 * (i + 1) for i in range(sigmas)]
    replicas = [
        Replica(fold_labels(y, rows), sigma, r, f)
        for sigma in values
        for r in range(repetitions)
        for f, (rows, _) in enumerate(paper_folds(y, 10)[:folds])
    ]
    settings = Settings(model=model, device=device, precision=precision, epochs=epochs)

    def run() -> Arrays:
        outcomes = train(X, graph, replicas, int(y.max()) + 1, settings)
        return {"predictions": np.stack([outcome.predictions for outcome in outcomes])}

    return run


def lists(n: int, d: int, length: int, device: str) -> Operation:
    """Exact ranked lists of made features, as in core.py."""
    from grande_gnn.graph import ranked_lists

    X, _ = made_features(n, d, 50)
    return lambda: {"lists": ranked_lists(X, length, device=device)}


def graph(n: int, d: int, kind: str, device: str) -> Operation:
    """A graph of made features: its neighbours and its edges."""
    from grande_gnn.graph import build_graph

    X, _ = made_features(n, d, 50)

    def run() -> Arrays:
        found = build_graph(kind, X, 40, device=device)
        return {"indptr": found.indptr, "indices": found.indices}

    return run


def fit(dataset: str, d: int, data: str | None, settings: dict[str, Any]) -> Operation:
    """Fit from a tenth of the labels, then answer for samples that were not fitted."""
    from grande_gnn import GrandeClassifier

    X, y = load(dataset, d, data)
    new = X[::27] * np.float32(1.01) + np.float32(0.01)
    given = tenth_of(y)

    def run() -> Arrays:
        clf = GrandeClassifier(**settings, random_state=0).fit(X, given)
        return {
            "predictions": clf.transduction_, "probabilities": clf.label_distributions_, "degree": clf.degree_,
            "new_predictions": clf.predict(new), "new_probabilities": clf.predict_proba(new),
            "choice": np.array(str(clf.choice_)),
        }  # fmt: skip

    return run


def evaluate(dataset: str, d: int, data: str | None, settings: dict[str, Any]) -> Operation:
    """The paper's protocol with one repetition: its accuracies."""
    from grande_gnn import evaluate

    X, y = load(dataset, d, data)

    def run() -> Arrays:
        results = evaluate(X, y, repeats=1, **settings)
        return {"accuracies": np.stack([result.accuracies for result in results])}

    return run


def automatic(problem: str, device: str, seed: int) -> Operation:
    """Automatic settings on features and codes from a file; what a committee is compared with."""
    from grande_gnn import GrandeClassifier

    with np.load(problem) as archive:
        X, codes = archive["features"], archive["codes"]
    return lambda: {
        "predictions": GrandeClassifier(**AUTO, device=device, random_state=seed).fit(X, codes).transduction_
    }


def label(dataset: str, n: int, d: int, model: str, device: str, data: str | None) -> Operation:
    """Labels, confidence and flags from features, a tenth labelled, all settings automatic."""
    from grande_gnn import GrandeClassifier
    from grande_gnn.labelling import label_features

    if dataset == "made":
        X, y = made_features(n, d, 50)
    else:
        X, y = load(dataset, d, data)
    given = [f"class {code:03d}" if code >= 0 else "" for code in tenth_of(y)]
    files = [f"{i:06d}.jpg" for i in range(len(y))]

    def run() -> Arrays:
        clf = GrandeClassifier(model, **AUTO, device=device, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # this order of arguments is version 0.1's
            result = label_features(X, files, given, clf)
        return {
            "labels": np.array(result.labels), "confidence": result.confidence, "margin": result.margin,
            "flags": np.array(result.flags()),
        }  # fmt: skip

    return run


def photos(folder: str, labels: str, extractor: str, device: str) -> Operation:
    """`grande label` from photos to the folder of results, with the features in the store after the first run."""
    import csv

    from click.testing import CliRunner

    from grande_gnn.cli import main

    work = Path(tempfile.mkdtemp(prefix="old-and-new-"))
    with Path(labels).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    codes = np.unique([row["label"] for row in rows], return_inverse=True)[1]
    with (work / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "label"])
        for row, known in zip(rows, tenth_of(codes), strict=True):
            writer.writerow([row["file"], row["label"] if known >= 0 else ""])

    def run() -> Arrays:
        out = tempfile.mkdtemp(dir=work)
        command = ["label", folder, "-o", out, "--labels", str(work / "labels.csv"), "--extractor", extractor]
        command += ["--device", device, "--store", str(work / "store"), "--workers", "2"]
        result = CliRunner().invoke(main, command)
        if result.exit_code:
            raise RuntimeError(result.output)
        with (Path(out) / "predictions.csv").open(newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        return {
            name: np.array([row[name] for row in table]) for name in ("file", "label", "confidence", "flags")
        }

    return run


def loading(n: int, d: int, model: str, device: str, answers: int) -> Operation:
    """Load a model that this version saved, and answer for so many new samples."""
    from grande_gnn import GrandeClassifier

    X, y = made_features(n, d, 50)
    folder = Path(tempfile.mkdtemp(prefix="old-and-new-")) / "model"
    GrandeClassifier(model, epochs=5, device=device, random_state=0).fit(X, tenth_of(y)).save(folder)
    new = X[:answers] * np.float32(1.01) + np.float32(0.01)

    def run() -> Arrays:
        clf = GrandeClassifier.load(folder)
        out = {"probabilities": clf.label_distributions_}
        return out | ({"new": clf.predict_proba(new)} if answers else {})

    return run


def extraction(folder: str, extractor: str, photos: int, device: str, cached: bool) -> Operation:
    """The features of the first photos of a folder, computed, or taken from the store."""
    from grande_gnn.images import extract_features, find_images, load_extractor

    work = Path(tempfile.mkdtemp(prefix="old-and-new-"))
    (work / "photos").mkdir()
    for path in sorted(Path(folder).rglob("*.jpg"))[:photos]:
        (work / "photos" / path.name).symlink_to(path.resolve())
    images, network = find_images(work / "photos"), load_extractor(extractor)

    def run() -> Arrays:
        store = str(work / "store") if cached else tempfile.mkdtemp(dir=work)
        found = extract_features(
            images, network, store=store, device=device, workers=2, thumbnails=True
        )  # fmt: skip
        return {"features": found.features()}

    return run


OPERATIONS = {
    f.__name__: f
    for f in (engine, lists, graph, fit, evaluate, automatic, label, photos, loading, extraction)
}


def digest(arrays: Arrays) -> str:
    """Equal for equal arrays."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def answer(command: dict[str, Any], prepared: dict[str, Operation]) -> dict[str, Any]:
    """Do what one command says."""
    match command:
        case {"do": "hello", "threads": int(threads)}:
            import grande_gnn

            torch.set_num_threads(threads)
            return {"version": grande_gnn.__version__, "file": grande_gnn.__file__}
        case {"do": "prepare", "name": str(name), "operation": str(operation), "arguments": dict(arguments)}:
            prepared.clear()  # one at a time, so that memory is free for the next
            prepared[name] = OPERATIONS[operation](**arguments)
            return {"digest": digest(prepared[name]())}
        case {"do": "run", "name": str(name)}:
            start = time.perf_counter()
            for _ in range(command.get("times", 1)):
                arrays = prepared[name]()
            return {"seconds": time.perf_counter() - start, "digest": digest(arrays)}
        case {"do": "compute", "operation": str(operation), "arguments": dict(arguments), "save": str(path)}:
            arrays = OPERATIONS[operation](**arguments)()
            np.savez(path, **arrays)
            return {"digest": digest(arrays)}
    raise ValueError(f"no such command: {command}")


def replies() -> Iterator[dict[str, Any]]:
    """One answer for each line of the standard input."""
    prepared: dict[str, Operation] = {}
    for line in sys.stdin:
        try:
            yield answer(json.loads(line), prepared)
        except Exception:
            yield {"error": traceback.format_exc()}


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the package prints goes elsewhere
    for reply in replies():
        channel.write(json.dumps(reply) + "\n")
        channel.flush()
