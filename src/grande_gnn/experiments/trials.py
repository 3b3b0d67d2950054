"""What is measured: a plan is expanded into trials, and trials are packed into batches.

A *trial* is one training that is measured on its test samples: one row of the result file. Trials that share features and
model are trained together in a *batch*. The result of a training does not depend on the others in its batch, so packing
changes the speed but never the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Any

from grande_gnn.baselines import SYSTEMS, find_system
from grande_gnn.classifier.normalizer import NORMALIZATIONS
from grande_gnn.engine import MODELS, Degree, as_degree, as_model
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import FeatureSet
from grande_gnn.graph import GRAPHS
from grande_gnn.internal.validation import check_choice, check_integer, check_real, check_sigma

__all__ = [
    "CENTRALITY",
    "DEFAULT_SIGMA",
    "GRANDE",
    "SIGMAS",
    "Batch",
    "DataName",
    "Kind",
    "Plan",
    "Trial",
    "pack",
    "paper_degree",
]

SIGMAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The paper's grid."""

DEFAULT_SIGMA = 0.2
"""The paper's default."""

CENTRALITY = "centrality"
"""The name of the system with degree centrality on the plan's own graph."""

GRANDE = "grande"
"""The name of the system with the GRaNDe degree on the plan's own graph; other systems are in ``grande_gnn.baselines``."""

DataName = tuple[str, str]
"""(dataset, features): the name of a features file."""

Kind = tuple[str, str, str, str]
"""(dataset, features, graph, model and width) for trainings of the engine, (dataset, features, system, "") for others."""


def paper_degree(sigma: float | None) -> Degree:
    """The degree that the σ of a trial stands for: GRaNDe, or degree centrality if σ is None."""
    return as_degree(CENTRALITY) if sigma is None else as_degree(GRANDE, sigma)


@dataclass(frozen=True)
class Trial:
    """One training to be measured; equal trials are the same experiment and are run once.

    With ``inner``, the fold's labelled samples are split again into ``inner_folds`` parts: part ``inner`` is tested, and the
    others are trained on. In this way, σ is chosen without using the test samples.
    """

    dataset: str
    features: str
    system: str
    folds: int
    fold: int
    repetition: int
    seed: int
    normalize: str = "none"
    model: Any = None
    """A name, if the trial is to be written to a file; a trial in memory may have a model object or an ``nn.Module``."""
    sigma: float | None = None
    """σ of the GRaNDe degree; None means degree centrality, unless ``degree`` is given."""
    hidden: int | None = None
    graph: str | None = None
    n_neighbors: int | None = None
    lr: float | None = None
    epochs: int | None = None
    inner_folds: int | None = None
    inner: int | None = None
    degree: str | Degree | None = None
    """A degree other than the two that σ selects: its registered name or, in memory, the degree itself."""
    options: tuple[tuple[str, Any], ...] = ()
    """Other parameters of the system or the training that differ from their defaults, sorted by name."""

    @property
    def uses_engine(self) -> bool:
        """Whether the system is a graph network, which the engine trains; it trains many at once."""
        return self.model is not None

    @property
    def data(self) -> DataName:
        """The features file it is trained on."""
        return self.dataset, self.features

    @property
    def kind(self) -> Kind:
        """Everything that the cost of a trial depends on; trials of one kind can be trained together."""
        network = f"{as_model(self.model).name} {self.hidden}" if self.uses_engine else ""
        return *self.data, self.graph or self.system, network

    @property
    def trained_with(self) -> Hashable:
        """Equal for trials that one call can train: everything but labels, degree and, in the engine, the repetition."""
        if self.uses_engine:
            return self.graph, self.model, self.hidden, self.lr, self.epochs, self.seed, self.options
        return self.system, self.seed, self.repetition, self.options

    @property
    def degree_object(self) -> Degree:
        """The degree it is trained with."""
        if self.degree is None:
            return paper_degree(self.sigma)
        return as_degree(self.degree, DEFAULT_SIGMA if self.sigma is None else self.sigma)


@dataclass(frozen=True)
class Batch:
    """Trials of one kind that are trained together, and lost together if a run is killed."""

    trials: tuple[Trial, ...]

    @property
    def kind(self) -> Kind:
        """The kind its trials share."""
        return self.trials[0].kind

    @property
    def data(self) -> DataName:
        """The features file its trials share."""
        return self.trials[0].data


@dataclass(frozen=True)
class Plan:
    """The settings that tables, figures and comparisons share. The defaults are those of the paper."""

    data: tuple[FeatureSet, ...]
    models: tuple[str, ...] = tuple(name for name, model in MODELS.items() if model.is_diffusion)
    sigmas: tuple[float, ...] = SIGMAS
    sigma: float = DEFAULT_SIGMA
    widths: tuple[int, ...] = (256,)
    graph: str = "reciprocal"
    n_neighbors: int = 40
    normalize: str = "none"
    folds: int = 10
    repeats: int = 5
    inner_folds: int = 3
    """Parts of the labelled samples for choosing σ by nested cross-validation; 0 leaves it out. Three parts keep two
    thirds of the few labels for training and cost 3 · |σ| trainings per fold, in one repetition."""
    cannot_split: frozenset[DataName] = frozenset()
    """Features files whose folds have too few labels for ``inner_folds`` parts; they get no nested-CV σ."""
    seed: int = 0
    epochs: int = 200
    lr: float | None = None
    """Learning rate; None: the paper's for each dataset."""
    systems: tuple[str, ...] = ()
    """Names from ``grande_gnn.baselines``; empty: all that table 2 or 3 of the paper has and that exist."""

    def __post_init__(self) -> None:
        for name, low in (
            ("folds", 2),
            ("repeats", 1),
            ("inner_folds", 0),
            ("epochs", 1),
            ("n_neighbors", 1),
        ):
            check_integer(getattr(self, name), name=name, low=low)
        if self.inner_folds == 1:
            raise InvalidInputError(
                "inner_folds must be 0, to leave out the nested choice of σ, or at least 2, because the one part held "
                "out would leave nothing to train on; got 1"
            )
        for model in self.models:
            as_model(model)
        check_choice(self.graph, GRAPHS, name="graph")
        check_choice(self.normalize, NORMALIZATIONS, name="normalize")
        for sigma in (self.sigma, *self.sigmas):
            check_sigma(sigma)
        if self.lr is not None:
            check_real(self.lr, name="lr", low=0, open_low=True)

    def engine_trials(
        self,
        source: FeatureSet,
        model: str,
        sigmas: Iterable[float | None],
        widths: Iterable[int] | None = None,
        *,
        system: str | None = None,
        graph: str | None = None,
        degree: str | None = None,
    ) -> Iterator[Trial]:
        """The trials of one model on one features file; a σ of None means degree centrality.

        ``system``, ``graph`` and ``degree`` are given for other systems than the two degrees on the plan's own graph.
        """
        # A model without a hidden layer has no width, so it is not trained once for each.
        hiddens = dict.fromkeys(as_model(model).width(width) for width in widths or self.widths)
        for repetition, fold, hidden, sigma in product(
            range(self.repeats), range(self.folds), hiddens, tuple(sigmas)
        ):
            yield Trial(
                dataset=source.dataset,
                features=source.features,
                system=system or paper_degree(sigma).name,
                model=model,
                sigma=sigma,
                hidden=hidden,
                graph=graph or self.graph,
                n_neighbors=self.n_neighbors,
                lr=self.lr or source.lr,
                epochs=self.epochs,
                folds=self.folds,
                fold=fold,
                repetition=repetition,
                seed=self.seed,
                normalize=self.normalize,
                degree=degree,
            )

    def inner_trials(self, outer: Iterable[Trial]) -> Iterator[Trial]:
        """For each GRaNDe trial of the first repetition, the trials of its nested cross-validation."""
        for trial in outer:
            if trial.repetition == 0 and trial.sigma is not None and trial.data not in self.cannot_split:
                for inner in range(self.inner_folds):
                    yield replace(trial, inner_folds=self.inner_folds, inner=inner)

    def chosen_systems(self, names: Sequence[str] | None = None) -> list[str]:
        """Those of ``names`` (default: all systems that run on features) that are in the plan."""
        if names is None:
            names = [name for name, entry in SYSTEMS.items() if not entry.needs_images]
        wanted = [find_system(name).name for name in self.systems]
        return [name for name in names if name in (wanted or names)]

    def system_trials(
        self,
        source: FeatureSet,
        name: str,
        *,
        model: str | None = None,
        width: int = 256,
        options: tuple[tuple[str, Any], ...] = (),
    ) -> Iterator[Trial]:
        """The trials of a system; those of a graph network are trained by the engine.

        ``options`` are the parameters of a system that is not trained by the engine.
        """
        entry = find_system(name)
        if model is not None:
            degree = as_degree(entry.degree, self.sigma)
            other = None if degree == paper_degree(degree.sigma) else entry.degree
            yield from self.engine_trials(
                source, model, [degree.sigma], [width], system=name, graph=entry.graph, degree=other
            )
            return
        # A system that draws no random numbers gives the same result every time and runs once per fold.
        for repetition in range(self.repeats if entry.is_random else 1):
            for fold in range(self.folds):
                yield Trial(
                    dataset=source.dataset,
                    features=source.features,
                    system=name,
                    folds=self.folds,
                    fold=fold,
                    repetition=repetition,
                    seed=self.seed,
                    normalize=self.normalize,
                    options=options,
                )


def pack(trials: Iterable[Trial], size: Callable[[Trial], int], weight: Mapping[Kind, float]) -> list[Batch]:
    """Pack trials of one kind into batches of at most ``size(trial)``; the kinds take turns, the cheapest first.

    As soon as each kind has been trained once, the total time of the run can be forecast.
    """
    kinds: dict[Kind, list[Trial]] = {}
    for trial in trials:
        kinds.setdefault(trial.kind, []).append(trial)
    queues = []
    for kind in sorted(kinds, key=lambda kind: weight[kind]):
        members, step = kinds[kind], size(kinds[kind][0])
        queues.append([Batch(tuple(members[i : i + step])) for i in range(0, len(members), step)])
    return [batch for turn in zip_longest(*queues) for batch in turn if batch]
