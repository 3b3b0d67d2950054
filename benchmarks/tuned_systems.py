"""Every system at its best: normalization and parameters chosen inside the training fold, next to the defaults.

    python benchmarks/tuned_systems.py --data DATA [--sets flowers17] [--systems logreg svm …] [--folds 5] [--jobs 1]
    python benchmarks/tuned_systems.py --docs docs/systems.md        # only write the table again

The folds are the paper's: one in ten is labelled, in file order, and the others are tested. Inside the labelled fold, the
labels of one part at a time are hidden (four parts, in file order), and the candidate with the most right answers on hidden
labels is trained on the whole fold. The budget is the same for all: three normalizations times at most four sets of
parameters, the default among them; GRaNDe uses half of it. Graph networks compare their candidates with SGC, and are then
trained with APPNP. Candidates and results are two CSV files; what they have is not measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, read_rows, write_rows
from grande_gnn.baselines import SYSTEMS, SystemEntry, register_system
from grande_gnn.baselines.supervised import Supervised
from grande_gnn.classifier.normalizer import NORMALIZATIONS, Normalizer
from grande_gnn.experiments.folds import fold_labels, inner_parts, paper_folds
from grande_gnn.experiments.statistics import paired_interval
from labelled_sets import labelled_set

N_PARTS = 4
"""Parts of a fold's labels, of which one at a time is hidden."""

BEGIN, END = "<!-- tuned: benchmarks/tuned_systems.py -->", "<!-- tuned: end -->"
REFERENCE = "grande"


class Ridge(Supervised):
    """Ridge regression on indicators of the classes."""

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def _classifier(self, n_labelled: int) -> Any:
        from sklearn.linear_model import RidgeClassifier

        return RidgeClassifier(self.alpha)


register_system(SystemEntry("ridge", "ridge regression on class indicators", Ridge))

SPREADING: list[dict[str, Any]] = [
    {}, {"n_neighbors": 20, "alpha": 0.8}, {"n_neighbors": 20, "alpha": 0.5}, {"n_neighbors": 10, "alpha": 0.8},
]  # fmt: skip
GRAPHS: list[dict[str, Any]] = [{}, {"graph": "dgcg"}]

GRIDS: dict[str, list[dict[str, Any]]] = {
    "logreg": [{}, {"C": 0.01}, {"C": 0.1}, {"C": 10.0}],
    "ridge": [{}, {"alpha": 10.0}, {"alpha": 100.0}, {"alpha": 1000.0}],
    "svm": [{}, {"C": 10.0}, {"kernel": "linear"}, {"kernel": "linear", "C": 0.01}],
    "knn": [{}, {"n_neighbors": 1}, {"n_neighbors": 3}, {"n_neighbors": 9}],
    "ml-perc": [{}, {"scale": True}, {"hidden": 300}, {"hidden": 300, "scale": True}],
    "opf": [{}],
    "opf-semi": [{}],
    "ls+knn": SPREADING,
    "ls+svm": SPREADING,
    "dgcg": [{}, {"n_neighbors": 20}, {"n_neighbors": 10}, {"n_neighbors": 60}],
    "grande": GRAPHS,
}
"""What is tried of each system, its defaults first."""

SCREENING: dict[str, dict[str, Any]] = {"grande": {"model": "sgc"}, "dgcg": {"model": "sgc"}}
"""What replaces a system's own parameters while candidates are compared: SGC costs a tenth of APPNP."""

CHEAP = ["logreg", "ridge", "svm", "knn", "opf", "ls+knn", "ls+svm", "grande"]


def candidates(system: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The default first: raw features, own parameters."""
    for parameters in GRIDS[system]:
        for normalization in NORMALIZATIONS:
            yield normalization, parameters


def accuracies(
    system: str, X: np.ndarray, label_sets: Sequence[np.ndarray], hidden: Sequence[np.ndarray], y: np.ndarray,
    parameters: dict[str, Any], device: str,
) -> np.ndarray:  # fmt: skip
    """The share of right answers on the hidden rows of each set of labels."""
    entry = SYSTEMS[system]
    made = entry.make(
        **parameters, random_state=0, **({"device": device} if "device" in entry.parameters else {})
    )
    answers = made.transduce_folds(X, np.stack(label_sets))
    return np.array([np.mean(a.codes[rows] == y[rows]) for a, rows in zip(answers, hidden, strict=True)])


def measure(
    data: Path, device: str, tried: Sequence[dict[str, Any]], job: tuple[str, str, int]
) -> Iterator[dict[str, Any]]:
    """The candidates of a system on one fold that were not tried yet; last, what the default and the chosen one give."""
    name, system, fold = job
    features, y = labelled_set(data, name)
    train, test = paper_folds(y)[fold]
    whole, part = fold_labels(y, train), inner_parts(y[train], N_PARTS)
    hidden = [train[part == p] for p in range(N_PARTS)]
    inner = [fold_labels(y, train[part != p]) for p in range(N_PARTS)]
    about = {"set": name, "system": system, "fold": fold}
    known = {
        (row["normalize"], row["parameters"]): row for row in tried
        if (row["set"], row["system"], int(row["fold"])) == job
    }  # fmt: skip
    rows = []
    for normalization, parameters in candidates(system):
        key = (normalization, json.dumps(parameters))
        if key not in known:
            X = Normalizer.fit(features, normalization).transform(features)
            found = accuracies(system, X, inner, hidden, y, parameters | SCREENING.get(system, {}), device)
            score = 100 * float(np.average(found, weights=[len(rows_) for rows_ in hidden]))
            known[key] = about | {
                "normalize": normalization, "parameters": key[1], "inner_accuracy": round(score, 3),
            }  # fmt: skip
            yield known[key]
        rows.append(known[key])
    best = max(
        rows, key=lambda row: float(row["inner_accuracy"])
    )  # the first of equals: nearer to the default
    result: dict[str, Any] = about | {key: best[key] for key in ("normalize", "parameters", "inner_accuracy")}
    for which, row in (("default", rows[0]), ("tuned", best)):
        if which == "tuned" and best is rows[0]:
            result[which] = result["default"]
            continue
        X = Normalizer.fit(features, row["normalize"]).transform(features)
        (outer,) = accuracies(system, X, [whole], [test], y, json.loads(row["parameters"]), device)
        result[which] = round(100 * float(outer), 3)
    yield result


def measured(
    data: Path, device: str, tried: Sequence[dict[str, Any]], job: tuple[str, str, int]
) -> list[dict[str, Any]]:
    """All rows of :func:`measure` at once, for another process."""
    return list(measure(data, device, tried, job))


def _as_they_finish(
    pool: ProcessPoolExecutor,
    work: Callable[[tuple[str, str, int]], list[dict[str, Any]]],
    jobs: Sequence[tuple[str, str, int]],
) -> Iterator[list[dict[str, Any]]]:
    """What each job gives, the first to finish first: a run that is stopped has kept all that was finished."""
    for finished in as_completed([pool.submit(work, job) for job in jobs]):
        yield finished.result()


def table(results: Sequence[dict[str, Any]]) -> str:
    """Markdown: default and tuned accuracy of each system, and the paired differences both ways."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in results):
        of_each: dict[str, set[int]] = {}
        for row in results:
            if row["set"] == name:
                of_each.setdefault(row["system"], set()).add(int(row["fold"]))
        folds = sorted(
            set.intersection(*of_each.values())
        )  # differences are paired, so all have the same folds
        mine = [row for row in results if row["set"] == name and int(row["fold"]) in folds]
        by_system = {
            system: np.array([
                [float(row[which]) for row in sorted(mine, key=lambda row: int(row["fold"])) if row["system"] == system]
                for which in ("default", "tuned")
            ])
            for system in dict.fromkeys(row["system"] for row in mine)
        }  # fmt: skip
        ours = by_system.get(REFERENCE)
        lines += [
            "", f"{name}, {len(folds)} of the ten folds:", "",
            f"| system | default | tuned | tuned − default | default minus `{REFERENCE}` | both tuned |",
            "|---|---|---|---|---|---|",
        ]  # fmt: skip
        for system, (default, tuned) in sorted(by_system.items(), key=lambda item: -item[1][1].mean()):
            pairs = [(tuned, default)]
            if ours is not None and system != REFERENCE and len(default) == len(ours[0]):
                pairs += [(default, ours[0]), (tuned, ours[1])]
            texts = [_difference(*pair) for pair in pairs] + ["–"] * (3 - len(pairs))
            lines.append(f"| `{system}` | {default.mean():.1f} | {tuned.mean():.1f} | {' | '.join(texts)} |")
    return "\n".join([BEGIN, *lines, "", END])


def _difference(first: np.ndarray, second: np.ndarray) -> str:
    if len(first) < 2:
        return f"{first.mean() - second.mean():+.1f}"
    mean, low, high = paired_interval(first, second)
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")


def write_table(page: Path, results: Sequence[dict[str, Any]]) -> None:
    """Put the table between its marks in the page."""
    text = page.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(before + table(results) + after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["flowers17"])
    parser.add_argument("--systems", nargs="+", default=CHEAP, choices=list(GRIDS))
    parser.add_argument("--folds", type=int, default=5, help="the first so many of the ten folds")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="folds that are measured at once")
    parser.add_argument("--out", type=Path, default=RESULTS / "tuned_systems.csv")
    parser.add_argument("--docs", type=Path, help="the page whose table is written again")
    options = parser.parse_args()
    tried = options.out.with_name(f"{options.out.stem}_candidates.csv")
    results, all_candidates = read_rows(options.out), read_rows(tried)
    finished = {(row["set"], row["system"], int(row["fold"])) for row in results}
    jobs = [
        (name, system, fold) for fold in range(options.folds) for name in options.sets for system in options.systems
        if options.data and (name, system, fold) not in finished
    ]  # fmt: skip
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        work = partial(
            measured if options.jobs > 1 else measure, options.data, options.device, all_candidates
        )
        for rows in _as_they_finish(pool, work, jobs) if options.jobs > 1 else map(work, jobs):
            for row in rows:
                if "tuned" not in row:
                    all_candidates.append(row)
                    write_rows(all_candidates, tried)
                    continue
                results.append(row)
                write_rows(results, options.out)
                print({key: row[key] for key in ("set", "system", "fold", "default", "tuned")}, flush=True)
    print(table(results))
    if options.docs:
        write_table(options.docs, results)


if __name__ == "__main__":
    main()
