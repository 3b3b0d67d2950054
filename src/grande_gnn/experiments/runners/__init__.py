"""Where batches are trained."""

from grande_gnn.experiments.runners.runner import OnProgress, Runner, SharedDatas, make_runner

__all__ = ["OnProgress", "Runner", "SharedDatas", "make_runner"]
