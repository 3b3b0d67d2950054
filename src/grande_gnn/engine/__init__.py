"""The replica engine: many trainings that share features and graph, at once."""

from grande_gnn.engine.replica import DegreeFunction, DegreeSpec, Outcome, Replica, Settings
from grande_gnn.engine.training import resolve_device, train

__all__ = ["DegreeFunction", "DegreeSpec", "Outcome", "Replica", "Settings", "resolve_device", "train"]
