"""Automatic settings compared with every single member, the paper's settings and logistic regression.

    python benchmarks/committee.py --data DATA --sets flowers17 --cases r1 r2 w10 --draws 3
    python benchmarks/committee.py --old old_tree --data DATA          with the automatic settings of another version
    python benchmarks/committee.py --summary

One row per set, kind of labels (:mod:`label_kinds`), draw and system: the accuracy on the images without a label whose
class somebody labelled, and the same without images that are copies of a labelled one. Finished rows are skipped.

Logistic regression gets its normalization and C by cross-validation of the labels; with at most one label per class it has
center-l2 and C = 1.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from common import RESULTS, measure_jobs, print_table, read_rows
from grande_gnn import GrandeClassifier
from grande_gnn.classifier.copies import find_copies
from grande_gnn.classifier.normalizer import NORMALIZATIONS, Normalizer
from grande_gnn.classifier.tuning import MEMBERS, PAPER
from grande_gnn.graph import Neighbors
from label_kinds import KINDS, draw_labels
from labelled_sets import labelled_set
from versions import Version

AUTO = {"graph": "auto", "n_neighbors": "auto", "normalize": "auto", "sigma": "auto"}
SINGLES = {f"{c.graph} {c.n_neighbors} {c.normalize}": asdict(c) for c in (*MEMBERS, PAPER)}
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
COMMITTEE, LOGISTIC, OLD = "committee", "logistic regression", "automatic settings of 0.1"
CASES = [kind for kind in KINDS if kind not in ("zipf", "easy", "q2", "q4", "q8")]


def logistic(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Predictions of logistic regression at its best."""
    rows = np.flatnonzero(codes >= 0)
    features = {how: in_span(Normalizer.fit(X, how).transform(X), rows) for how in NORMALIZATIONS}
    best = ("center-l2", 1.0)
    most = int(np.bincount(codes[rows]).max())
    if most > 1:
        folds = list(StratifiedKFold(min(3, most), shuffle=True, random_state=0).split(rows, codes[rows]))

        def score(setting: tuple[str, float]) -> float:
            how, strength = setting
            hits = [
                fitted(features[how][rows[train]], codes[rows[train]], strength).predict(
                    features[how][rows[test]]
                )
                == codes[rows[test]]
                for train, test in folds
            ]
            return float(np.concatenate(hits).mean())

        best = max(itertools.product(NORMALIZATIONS, STRENGTHS), key=score)
    return fitted(features[best[0]][rows], codes[rows], best[1]).predict(features[best[0]])


def in_span(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The samples in an orthonormal basis of what the labelled ones span.

    The coefficients of a regression with a quadratic penalty lie there, so predictions do not change and fits are faster.
    """
    basis = np.linalg.qr(X[rows].T.astype(np.float64))[0]
    return np.asarray(X @ basis)


def fitted(X: np.ndarray, y: np.ndarray, strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=300).fit(X, y)


@cache
def version_of(tree: Path) -> Version:
    """Another version, in a process that lives as long as this one."""
    return Version(tree, threads=1)


def by_old_version(tree: Path, X: np.ndarray, codes: np.ndarray, device: str, seed: int) -> np.ndarray:
    """Predictions of another version's automatic settings."""
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(problem, features=X, codes=codes)
        arguments = {"problem": str(problem), "device": device, "seed": seed}
        version_of(tree).ask("compute", operation="automatic", arguments=arguments, save=str(answer))
        with np.load(answer) as archive:
            return np.asarray(archive["predictions"])


def measure(
    data: Path, name: str, case: str, draw: int, systems: list[str], device: str, old: Path
) -> list[dict]:
    """The rows of one draw of labels."""
    warnings.simplefilter("ignore")  # classes with few labels, and fits that stop after 300 steps
    torch.set_num_threads(1)
    X, y = labelled_set(data, name)
    X = np.asarray(X, dtype=np.float32)
    neighbors = Neighbors(Normalizer.fit(X, "center-l2").transform(X), device=device)
    codes = draw_labels(case, y, X, neighbors.lists(40), draw)
    copies = find_copies(neighbors)
    asked = (codes < 0) & np.isin(y, codes)
    apart = asked & ~np.isin(copies, copies[codes >= 0])
    rows = []
    for system in systems:
        start = time.perf_counter()
        if system == LOGISTIC:
            said, note = logistic(X, codes), ""
        elif system == OLD:
            said, note = by_old_version(old, X, codes, device, draw), ""
        else:
            settings = AUTO if system == COMMITTEE else SINGLES[system]
            clf = GrandeClassifier(**settings, device=device, random_state=draw).fit(X, codes)
            said, note = clf.transduction_, " ".join(f"{m['weight']:.3f}" for m in clf.committee_.described())
        rows.append(
            {
                "set": name, "case": case, "draw": draw, "system": system, "labels": int((codes >= 0).sum()),
                "accuracy": round(100 * float(np.mean((said == y)[asked])), 3),
                "without_copies": round(100 * float(np.mean((said == y)[apart])), 3),
                "seconds": round(time.perf_counter() - start, 2), "weights": note, "device": device,
            }
        )  # fmt: skip
    return rows


def summary(rows: list[dict]) -> None:
    """The committee minus the best single candidate, logistic regression and version 0.1, for each kind of labels."""
    table: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for row in rows:
        place = table.setdefault((row["set"], row["case"]), {})
        place.setdefault(row["system"], {})[int(row["draw"])] = float(row["accuracy"])
    out = []
    for (name, case), systems in table.items():
        ours = systems.get(COMMITTEE, {})
        draws = [d for d in ours if all(d in found for found in systems.values())]
        if not draws:
            continue
        means = {system: np.mean([found[d] for d in draws]) for system, found in systems.items()}
        singles = {s: value for s, value in means.items() if s not in (COMMITTEE, LOGISTIC, OLD)}
        if not singles:
            continue  # only the committee was measured here
        if not singles:  # kinds of labels that only the committee was measured on
            continue
        best = max(singles, key=lambda system: singles[system])
        line = {"set": name, "case": case, "draws": len(draws), COMMITTEE: means[COMMITTEE], "best single": best,
                "minus best": means[COMMITTEE] - singles[best]}  # fmt: skip
        for other, column in ((LOGISTIC, "minus logistic"), (OLD, "minus 0.1")):
            if other in systems:
                difference = np.array([ours[d] - systems[other][d] for d in draws])
                error = stats.sem(difference) if len(draws) > 1 else np.nan
                half = stats.t.ppf(0.975, max(1, len(draws) - 1)) * error
                line |= {column: difference.mean(), f"{column} low": difference.mean() - half,
                         f"{column} high": difference.mean() + half}  # fmt: skip
        out.append(line)
    print_table(out, list(out[0]) if out else [])
    for column in ("minus best", "minus logistic", "minus 0.1"):
        values = [line[column] for line in out if column in line]
        if values:
            print(
                f"{column}: mean {np.mean(values):+.2f}, smallest {min(values):+.2f}, of {len(values)} cases"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with one folder per set")
    parser.add_argument("--sets", nargs="+", default=["flowers17", "corel5k", "caltech25"])
    parser.add_argument("--cases", nargs="+", default=CASES, choices=list(KINDS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--systems", nargs="+", default=[COMMITTEE, *SINGLES, LOGISTIC])
    parser.add_argument(
        "--old", type=Path, help="tree of version 0.1, whose automatic settings are compared, too"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS / "committee.csv")
    parser.add_argument("--summary", action="store_true", help="print the table of the rows there are")
    options = parser.parse_args()
    rows: list[dict] = list(read_rows(options.out))
    if options.summary:
        summary(rows)
        return
    done = {(row["set"], row["case"], int(row["draw"]), row["system"]) for row in rows}
    wanted = [*options.systems, *([OLD] if options.old else [])]
    todo = []
    for draw, name, case in itertools.product(range(options.draws), options.sets, options.cases):
        systems = [system for system in wanted if (name, case, draw, system) not in done]
        if systems:
            todo.append((options.data, name, case, draw, systems, options.device, options.old))
    measure_jobs(measure, todo, rows, options.out, options.jobs, ("set", "case", "draw"))
    summary(rows)


if __name__ == "__main__":
    main()
