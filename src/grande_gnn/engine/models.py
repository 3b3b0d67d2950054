"""The models by name: each is an object that says how it uses the settings that all models share.

    APPNP  Z = H⁽ᴷ⁾,  H⁽ᵏ⁾ = (1 − α) Â H⁽ᵏ⁻¹⁾ + α H⁽⁰⁾,  H⁽⁰⁾ = MLP(X)             K = 10
    SGC    Z = Â^K (X W + b); with a degree that ignores the output Z = Â^K X W + b     K = 2

Both belong to one family, *diffusion models*: a head, a degree from the head's output, K linear hops; the engine has fast
passes for it (``cpu/``, ``cuda/``). Any other network is a :class:`PlainModel`, trained by autograd (``plain.py``); those
of the package are in ``gnns/``.

Importing this module does not import torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grande_gnn.degree import Degree

__all__ = ["APPNP", "MODELS", "SGC", "Model", "PlainModel", "as_model", "register_model"]


class Model:
    """A model of the registry; its methods say how a training uses the common settings."""

    name: str
    title: str  # how tables and figures print it
    summary: str  # one line for --help
    is_diffusion: bool = False  # a head, a degree and K hops, for which the engine has fast passes

    def hops(self, n_hops: int | None) -> int:
        """K; ``None`` means the model's own default."""
        return n_hops or 0

    def teleport(self, alpha: float) -> float:
        """α of the propagation; 0 means no return to H⁽⁰⁾."""
        return alpha

    def drop(self, dropout: float) -> float:
        """The probability of dropout in the head."""
        return dropout

    def width(self, hidden: int | None) -> int | None:
        """Units of the hidden layer; ``None`` if there is one linear layer."""
        return hidden

    def precomputes(self, degree: Degree) -> bool:
        """Whether the features can be diffused once, before the training; the bias is then added after the hops."""
        return False

    def parameter_shapes(self, d: int, hidden: int | None, c: int) -> dict[str, tuple[int, ...]]:
        """Name and shape of every parameter, for d features and c classes."""
        width = self.width(hidden)
        if width is None:
            return {"weight": (d, c), "bias": (c,)}
        return {"weight1": (d, width), "bias1": (width,), "weight2": (width, c), "bias2": (c,)}


@dataclass(frozen=True)
class APPNP(Model):
    """Predict, then propagate with a return to the prediction (Gasteiger et al., 2019)."""

    name: str = "appnp"
    title: str = "APPNP"
    summary: str = "two layers, then 10 hops that return to their output"
    n_hops: int = 10  # the authors' K: the benchmark settings of PyTorch Geometric
    is_diffusion = True

    def hops(self, n_hops: int | None) -> int:
        return self.n_hops if n_hops is None else n_hops


@dataclass(frozen=True)
class SGC(Model):
    """One linear layer and K hops: no hidden layer, no return, no dropout (Wu et al., 2019)."""

    name: str = "sgc"
    title: str = "SGC"
    summary: str = "one linear layer and 2 hops"
    n_hops: int = 2  # the authors' K: the benchmark settings of PyTorch Geometric
    is_diffusion = True

    def hops(self, n_hops: int | None) -> int:
        return self.n_hops if n_hops is None else n_hops

    def teleport(self, alpha: float) -> float:
        return 0.0

    def drop(self, dropout: float) -> float:
        return 0.0

    def width(self, hidden: int | None) -> None:
        return None

    def precomputes(self, degree: Degree) -> bool:
        return not degree.depends_on_output


@dataclass(frozen=True)
class PlainModel(Model):
    """Any ``torch.nn.Module`` whose ``forward(X, graph, degree)`` returns logits, trained by autograd.

    ``build`` is the module's class, a function that returns a module, or a module that is copied and reset for each
    training; :mod:`grande_gnn.engine.plain` says how it is called.
    """

    name: str
    build: Callable[..., Any]
    title: str = ""
    summary: str = "a network trained by autograd"

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)

    def parameter_shapes(self, d: int, hidden: int | None, c: int) -> dict[str, tuple[int, ...]]:
        """Name and shape of everything in the ``state_dict`` of a new module."""
        from grande_gnn.engine.plain import module_shapes

        return module_shapes(self, d, hidden, c)


@dataclass(frozen=True)
class InPackage:
    """A module class of ``engine/gnns/`` that is imported when it is first needed, because it needs torch."""

    module: str
    name: str

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.load()(*args, **options)

    def load(self) -> Any:
        """The class itself."""
        return getattr(import_module(f"grande_gnn.engine.gnns.{self.module}"), self.name)

    @property
    def __signature__(self) -> inspect.Signature:  # read by inspect.signature
        return inspect.signature(self.load())


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        APPNP(),
        SGC(),
        PlainModel("gcn", InPackage("gcn", "GCN"), "GCN", "two graph convolutions"),
        PlainModel(
            "gprgnn",
            InPackage("gprgnn", "GPRGNN"),
            "GPR-GNN",
            "two layers, then 10 hops with learned weights",
        ),
        PlainModel(
            "ppr",
            InPackage("exact_ppr", "ExactPPR"),
            "PPR",
            "two layers, then personalized PageRank to convergence",
        ),
        PlainModel("gat", InPackage("gat", "GAT"), "GAT", "two layers of attention to the neighbors"),
        PlainModel(
            "sage",
            InPackage("sage", "SAGE"),
            "GraphSAGE",
            "two layers: the sample and the mean of its neighbors",
        ),
    )
}
"""The models by name, in the order in which they are offered."""


def register_model(model: Model) -> None:
    """Register a model under ``model.name``; an earlier model of this name is replaced."""
    MODELS[model.name] = model


def as_model(model: str | Model | Callable[..., Any]) -> Model:
    """The model object for a registered name, a model object, or an ``nn.Module`` (class, factory or instance).

    >>> as_model("sgc").hops(None)
    2
    """
    from grande_gnn.internal.validation import check_choice

    if isinstance(model, Model):
        return model
    if callable(model):
        return PlainModel(getattr(model, "__name__", type(model).__name__), model)
    return MODELS[check_choice(model, MODELS, name="model")]
