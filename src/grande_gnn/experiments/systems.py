"""The compared systems as trials: a thin bridge to the registry of ``grande_gnn.baselines``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.baselines import SYSTEMS, find_system
from grande_gnn.baselines.graph_networks import BUILDERS
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.trials import GRANDE, Plan, Trial
from grande_gnn.graph import Graph, build_graph

__all__ = ["FEATURE_SYSTEMS", "chosen", "graph_of", "make_system", "system_trials", "title_of"]

FEATURE_SYSTEMS = tuple(name for name, entry in SYSTEMS.items() if not entry.needs_images)
"""The systems that run from features, in the paper's order, ours and the unpublished ones last."""


def chosen(plan: Plan, names: Iterable[str] = FEATURE_SYSTEMS) -> list[str]:
    """Those of ``names`` the plan asks for: all, unless it names some."""
    wanted = [find_system(name).name for name in plan.systems]
    return [name for name in names if name in (wanted or names)]


def title_of(name: str) -> str:
    """The system's name as the paper prints it."""
    return find_system(name).paper_column or name


def graph_of(name: str, X: NDArray[np.float32], n_neighbors: int, device: str) -> Graph:
    """The graph of that name, a system's own or a plain one."""
    build = BUILDERS.get(name)
    return build(X, n_neighbors, device=device) if build else build_graph(name, X, n_neighbors, device=device)


def system_trials(
    plan: Plan, source: FeatureSet, name: str, *, model: str | None = None, width: int = 256
) -> Iterator[Trial]:
    """A system's trials; those that are a graph, a degree and a network go through the engine."""
    options = find_system(name).options
    if model is not None:
        sigma = plan.sigma if options["degree"] == "grande" else None
        graph = plan.graph if name == GRANDE else options["graph"]
        yield from plan.engine_trials(source, model, [sigma], [width], system=name, graph=graph)
        return
    # One without chance gives the same answer every time and runs once a fold.
    random = "random_state" in make_system(name).get_params()
    for repetition in range(plan.repeats if random else 1):
        for fold in range(plan.folds):
            yield Trial(
                dataset=source.dataset,
                features=source.features,
                system=name,
                folds=plan.folds,
                fold=fold,
                repetition=repetition,
                seed=plan.seed,
                normalize=plan.normalize,
            )


def make_system(name: str, **params: Any) -> Any:
    """A system with those of ``params`` it knows."""
    entry = find_system(name)
    known = entry.make().get_params()
    return entry.make(**{key: value for key, value in params.items() if key in known})
