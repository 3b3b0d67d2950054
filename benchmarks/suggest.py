"""Strategies that choose which images to label: the accuracy that their labels give, for several budgets.

    python benchmarks/suggest.py --data DATA [--sets flowers17 caltech25 corel5k] [--seeds 5] [--device cpu] [--jobs 1]

For each set and seed, 90 % of the images are drawn at random, so that strategies without chance differ between seeds too.
Every strategy then chooses 1 × as many images as there are classes, gets their labels, goes on to 2 ×, 4 × and 8 ×, and
the other images are classified from the labels so far: by GRaNDe with the favorite settings (``--model`` on the DGCG graph
of center-l2 features, 40 neighbors, σ = 0.2), or with automatic settings (``--model committee``, as ``grande label`` does),
and by logistic regression on the same features. An image of a class that
nobody has labelled counts as an error, like any other wrong label. Margins are those of GRaNDe. Rows that the results have
already are not measured again.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from common import RESULTS, print_table, read_rows, write_rows
from grande_gnn import GrandeClassifier
from grande_gnn.baselines import SYSTEMS
from grande_gnn.classifier.normalizer import Normalizer
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.classifier.tuning import FAVORITE
from grande_gnn.engine import Settings, as_degree
from grande_gnn.experiments.statistics import paired_interval
from grande_gnn.graph import Neighbors, build_graph
from grande_gnn.labelling.strategies import STRATEGIES
from grande_gnn.labelling.suggest import suggest
from labelled_sets import labelled_set

BUDGETS = (1, 2, 4, 8)
"""Labels, as a multiple of the number of classes."""

COMMITTEE = "committee"
"""The model that stands for automatic settings."""

SHARE = 0.9
"""The share of the images that a seed draws."""


Classify = Callable[[list[np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]
"""From class codes (−1: unknown), several sets of them, to predicted codes and margins for each."""


def margins(p: np.ndarray) -> np.ndarray:
    """The lead of the most probable class over the next."""
    best = np.sort(p, axis=1)
    return best[:, -1] - best[:, -2]


def favorite(X: np.ndarray, n_classes: int, model: str, device: str, seed: int) -> Classify:
    """One model on one graph, all label sets at once."""
    graph = build_graph(FAVORITE.graph, X, FAVORITE.n_neighbors, device=device)
    settings = Settings(model, device=device, seed=seed)
    problem = LearningProblem(X, graph, n_classes, as_degree("grande", FAVORITE.sigma), settings)

    def classify(known: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        outcomes = problem.train([LabelSet(codes, fold=seed) for codes in known], keep_models=True)
        found = []
        for codes, outcome in zip(known, outcomes, strict=True):
            assert outcome.logits is not None  # models are kept
            seen = np.isin(np.arange(n_classes), codes)
            lead = margins(softmax(np.where(seen, outcome.logits, -np.inf), axis=1))
            found.append((outcome.predictions, lead))
        return found

    return classify


def committee(features: np.ndarray, device: str, seed: int) -> Classify:
    """Automatic settings, one label set after another."""
    auto = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")

    def classify(known: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for codes in known:
            clf = GrandeClassifier(**auto, device=device, random_state=seed).fit(features, codes)
            found.append((clf.transduction_, margins(clf.label_distributions_)))
        return found

    return classify


def measure(
    data: Path, strategies: list[str], model: str, device: str, job: tuple[str, int]
) -> list[dict[str, Any]]:
    """All budgets of all strategies on one draw of a set."""
    warnings.simplefilter("ignore")  # classes with few labels
    name, seed = job
    features, classes = labelled_set(data, name)
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(len(classes))[: int(SHARE * len(classes))])
    y = np.unique(classes[kept], return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    X = Normalizer.fit(features[kept], FAVORITE.normalize).transform(features[kept])
    neighbors = Neighbors(X, device=device)
    classify = (
        committee(features[kept].astype(np.float32), device, seed)
        if model == COMMITTEE
        else favorite(X, n_classes, model, device, seed)
    )
    known = {strategy: np.full(len(y), -1) for strategy in strategies}
    unsure: dict[str, np.ndarray | None] = dict.fromkeys(strategies)
    rows = []
    for budget in BUDGETS:
        for strategy, codes in known.items():
            more = budget * n_classes - int((codes >= 0).sum())
            chosen = suggest(
                neighbors, more, strategy, labels=codes, margin=unsure[strategy], random_state=seed
            )
            codes[chosen] = y[chosen]
        for (strategy, codes), (said, lead) in zip(
            known.items(), classify(list(known.values())), strict=True
        ):
            unsure[strategy] = lead
            rest = codes < 0
            by_regression = SYSTEMS["logreg"].make().fit(X, codes).transduction_
            rows.append({
                "set": name, "seed": seed, "model": model, "strategy": strategy, "budget": budget,
                "labels": int((~rest).sum()), "classes_seen": len(set(codes[~rest])), "classes": n_classes,
                "grande": round(100 * float((said == y)[rest].mean()), 2),
                "logreg": round(100 * float((by_regression == y)[rest].mean()), 2),
            })  # fmt: skip
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds, and the paired difference from random with its 95 % interval."""
    table = []
    keys = dict.fromkeys((row["set"], row["strategy"]) for row in rows)
    for name, strategy in keys:
        for classifier in ("grande", "logreg"):
            line: dict[str, Any] = {"set": name, "strategy": strategy, "classifier": classifier}
            for budget in BUDGETS:
                pairs = [
                    [
                        float(row[classifier]) for row in sorted(rows, key=lambda row: int(row["seed"]))
                        if (row["set"], row["strategy"], int(row["budget"])) == (name, which, budget)
                    ]
                    for which in (strategy, "random")
                ]  # fmt: skip
                line[f"{budget} ×"] = f"{np.mean(pairs[0]):.1f}"
                if strategy != "random" and len(pairs[0]) == len(pairs[1]) > 1:
                    mean, low, high = paired_interval(*map(np.array, pairs))
                    line[f"{budget} ×"] += f" ({mean:+.1f} [{low:+.1f}, {high:+.1f}])"
            table.append(line)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["flowers17", "caltech25", "corel5k"])
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--model", default="appnp")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="draws that are measured at once")
    parser.add_argument("--out", type=Path, default=RESULTS / "suggest.csv")
    options = parser.parse_args()
    rows = read_rows(options.out)
    finished = {(row["set"], int(row["seed"]), row["model"], row["strategy"]) for row in rows}
    jobs = [
        (name, seed) for seed in range(options.seeds) for name in options.sets
        if any((name, seed, options.model, strategy) not in finished for strategy in options.strategies)
    ]  # fmt: skip
    work = partial(measure, options.data, options.strategies, options.model, options.device)
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(work, jobs) if options.jobs > 1 else map(work, jobs):
            new = {(row["set"], row["seed"], row["model"], row["strategy"]) for row in found}
            rows = [
                row for row in rows
                if (row["set"], int(row["seed"]), row["model"], row["strategy"]) not in new
            ] + found  # fmt: skip
            write_rows(rows, options.out)
            print(f"{found[0]['set']}, seed {found[0]['seed']}", flush=True)
    mine = [row for row in rows if row["model"] == options.model]
    print_table(summary(mine), ["set", "strategy", "classifier", *(f"{b} ×" for b in BUDGETS)])


if __name__ == "__main__":
    main()
