"""What to measure: a plan unfolds into trials, and trials are packed into batches.

A *trial* is one training measured on its test samples: one row of the result file. Trials that share features
and model are trained together in a *batch*; a replica's result does not depend on its company, so how they
are packed changes the speed and never the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product, zip_longest

from grande_gnn.classifier.normalizer import NORMALIZATIONS
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.datasets import FeatureSet
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
]

SIGMAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The paper's grid."""

DEFAULT_SIGMA = 0.2
"""The paper's default."""

CENTRALITY = "centrality"
"""The system that is degree centrality on the plan's own graph."""

GRANDE = "grande"
"""The system that is the GRaNDe degree on the plan's own graph; others are in ``grande_gnn.baselines``."""


DataName = tuple[str, str]
"""(dataset, features): which features file."""

Kind = tuple[str, str, str, str]
"""(dataset, features, graph, model and width) of what the engine trains, (dataset, features, system, "") else."""


@dataclass(frozen=True)
class Trial:
    """One training to be measured; equal trials are the same experiment and are run once.

    With ``inner`` the fold's labelled samples are cut again in ``inner_folds`` parts: all but part ``inner``
    train, and that part alone is the test: how σ is picked without looking at the test samples.
    """

    dataset: str
    features: str
    system: str
    folds: int
    fold: int
    repetition: int
    seed: int
    normalize: str = "none"
    model: str | None = None
    sigma: float | None = None
    hidden: int | None = None
    graph: str | None = None
    n_neighbors: int | None = None
    lr: float | None = None
    epochs: int | None = None
    inner_folds: int | None = None
    inner: int | None = None

    @property
    def uses_engine(self) -> bool:
        """Whether it is a graph, a degree and a network, which the engine trains many of at once."""
        return self.model is not None

    @property
    def data(self) -> DataName:
        """The features file it is trained on."""
        return self.dataset, self.features

    @property
    def kind(self) -> Kind:
        """What the cost of a trial depends on: trials of one kind can be trained together."""
        network = f"{self.model} {self.hidden}" if self.uses_engine else ""
        return *self.data, self.graph or self.system, network


@dataclass(frozen=True)
class Batch:
    """Trials of one kind that are trained together, and lost together when a run is killed."""

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
    """What the tables and figures have in common. The defaults are the paper's settings."""

    data: tuple[FeatureSet, ...]
    models: tuple[str, ...] = ("appnp", "sgc")
    sigmas: tuple[float, ...] = SIGMAS
    sigma: float = DEFAULT_SIGMA
    widths: tuple[int, ...] = (256,)
    graph: str = "reciprocal"
    n_neighbors: int = 40
    normalize: str = "none"
    folds: int = 10
    repeats: int = 5
    inner_folds: int = 3
    """Parts of the labelled samples for the honest choice of σ; 0 leaves it out. Three keep two thirds of the
    few labels for training and cost 3 · |σ| trainings a fold, in one repetition."""
    uncut: frozenset[DataName] = frozenset()
    """Features whose folds have too few labels for ``inner_folds`` parts: they go without the honest σ."""
    seed: int = 0
    epochs: int = 200
    lr: float | None = None
    """None: the paper's for each dataset."""
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
                "inner_folds must be 0, to leave the honest choice of σ out, or at least 2, because the one part held "
                "out would leave nothing to train on; got 1"
            )
        for model in self.models:
            check_choice(model, ("appnp", "sgc"), name="model")
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
    ) -> Iterator[Trial]:
        """The trials of one model on one features file; a σ of None means degree centrality.

        ``system`` and ``graph`` name what it is when it is neither degree on the plan's graph.
        """
        # SGC has no hidden layer, so that its width is no part of what it is.
        hiddens = (None,) if model == "sgc" else tuple(widths or self.widths)
        for repetition, fold, hidden, sigma in product(
            range(self.repeats), range(self.folds), hiddens, tuple(sigmas)
        ):
            yield Trial(
                dataset=source.dataset,
                features=source.features,
                system=system or (CENTRALITY if sigma is None else GRANDE),
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
            )

    def inner_trials(self, outer: Iterable[Trial]) -> Iterator[Trial]:
        """For each GRaNDe trial of the first repetition, its trainings inside the labelled fold."""
        for trial in outer:
            if trial.repetition == 0 and trial.sigma is not None and trial.data not in self.uncut:
                for inner in range(self.inner_folds):
                    yield replace(trial, inner_folds=self.inner_folds, inner=inner)


def pack(trials: Iterable[Trial], size: Callable[[Trial], int], weight: Mapping[Kind, float]) -> list[Batch]:
    """Pack trials of one kind into batches of at most ``size(trial)``; the kinds take turns, the light first.

    Having seen each kind early, a run can say how long the whole will take.
    """
    kinds: dict[Kind, list[Trial]] = {}
    for trial in trials:
        kinds.setdefault(trial.kind, []).append(trial)
    queues = []
    for kind in sorted(kinds, key=lambda kind: weight[kind]):
        members, step = kinds[kind], size(kinds[kind][0])
        queues.append([Batch(tuple(members[i : i + step])) for i in range(0, len(members), step)])
    return [batch for turn in zip_longest(*queues) for batch in turn if batch]
