"""What a table is made from: the plan, the data and the rows, with the lookups every table needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from grande_gnn.experiments.datasets import DATASETS, FeatureSet, LoadedSet
from grande_gnn.experiments.paper import paper_features, paper_row
from grande_gnn.experiments.rows import Row
from grande_gnn.experiments.scores import Scores, collect
from grande_gnn.experiments.trials import Plan, Trial

__all__ = ["Evidence"]

_PAPER_SETTINGS = ("graph", "n_neighbors", "normalize", "folds", "repeats", "epochs", "lr")


@dataclass(frozen=True)
class Evidence:
    """Plan, loaded data and finished rows; ``beside`` sets features against a column of the paper by hand."""

    plan: Plan
    sets: Mapping[FeatureSet, LoadedSet]
    finished: Mapping[Trial, Row]
    failed: Mapping[Trial, Row] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)

    def scores(self, trials: Iterable[Trial]) -> Scores | None:
        """The scores of trials that differ in repetition and fold only."""
        return collect(self.finished, trials)

    def paper_row(self, number: int, source: FeatureSet, **where: str) -> Mapping[str, str] | None:
        """The paper's row of these features, None where the dataset or the features are others."""
        if self.sets[source].paper is None:
            return None
        column = self.beside.get(source.features) or paper_features(source.features)
        return paper_row(number, source.dataset, column, **where)

    def title(self, source: FeatureSet) -> str:
        """The dataset as the paper writes it, or the folder's name with a star for a custom one."""
        return DATASETS[source.dataset].title if self.sets[source].paper else f"{source.dataset}*"

    def notes(self) -> list[str]:
        """What every reader must know: other settings, other data, failures."""
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
            f"{ours} features stand beside the paper's {theirs} column by request; they are not the same features."
            for ours, theirs in self.beside.items()
            if ours in used
        ]
        errors = {(row.trial.system, row.error) for row in self.failed.values()}
        return notes + [f"Failed: {system}: {error}" for system, error in sorted(errors, key=str)]
