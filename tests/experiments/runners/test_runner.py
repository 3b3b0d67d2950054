"""Runners by name."""

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.runners import make_runner
from grande_gnn.experiments.runners.local import LocalRunner
from grande_gnn.experiments.runners.ray_tasks import RayRunner


def test_a_runner_is_made_by_name():
    assert make_runner("local", device="cpu", jobs=3) == LocalRunner("cpu", 3)
    assert make_runner("ray", device="auto", address="host:1") == RayRunner("host:1", "cpu")
    assert make_runner("ray", device="cuda").cuda
    assert not make_runner(device="cpu").cuda
    with pytest.raises(InvalidInputError, match="one of local, ray; got 'slurm'"):
        make_runner("slurm")
