"""Which replicas the Triton kernels train, and whole trainings on the GPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.cpu.diffusion import TorchHops
from grande_gnn.engine.cpu.precomputed import Precomputed
from grande_gnn.engine.cuda.backend import CudaBackend
from grande_gnn.engine.cuda.diffusion import TritonDiffusion
from grande_gnn.engine.memory import Sizes, predicted_bytes
from grande_gnn.graph import reciprocal_knn_graph

HAS_GPU = torch.cuda.is_available()


def test_the_kernels_train_what_they_can_compute(device, custom_degree, make, tensor):
    rng = np.random.default_rng(0)
    graph, labels, X = make.graph(9, 2, rng), np.arange(9) % 2, tensor(9, 5)
    for model, degree, n_hops, fused in [
        ("appnp", 0.2, None, True),
        ("appnp", "centrality", None, True),
        ("sgc", 0.2, None, True),
        ("appnp", 0.2, 0, False),
        ("appnp", custom_degree, None, False),
    ]:
        backend = CudaBackend(device, Settings(model=model, n_hops=n_hops))
        replica = Replica(labels, degree, hidden=4)
        assert backend.is_fused(replica) == fused
        built = backend.build(X, graph, [replica], 2)
        assert isinstance(built, TritonDiffusion) == built.capturable == fused
        assert isinstance(built.hops, TorchHops) != fused
    backend = CudaBackend(device, Settings(model="sgc"))
    assert isinstance(backend.build(X, graph, [Replica(labels, "centrality")], 2), Precomputed)


def test_without_triton_plain_torch_runs_on_the_device(device, monkeypatch):
    monkeypatch.setattr("grande_gnn.engine.cuda.backend.find_spec", lambda name: None)
    assert not CudaBackend(device, Settings()).is_fused(Replica(np.arange(9) % 2))


def test_only_half_precision_scales_the_loss(device):
    few, many = (Replica(np.where(np.arange(1000) < count, 0, -1)) for count in (10, 1000))
    for precision, scales in [("tf32", (1.0, 1.0)), ("highest", (1.0, 1.0)), ("half", (128.0, 8192.0))]:
        backend = CudaBackend(device, Settings(precision=precision))
        assert (backend.loss_scale(few), backend.loss_scale(many)) == scales
        assert (backend.batch_key(few) == backend.batch_key(many)) == (precision != "half")


@pytest.mark.parametrize("model", ["appnp", "sgc"])
@pytest.mark.parametrize("magnitude", [1e-4, 1.0, 1e4])
def test_half_precision_gives_nearly_the_same_gradients(model, magnitude, make, device, tensor):
    n, c, R, mean = make.cases["flowers"]
    rng = np.random.default_rng(5)
    graph, replicas = make.graph(n, mean, rng), make.replicas(n, c, R, rng)
    X = magnitude * tensor(n, 24, seed=5)
    gradients = {}
    for precision in ("highest", "half"):
        settings = Settings(model=model, precision=precision)
        built = CudaBackend(device, settings).build(X, graph, replicas, c)
        built.backward(built.labelled.loss_gradient(built.forward()))
        scales = {id(t.parameter): t.scale for t in built.optimizer(settings).trained}
        gradients[precision] = [p.grad / scales[id(p)] for p in built.all_parameters()]
    for exact, half in zip(gradients["highest"], gradients["half"], strict=True):
        assert make.distance(exact, half) < 0.02


@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device: a whole training is captured as a CUDA graph")
@pytest.mark.parametrize("model", ["appnp", "sgc"])
def test_half_precision_trains_as_well(model):
    rng = np.random.default_rng(6)
    y = np.arange(600) % 5
    X = (np.eye(5, 12)[y] * 1.5 + rng.normal(size=(600, 12))).astype(np.float32)
    graph = reciprocal_knn_graph(X, 10)
    replicas = [Replica(np.where(np.arange(600) < 60, y, -1), 0.2, r, 0, 32) for r in range(8)]
    accuracy = {}
    for precision in ("tf32", "half"):
        settings = Settings(model=model, device="cuda", precision=precision, lr=0.01)
        answers = train(X, graph, replicas, 5, settings)
        accuracy[precision] = np.mean([np.mean(a.predictions == y) for a in answers])
    assert accuracy["tf32"] > 0.5
    assert abs(accuracy["half"] - accuracy["tf32"]) < 0.02


@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device: a whole training is captured as a CUDA graph")
@pytest.mark.parametrize("model", ["appnp", "sgc"])
def test_a_whole_training_on_the_gpu_agrees_with_the_cpu(model):
    rng = np.random.default_rng(3)
    y = np.arange(300) % 5
    X = (np.eye(5, 12)[y] * 3 + rng.normal(size=(300, 12))).astype(np.float32)
    graph = reciprocal_knn_graph(X, 10)
    few = np.where(np.arange(300) < 60, y, -1)
    replicas = [Replica(few, degree, r, 0, 32) for degree in (0.2, "centrality") for r in range(2)]
    runs = {}
    for device in ("cpu", "cuda"):
        settings = Settings(model=model, dropout=0.0, device=device, precision="highest", epochs=50)
        runs[device] = train(X, graph, replicas, 5, settings, keep_models=True)
    for cpu, gpu in zip(runs["cpu"], runs["cuda"], strict=True):
        assert np.abs(cpu.logits - gpu.logits).max() < 1e-3 * np.abs(cpu.logits).max()
    alone = train(
        X, graph, replicas[1:2], 5, Settings(model=model, device="cuda", epochs=50), keep_models=True
    )
    together = train(X, graph, replicas, 5, Settings(model=model, device="cuda", epochs=50), keep_models=True)
    assert np.abs(alone[0].logits - together[1].logits).max() < 2e-2 * np.abs(alone[0].logits).max()


@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device: its memory is counted")
@pytest.mark.parametrize("model", ["appnp", "sgc"])
def test_two_batches_take_the_memory_of_one_and_leave_none(model):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(2000, 64)).astype(np.float32)
    graph = reciprocal_knn_graph(X, 10)
    labels = np.where(np.arange(2000) < 200, np.arange(2000) % 20, -1)
    replicas = [Replica(labels, 0.2, r) for r in range(40)]
    settings = Settings(model=model, device="cuda", epochs=5)
    hidden, repetitions = (None, 0) if model == "sgc" else (256, 20)
    sizes = Sizes(2000, 64, 20, hidden, graph.n_edges, settings.hops, 20, repetitions)
    train(X, graph, replicas[:1], 20, settings)  # the libraries' workspaces stay from now on
    peaks = {}
    for count, limit in ((20, None), (40, predicted_bytes(sizes, "cuda"))):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        train(X, graph, replicas[:count], 20, replace(settings, memory_limit=limit))
        peaks[count] = torch.cuda.max_memory_allocated() - before
        assert torch.cuda.memory_allocated() == before
    assert peaks[40] < 1.1 * peaks[20]


def arrays_of(thing, seen):
    """Bytes of all arrays that a model and its optimizer hold, each once."""
    if isinstance(thing, torch.Tensor):
        storage = thing.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        arrays_of(thing.grad, seen)
    elif isinstance(thing, dict):
        arrays_of(list(thing.values()), seen)
    elif isinstance(thing, (list, tuple)):
        for part in thing:
            arrays_of(part, seen)
    elif hasattr(thing, "__dict__") and type(thing).__module__.startswith("grande_gnn"):
        arrays_of(vars(thing), seen)
    return sum(seen.values())


@pytest.mark.parametrize(
    ("n", "d", "c", "hidden", "count", "repetitions", "half"),
    [
        (20_000, 64, 2, 256, 10, 10, True),
        (20_000, 64, 2, 256, 1, 1, False),
        (20_000, 64, 100, 256, 2, 1, False),
        (2_000, 300, 17, 64, 30, 3, False),
        (20_000, 64, 50, None, 6, 2, False),
    ],
)
def test_the_predicted_memory_holds_every_array(
    n, d, c, hidden, count, repetitions, half, make, device, tensor
):
    X, graph = tensor(n, d), make.graph(n, 4, np.random.default_rng(9))
    labels = np.where(np.arange(n) < n // 10, np.arange(n) % c, -1)
    replicas = [Replica(labels, 0.2, r * repetitions // count, hidden=hidden) for r in range(count)]
    settings = Settings(model="sgc" if hidden is None else "appnp", precision="half" if half else "tf32")
    model = CudaBackend(device, settings).build(X, graph, replicas, c)
    held = arrays_of([X, model, model.optimizer(settings)], {})
    sizes = Sizes(
        n, d, c, hidden, graph.n_edges, settings.hops, count, repetitions if hidden else 0, half=half
    )
    predicted = predicted_bytes(sizes, "cuda") - 128 * 2**20  # less what does not grow
    assert held < predicted < 1.2 * held
