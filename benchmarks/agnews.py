"""AG News with 10 and 50 labels per class: GRaNDe, degree centrality, logistic regression and label spreading, into a CSV.

    python benchmarks/agnews.py test.csv --csv benchmarks/results/agnews.csv [--draws 10] [--first 0]
    python benchmarks/agnews.py test.csv --csv benchmarks/results/agnews.csv --table

Texts are title and description, features those of ``tfidf``. A draw labels so many texts of each class at random; accuracy
is that of all others. ``committee`` is what ``grande label`` does; ``grande`` and ``centrality`` are one APPNP on the
reciprocal graph with normalized features. Logistic regression (C = 10) sees the same features; label spreading is
scikit-learn's on 40 neighbors. Rows that the CSV already has are skipped.
"""

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import append_rows, read_rows

METHODS = ("committee", "grande", "centrality", "logistic", "spreading")
DEGREES = ("grande", "centrality")
COLUMNS = ("method", "labels_per_class", "draw", "accuracy", "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--labels", default="10,50")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        measure(options)
    print_table(read_rows(options.csv))


def measure(options: argparse.Namespace) -> None:
    from grande_gnn.texts import load_text_extractor, read_texts

    done = {(row["method"], int(row["labels_per_class"]), int(row["draw"])) for row in read_rows(options.csv)}
    y = np.array([row[0] for row in csv.reader(options.texts.open(newline="", encoding="utf-8"))])
    X = load_text_extractor("tfidf").features(read_texts(options.texts, ["2", "3"]).texts)
    graph = None
    for draw in range(options.first, options.first + options.draws):
        for count in map(int, options.labels.split(",")):
            few = draw_labels(y, count, draw)
            wanted = [m for m in options.methods.split(",") if (m, count, draw) not in done]
            for methods in ([m for m in wanted if m in DEGREES], *([m] for m in wanted if m not in DEGREES)):
                if not methods:
                    continue
                start = time.perf_counter()
                if methods[0] in DEGREES:
                    graph = graph or prepare(X, options.device)
                    answers = diffused(*graph, few, methods, draw, options.device)
                else:
                    answers = [label(methods[0], X, few, draw, options.device)]
                seconds = (time.perf_counter() - start) / len(methods)
                for method, answer in zip(methods, answers, strict=True):
                    accuracy = 100 * np.mean(answer[few == ""] == y[few == ""])
                    row = (method, count, draw, f"{accuracy:.3f}", f"{seconds:.2f}")
                    append_rows(COLUMNS, [row], options.csv)
                    print(
                        method, count, draw, f"{accuracy:.2f} in {seconds:.1f} s", file=sys.stderr, flush=True
                    )


def prepare(X: np.ndarray, device: str) -> tuple[np.ndarray, Any]:
    """Normalized features and their reciprocal graph of 40 neighbors, made once."""
    from grande_gnn.classifier.normalizer import Normalizer
    from grande_gnn.graph import reciprocal_knn_graph

    normalized = Normalizer.fit(X, "center-l2").transform(X)
    return normalized, reciprocal_knn_graph(normalized, 40, device=device)


def diffused(
    X: np.ndarray, graph: Any, few: np.ndarray, degrees: list[str], draw: int, device: str
) -> list[np.ndarray]:
    """The labels that APPNP gives with each degree, trained side by side from the same initial weights."""
    from grande_gnn.engine import Replica, Settings, as_degree, train
    from grande_gnn.internal.validation import encode_labels

    codes, names = encode_labels(few)
    replicas = [Replica(codes, as_degree(degree, 0.2)) for degree in degrees]
    outcomes = train(X, graph, replicas, len(names), Settings(device=device, seed=draw))
    return [names[outcome.predictions] for outcome in outcomes]


def draw_labels(y: np.ndarray, count: int, draw: int) -> np.ndarray:
    """The labels with ``count`` of each class known."""
    rng = np.random.default_rng(draw)
    rows = [rng.permutation(np.flatnonzero(y == name))[:count] for name in np.unique(y)]
    few = np.full(len(y), "", dtype=y.dtype)
    few[np.concatenate(rows)] = y[np.concatenate(rows)]
    return few


def label(method: str, X: np.ndarray, few: np.ndarray, draw: int, device: str) -> np.ndarray:
    """The label of every text."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading

    from grande_gnn import GrandeClassifier

    known = few != ""
    if method == "logistic":
        return LogisticRegression(C=10, max_iter=1000).fit(X[known], few[known]).predict(X)
    if method == "spreading":
        names, codes = np.unique(few[known], return_inverse=True)
        y = np.full(len(few), -1)
        y[known] = codes
        model = LabelSpreading(kernel="knn", n_neighbors=40, max_iter=100).fit(X, y)
        return names[model.transduction_]
    auto = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")
    return GrandeClassifier(random_state=draw, device=device, **auto).fit(X, few).transduction_


def print_table(rows: list[dict[str, str]]) -> None:
    """A table in Markdown: means over draws with their intervals, and differences to degree centrality, paired."""
    from grande_gnn.experiments.statistics import interval_over_folds, paired_interval

    print("| labels per class | method | accuracy | minus degree centrality, 95 % | draws |")
    print("|---|---|---|---|---|")
    for count in sorted({int(row["labels_per_class"]) for row in rows}):
        scores = {
            method: {
                int(row["draw"]): float(row["accuracy"])
                for row in rows if (row["method"], int(row["labels_per_class"])) == (method, count)
            }
            for method in METHODS
        }  # fmt: skip
        for method, found in scores.items():
            both = sorted(found.keys() & scores["centrality"].keys())
            if len(both) < 2:
                continue
            mean, _, high = interval_over_folds([found[draw] for draw in both])
            difference = paired_interval([found[d] for d in both], [scores["centrality"][d] for d in both])
            shown = "–" if method == "centrality" else "{:+.2f} [{:+.2f}, {:+.2f}]".format(*difference)
            print(f"| {count} | {method} | {mean:.2f} ± {high - mean:.2f} | {shown} | {len(both)} |")


if __name__ == "__main__":
    main()
