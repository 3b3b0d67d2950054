"""What the training loop asks about a device without CUDA, and that it asks the CUDA room nothing."""

import subprocess
import sys

import numpy as np
import torch

from grande_gnn.degree import Grande
from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.cpu.backend import Backend
from grande_gnn.engine.cpu.precomputed import Precomputed
from grande_gnn.engine.trainable import Diffusion

CPU = torch.device("cpu")


def keys(problem, settings, *replicas):
    backend = Backend(CPU, settings)
    return [backend.batch_key(Replica(problem.labels, *arguments)) for arguments in replicas]


def test_replicas_of_one_kind_share_a_batch(problem, custom_degree):
    grande, sigma, central, function, wide = keys(
        problem, Settings(), (0.2,), (0.7, 1, 3), ("centrality",), (custom_degree,), (0.2, 0, 0, 64)
    )
    assert grande == sigma == central
    assert len({grande, function, wide}) == 3
    grande, central, again, wide = keys(
        problem, Settings(model="sgc"), (0.2,), ("centrality",), ("centrality", 1), (0.2, 0, 0, 64)
    )
    assert central == again != grande
    assert grande == wide  # SGC has no hidden layer


def test_sgc_with_degree_centrality_is_diffused_once(problem):
    X = torch.from_numpy(problem.X)
    for model, degree, kind in [
        ("sgc", "centrality", Precomputed),
        ("sgc", Grande(), Diffusion),
        ("appnp", "centrality", Diffusion),
    ]:
        backend = Backend(CPU, Settings(model=model))
        built = backend.build(X, problem.graph, [Replica(problem.labels, degree, hidden=4)], problem.c)
        assert type(built) is kind
        assert not built.capturable
        assert not backend.is_fused(Replica(problem.labels, degree))


def test_epochs_run_as_they_are(problem):
    backend, done = Backend(CPU, Settings()), []
    step, wait = backend.repeated(None, lambda: done.append(1)), backend.pace()
    for _ in range(4):
        step()
        assert wait() is None
    assert len(done) == 4
    assert np.sum(done) == 4


def test_a_training_on_the_cpu_does_not_enter_the_cuda_room():
    script = """
import sys
import numpy as np
from grande_gnn.engine import Replica, Settings, train
from grande_gnn.graph import Graph
graph = Graph.from_edges([0, 1], [1, 2], 3)
for model in ("sgc", "appnp"):
    replicas = [Replica(np.array([0, 1, -1]), degree) for degree in (0.2, "centrality")]
    train(np.eye(3), graph, replicas, 2, Settings(model=model, epochs=3, device="cpu"), progress=print)
sys.exit(any(name.startswith(("grande_gnn.engine.cuda", "triton")) for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL).returncode == 0
