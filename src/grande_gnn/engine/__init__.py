"""The replica engine: many trainings that share features and graph, at once.

Names are imported when they are first used, so that the registries of models and degrees can be read without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "DEGREES": "grande_gnn.engine.degrees",
    "as_degree": "grande_gnn.engine.degrees",
    "register_degree": "grande_gnn.engine.degrees",
    "MODELS": "grande_gnn.engine.models",
    "as_model": "grande_gnn.engine.models",
    "register_model": "grande_gnn.engine.models",
    "Degree": "grande_gnn.degree",
    "DegreeFunction": "grande_gnn.engine.replica",
    "DegreeSpec": "grande_gnn.engine.replica",
    "Outcome": "grande_gnn.engine.replica",
    "Replica": "grande_gnn.engine.replica",
    "Settings": "grande_gnn.engine.replica",
    "train": "grande_gnn.engine.training",
    "resolve_device": "grande_gnn.internal.device",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from grande_gnn.degree import Degree
    from grande_gnn.engine.degrees import DEGREES, as_degree, register_degree
    from grande_gnn.engine.models import MODELS, as_model, register_model
    from grande_gnn.engine.replica import DegreeFunction, DegreeSpec, Outcome, Replica, Settings
    from grande_gnn.engine.training import train
    from grande_gnn.internal.device import resolve_device


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'grande_gnn.engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
