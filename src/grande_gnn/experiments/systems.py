"""The compared systems as trials: a thin bridge to the registry of ``grande_gnn.baselines``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.experiments.plan import Plan, Trial

__all__ = ["all_systems", "available", "make_system", "models_of", "system_trials", "title_of"]


def all_systems() -> tuple[str, ...]:
    """The systems that run from features, in the paper's order, ours and the unpublished ones last."""
    from grande_gnn.baselines import SYSTEMS

    return tuple(name for name, entry in SYSTEMS.items() if not entry.needs_images and _exists(entry.module))


def _exists(module: str) -> bool:
    return find_spec(f"grande_gnn.baselines.{module}") is not None


def available(plan: Plan, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that exist and, where the plan names systems, are among them."""
    from grande_gnn.baselines import find_system

    wanted = [find_system(name).name for name in plan.systems]
    return [name for name in names if name in all_systems() and (not wanted or name in wanted)]


def models_of(name: str) -> tuple[str, ...]:
    """The graph networks a system runs with."""
    from grande_gnn.baselines import find_system

    return find_system(name).models


def title_of(name: str) -> str:
    """The system's name as the paper prints it."""
    from grande_gnn.baselines import find_system

    return find_system(name).paper_column or name


def system_trials(
    plan: Plan, source: FeatureSet, name: str, *, model: str | None = None, hidden: int | None = None
) -> Iterator[Trial]:
    """A system's trials; one without chance gives the same answer every time and runs once a fold."""
    random = "random_state" in make_system(name).get_params()
    for repetition in range(plan.repeats if random else 1):
        for fold in range(plan.folds):
            yield Trial(
                dataset=source.dataset,
                features=source.features,
                system=name,
                model=model,
                hidden=hidden,
                lr=(plan.lr or source.lr) if model else None,
                epochs=plan.epochs if model else None,
                folds=plan.folds,
                fold=fold,
                repetition=repetition,
                seed=plan.seed,
                normalize=plan.normalize,
            )


def make_system(name: str, **params: Any) -> Any:
    """A system with those of ``params`` it knows."""
    from grande_gnn.baselines import find_system

    entry = find_system(name)
    known = entry.make().get_params()
    return entry.make(**{key: value for key, value in params.items() if key in known and value is not None})
