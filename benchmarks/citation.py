"""Cora and CiteSeer with their public split: each model with both degrees, one row per seed, into a CSV.

    python benchmarks/citation.py FOLDER --csv benchmarks/results/citation.csv [--seeds 100] [--jobs 2]
    python benchmarks/citation.py FOLDER --csv benchmarks/results/citation.csv --models gcn --seeds 20 --maximum
    python benchmarks/citation.py --csv benchmarks/results/citation.csv --table

FOLDER holds ``cora.npz`` and ``citeseer.npz``. σ is the one with the best mean accuracy on the validation nodes over the
first five seeds; all seeds are then trained with it and with degree centrality. Rows that the CSV already has are
skipped. ``--maximum`` trains with σ = 0.2 instead, as it is and with a gradient through the largest distance, which is
otherwise a constant. ``--table`` prints means, differences and their intervals from the rows.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from common import append_rows, read_rows

if TYPE_CHECKING:
    from torch import Tensor

    from grande_gnn.graph import Graph

GRAPHS = ("cora", "citeseer")
MODELS = ("gcn", "sgc", "appnp")
SIGMAS = (0.2, 0.5, 1.0, 5.0)
TUNING_SEEDS = 5
MAXIMUM = "grande-maximum"
PAPER_SIGMA = "0.2"
COLUMNS = ("graph", "model", "degree", "sigma", "seed", "validation", "test")

Key = tuple[str, str, str, str]
"""Graph, model, degree and σ."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--maximum", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print_tables(read_rows(options.csv))
        return
    kinds = [(graph, model) for graph in options.graphs.split(",") for model in options.models.split(",")]
    if options.maximum:
        both = [
            ((graph, model, degree, PAPER_SIGMA), seed)
            for seed in range(options.seeds) for graph, model in kinds for degree in ("grande", MAXIMUM)
        ]  # fmt: skip
        measure(options, both)
        print_maximum(read_rows(options.csv))
        return
    first = [
        ((graph, model, "grande", f"{sigma:g}"), seed)
        for seed in range(min(TUNING_SEEDS, options.seeds)) for graph, model in kinds for sigma in SIGMAS
    ]  # fmt: skip
    measure(options, first)
    rows = read_rows(options.csv)
    chosen = {kind: best_sigma(rows, *kind) for kind in kinds}
    both = [
        ((*kind, *degree), seed)
        for seed in range(options.seeds) for kind in kinds for degree in (("centrality", ""), ("grande", chosen[kind]))
    ]  # fmt: skip
    measure(options, both)
    print_tables(read_rows(options.csv))


def measure(options: argparse.Namespace, wanted: list[tuple[Key, int]]) -> None:
    """Train what the CSV lacks, in several processes, a few seeds at a time."""
    done = {(*key_of(row), int(row["seed"])) for row in read_rows(options.csv)}
    missing: dict[Key, list[int]] = {}
    for key, seed in wanted:
        if (*key, seed) not in done:
            missing.setdefault(key, []).append(seed)
    chunks = [(key, seeds[a : a + 2]) for key, seeds in missing.items() for a in range(0, len(seeds), 2)]
    chunks.sort(key=lambda chunk: chunk[1][0])  # what is stopped early has the same seeds of everything
    with ProcessPoolExecutor(options.jobs) as pool:
        running = {pool.submit(train_seeds, options.folder, *chunk): chunk for chunk in chunks}
        for future in as_completed(running):
            key, seeds = running[future]
            append_rows(COLUMNS, [(*key, *scores) for scores in future.result()], options.csv)
            print(*key, f"seeds {seeds[0]} to {seeds[-1]}", file=sys.stderr, flush=True)


def train_seeds(folder: Path, key: Key, seeds: list[int]) -> list[tuple[int, str, str]]:
    """Seed, validation and test accuracy of each training, in a process with one thread."""
    import torch

    from grande_gnn.experiments.split_graphs import evaluate_split, load_split_graph

    torch.set_num_threads(1)
    graph, model, degree, sigma = key
    data = load_split_graph(folder / f"{graph}.npz")
    sigmas = (float(sigma or 1),)
    found = []
    for seed in seeds:
        kind = partial(degree_through_maximum, sigma=sigmas[0]) if degree == MAXIMUM else degree
        scores = evaluate_split(data, model, kind, sigmas, seeds=1, random_state=seed, device="cpu")
        found.append((seed, f"{scores.validation[0]:.2f}", f"{scores.test[0]:.2f}"))
    return found


def degree_through_maximum(h: Tensor, graph: Graph, sigma: float) -> Tensor:
    """The GRaNDe degree with a gradient through max ρ too. Scaling h then changes nothing, as it changes no degree."""
    q, i = graph.edges(h.device)
    rho = (h[q] - h[i]).norm(dim=-1)
    count = h.new_tensor(graph.degree)
    penalty = ((rho / rho.max()).square() / sigma).exp()
    return count + count.new_zeros(len(count)).index_add(0, q, penalty) / count


def best_sigma(rows: list[dict[str, str]], graph: str, model: str) -> str:
    """The σ with the best mean validation accuracy over the first seeds; the smaller one of equals."""
    return max(
        (f"{sigma:g}" for sigma in SIGMAS),
        key=lambda sigma: mean(
            [
                float(row["validation"])
                for row in rows
                if key_of(row) == (graph, model, "grande", sigma) and int(row["seed"]) < TUNING_SEEDS
            ]
        ),
    )


def print_tables(rows: list[dict[str, str]]) -> None:
    print_table(rows)
    print_maximum(rows)


def print_table(rows: list[dict[str, str]]) -> None:
    """A table in Markdown; published accuracies beside ours."""
    from grande_gnn.experiments.split_graphs import PUBLISHED
    from grande_gnn.experiments.statistics import interval_over_folds, paired_interval

    rows = [row for row in rows if has_both(rows, row)]
    print("| graph | model | published | degree centrality | GRaNDe | σ | paired difference, 95 % | seeds |")
    print("|---|---|---|---|---|---|---|---|")
    for graph, model in dict.fromkeys((row["graph"], row["model"]) for row in rows):
        sigma = best_sigma(rows, graph, model)
        scores = [
            {int(row["seed"]): float(row["test"]) for row in rows if key_of(row) == (graph, model, *degree)}
            for degree in (("centrality", ""), ("grande", sigma))
        ]
        seeds = sorted(scores[0].keys() & scores[1].keys())
        plain, ours = ([each[seed] for seed in seeds] for each in scores)
        shown = [
            f"{mean(each):.2f} ± {interval_over_folds(each).high - mean(each):.2f}" for each in (plain, ours)
        ]
        difference = paired_interval(ours, plain)
        print(
            f"| {graph} | {model} | {PUBLISHED[model].accuracy.get(graph, '–')} | {shown[0]} | {shown[1]} | {sigma} "
            f"| {difference[0]:+.2f} [{difference[1]:+.2f}, {difference[2]:+.2f}] | {len(seeds)} |"
        )  # fmt: skip


def print_maximum(rows: list[dict[str, str]]) -> None:
    """What the constant in the gradient does, in Markdown."""
    from grande_gnn.experiments.statistics import paired_interval

    if not any(row["degree"] == MAXIMUM for row in rows):
        return
    print(
        f"\n| graph | model | σ = {PAPER_SIGMA} | the maximum differentiated | paired difference, 95 % | seeds |"
    )
    print("|---|---|---|---|---|---|")
    for graph, model in dict.fromkeys((r["graph"], r["model"]) for r in rows if r["degree"] == MAXIMUM):
        scores = [
            {
                int(r["seed"]): float(r["test"])
                for r in rows if key_of(r) == (graph, model, degree, PAPER_SIGMA)
            }
            for degree in ("grande", MAXIMUM)
        ]  # fmt: skip
        seeds = sorted(scores[0].keys() & scores[1].keys())
        fixed, whole = ([each[seed] for seed in seeds] for each in scores)
        difference = paired_interval(whole, fixed)
        print(
            f"| {graph} | {model} | {mean(fixed):.2f} | {mean(whole):.2f} | {difference[0]:+.2f} "
            f"[{difference[1]:+.2f}, {difference[2]:+.2f}] | {len(seeds)} |"
        )


def has_both(rows: list[dict[str, str]], row: dict[str, str]) -> bool:
    """Whether both degrees of this graph and model have been measured."""
    same = [
        other["degree"] for other in rows if (other["graph"], other["model"]) == (row["graph"], row["model"])
    ]
    return {"centrality", "grande"} <= set(same)


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("-inf")


def key_of(row: dict[str, str]) -> Key:
    return row["graph"], row["model"], row["degree"], row["sigma"]


if __name__ == "__main__":
    main()
