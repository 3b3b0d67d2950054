"""What to train: one :class:`Replica` per training, :class:`Settings` for what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from grande_gnn.degree import Degree, Grande
from grande_gnn.engine.degrees import as_degree
from grande_gnn.engine.models import Model, as_model
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.internal.validation import check_choice, check_integer, check_real

__all__ = ["DegreeFunction", "DegreeSpec", "Outcome", "Replica", "Settings"]

DegreeFunction = Callable[[Tensor, Graph], Tensor]
"""Any differentiable function (h: n × c, graph) → degree of each node."""

DegreeSpec = Degree | str | float | DegreeFunction
"""A degree object, or what version 0.1 took: a registered name, a σ > 0 for the GRaNDe degree, a :data:`DegreeFunction`."""


@dataclass(frozen=True)
class Settings:
    """What all replicas of one call share. The defaults are the authors' (``docs/deviations.md``)."""

    model: str | Model | Callable[..., Any] = "appnp"  # a registered name, a model object, or an nn.Module
    n_hops: int | None = None  # None: the model's own; 2 for SGC, 10 for APPNP
    alpha: float = 0.1  # return probability of APPNP; SGC has none
    dropout: float = 0.5  # on the input and the hidden layer of APPNP; SGC has none
    weight_decay: float = 5e-4  # on all parameters, biases too
    epochs: int = 200  # the last one is kept, or with patience the one with the lowest validation loss
    lr: float = 1e-3  # 1e-2 on CUB200
    detach: bool = False  # True stops the gradient at the degree
    device: str = "auto"  # CUDA if there is a GPU
    precision: str = "tf32"  # of CUDA's products; "highest" is float32, "half" keeps large arrays in float16
    memory_limit: int | None = None  # bytes; None: most of what is free
    seed: int = 0
    patience: int | None = None  # None: no early stopping; see early_stopping.py
    best_epoch: bool = True  # with patience: keep the epoch of the lowest validation loss, or else the last

    def __post_init__(self) -> None:
        as_model(self.model)
        if self.n_hops is not None:
            check_integer(self.n_hops, name="n_hops", low=0)
        check_real(self.alpha, name="alpha", low=0.0, high=1.0)
        if not 0 <= check_real(self.dropout, name="dropout") < 1:
            raise InvalidInputError(f"dropout must be a probability in [0, 1); got {self.dropout!r}")
        check_real(self.weight_decay, name="weight_decay", low=0.0)
        check_integer(self.epochs, name="epochs", low=0)
        if self.patience is not None:
            check_integer(self.patience, name="patience", low=1)
        check_real(self.lr, name="lr", low=0.0, open_low=True)
        check_choice(str(self.device).split(":")[0], ("auto", "cpu", "cuda"), name="device")
        check_choice(self.precision, ("tf32", "highest", "half"), name="precision")
        if self.memory_limit is not None:
            check_integer(self.memory_limit, name="memory_limit", low=1)
        check_integer(self.seed, name="seed", low=0)

    @property
    def kind(self) -> Model:
        """The model as an object."""
        return as_model(self.model)

    @property
    def hops(self) -> int:
        """K, with the model's own default."""
        return self.kind.hops(self.n_hops)

    @property
    def teleport(self) -> float:
        """α of the propagation; 0 for a model without return."""
        return self.kind.teleport(self.alpha)

    @property
    def drop(self) -> float:
        """Dropout of the head; 0 for a model without dropout."""
        return self.kind.drop(self.dropout)


@dataclass(frozen=True, eq=False)
class Replica:
    """One training: which samples are labelled, with which degree, from which random numbers.

    ``labels`` holds one class code per sample, −1 where it is unknown; ``label_weights`` says how much each label counts
    in the loss, compared with the other labels of this replica; ``validation`` are labels that only decide when to stop
    (:attr:`Settings.patience`). Initial weights depend on
    (seed, repetition, fold); dropout on (seed, repetition, epoch), so that degrees and values of σ of one fold
    and repetition are compared on common random numbers.
    """

    labels: NDArray[np.int64]
    degree: Degree = Grande()  # version 0.1's encodings are converted  # noqa: RUF009  # it is immutable
    repetition: int = 0
    fold: int = 0
    hidden: int | None = 256  # None: one linear layer; SGC is always linear
    label_weights: NDArray[np.float64] | None = None  # one per sample; None: all labels count the same
    validation: NDArray[np.int64] | None = None  # class codes for early stopping, −1 elsewhere

    if TYPE_CHECKING:  # for one version the constructor takes more than the attribute holds

        def __init__(
            self,
            labels: NDArray[np.int64],
            degree: DegreeSpec = ...,
            repetition: int = 0,
            fold: int = 0,
            hidden: int | None = 256,
            label_weights: NDArray[np.float64] | None = None,
            validation: NDArray[np.int64] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: Any = self.degree
        known = isinstance(given, str) or callable(given)
        object.__setattr__(self, "degree", as_degree(given) if known else Grande(given))
        check_integer(self.repetition, name="repetition")
        check_integer(self.fold, name="fold")
        if self.hidden is not None:
            check_integer(self.hidden, name="hidden", low=1)

    def width(self, settings: Settings) -> int | None:
        """Units of the hidden layer of a training with these settings; ``None`` if it has one linear layer."""
        return settings.kind.width(self.hidden)

    def precomputes(self, settings: Settings) -> bool:
        """Whether the features are diffused once, before a training with these settings."""
        return settings.kind.precomputes(self.degree)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one training; all but the predictions only with ``keep_models``."""

    predictions: NDArray[np.int64]
    logits: NDArray[np.float32] | None = None
    head_output: NDArray[np.float32] | None = None  # H⁽⁰⁾, or the logits if features were diffused once
    degree: NDArray[np.float32] | None = None
    parameters: dict[str, NDArray[np.float32]] | None = None  # of a plain model: its state_dict
