"""The replica engine: many trainings that share features and graph, at once."""

from grande_gnn.engine.replica import DegreeFunction, DegreeSpec, Outcome, Replica, Settings
from grande_gnn.engine.training import train
from grande_gnn.internal.device import resolve_device

__all__ = ["DegreeFunction", "DegreeSpec", "Outcome", "Replica", "Settings", "resolve_device", "train"]
