"""The inputs of tables and figures: the plan, the data and the rows, with the lookups that all of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path

from grande_gnn.experiments.datasets import DATASETS, FeatureSet, LoadedSet
from grande_gnn.experiments.forecast import Forecast
from grande_gnn.experiments.paper import paper_features, paper_row
from grande_gnn.experiments.rows import Row, RowStore
from grande_gnn.experiments.runners import Runner
from grande_gnn.experiments.schedule import run
from grande_gnn.experiments.statistics import Scores, collect
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["Results", "Watching", "gather"]

Watching = Callable[[int, int], AbstractContextManager[Callable[[Forecast], object]]]
"""Called with the number of all trials and of those finished before. It returns a context manager that yields a function, to
which the run passes its forecast."""

_PAPER_SETTINGS = ("graph", "n_neighbors", "normalize", "folds", "repeats", "epochs", "lr")


@dataclass(frozen=True)
class Results:
    """Plan, loaded data and finished rows."""

    plan: Plan
    sets: Mapping[FeatureSet, LoadedSet]
    finished: Mapping[Trial, Row]
    failed: Mapping[Trial, Row] = field(default_factory=dict)
    compared_with: Mapping[str, str] = field(default_factory=dict)
    """Features → the column of the paper that they are compared with, although they are not the same features."""

    def scores(self, trials: Iterable[Trial]) -> Scores | None:
        """The scores of trials that differ in repetition and fold only."""
        return collect(self.finished, trials)

    def paper_row(self, number: int, source: FeatureSet, **where: str) -> Mapping[str, str] | None:
        """The paper's row for these features; None if the paper does not have the dataset or the features."""
        if self.sets[source].paper is None:
            return None
        column = self.compared_with.get(source.features) or paper_features(source.features)
        return paper_row(number, source.dataset, column, **where)

    def title(self, source: FeatureSet) -> str:
        """The dataset as the paper writes it, or the folder's name with a star for a custom one."""
        return DATASETS[source.dataset].title if self.sets[source].paper else f"{source.dataset}*"

    def notes(self) -> list[str]:
        """Notes for the reader: settings and data that differ from the paper's, and failures."""
        default = {field.name: field.default for field in fields(Plan)}
        changed = [
            f"{name} = {getattr(self.plan, name)} (the paper's: {default[name] or '0.001, CUB200 0.01'})"
            for name in _PAPER_SETTINGS
            if getattr(self.plan, name) != default[name]
        ]
        notes = [f"Settings other than the paper's: {'; '.join(changed)}."] if changed else []
        if any(loaded.paper is None for loaded in self.sets.values()):
            notes.append("* a custom dataset: not one of the paper's, or another edition of it.")
        notes += [f"{loaded.note}." for loaded in self.sets.values() if loaded.note]
        used = {source.features for source, loaded in self.sets.items() if loaded.paper}
        notes += [
            f"{ours} features are compared with the paper's {theirs} column by request; they are not the same features."
            for ours, theirs in self.compared_with.items()
            if ours in used
        ]
        errors = {(row.trial.system, row.error) for row in self.failed.values()}
        return notes + [f"Failed: {system}: {error}" for system, error in sorted(errors, key=str)]


def _unwatched(total: int, known: int) -> AbstractContextManager[Callable[[Forecast], object]]:
    return nullcontext(lambda forecast: None)


def gather(
    plan: Plan,
    trials: Iterable[Trial],
    sets: Mapping[FeatureSet, LoadedSet],
    folder: Path,
    runner: Runner,
    *,
    compared_with: Mapping[str, str] | None = None,
    watching: Watching = _unwatched,
) -> Results:
    """Run the trials that ``folder/rows.jsonl`` does not have yet and return the results of all."""
    wanted = list(dict.fromkeys(trials))
    with RowStore(folder / "rows.jsonl") as store:
        known = sum(trial in store.finished for trial in wanted)
        with watching(len(wanted), known) as watch:
            run(plan, wanted, sets, store, runner, watch=watch)
        failed = {trial: store.failed[trial] for trial in wanted if trial in store.failed}
        return Results(plan, sets, store.finished, failed, compared_with or {})
