"""Every Triton kernel against the torch reference: on the GPU, or through Triton's interpreter without one."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.cpu.degrees import build_degree
from grande_gnn.engine.cpu.diffusion import TorchFlow
from grande_gnn.engine.cpu.kernels import TorchKernels
from grande_gnn.engine.cpu.transform import Inputs, LinearHead, MLPHead
from grande_gnn.engine.cuda import cuda_flow, cuda_head, cuda_model
from grande_gnn.engine.cuda.adam import Trained, TritonAdam
from grande_gnn.engine.loss import LabelledRows
from grande_gnn.engine.memory import Sizes, predicted_bytes
from grande_gnn.graph import Graph, reciprocal_knn_graph

HAS_GPU = torch.cuda.is_available()
CPU, DEVICE = torch.device("cpu"), torch.device("cuda" if HAS_GPU else "cpu")
CASES = {  # n, classes, replicas, mean edges a node
    "few": (23, 3, 4, 3),
    "flowers": (31, 17, 5, 4),
    "one class": (9, 1, 2, 2),
    "one replica": (14, 5, 1, 3),
    "many classes": (8, 200, 2, 2),
    "very many classes": (9, 300, 1, 2),
    "many replicas": (4, 2, 500, 1),
}


def random_graph(n: int, mean: int, rng: np.random.Generator) -> Graph:
    """A hub (node 0), an isolated node (the last), the rest at random."""
    rows, cols = rng.integers(0, n - 1, size=(2, mean * n))
    return Graph.from_edges(np.append(rows, np.zeros(n - 1, int)), np.append(cols, np.arange(n - 1)), n)


def some_replicas(
    n: int, c: int, count: int, rng: np.random.Generator, hidden: int | None = 20
) -> list[Replica]:
    degrees = [0.2, "centrality", 0.05, 1.0]
    replicas = []
    for r in range(count):
        labels = np.full(n, -1)
        rows = rng.choice(n, max(1, n // 3), replace=False)
        labels[rows] = rng.integers(0, c, len(rows))
        replicas.append(Replica(labels, degrees[r % 4], r // 3, r, hidden))
    return replicas


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return ((a - b).norm() / a.norm().clamp_min(1e-12)).item()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", ["appnp", "sgc"])
def test_the_fused_flow_equals_the_reference(case, model):
    n, c, R, mean = CASES[case]
    rng = np.random.default_rng(0)
    graph, replicas = random_graph(n, mean, rng), some_replicas(n, c, R, rng)
    settings = Settings(model=model, precision="highest")
    kernels = TorchKernels(graph, R, c, CPU)
    reference = TorchFlow(build_degree(replicas, graph, kernels, False), kernels, settings)
    fused = cuda_flow(graph, replicas, c, settings, DEVICE)
    labelled, labelled_there = LabelledRows(replicas, CPU), LabelledRows(replicas, DEVICE)
    H = torch.from_numpy(rng.normal(size=(R, n, c)).astype(np.float32))
    gradient = torch.from_numpy(rng.normal(size=(len(labelled.row), c)).astype(np.float32))
    for _ in range(2):  # the second pass starts from used buffers
        Z, fused_Z = reference.forward(H.clone()).clone(), fused.forward(H.to(DEVICE)).cpu()
        assert distance(reference.delta, fused.delta.cpu()) < 1e-4
        assert distance(Z, fused_Z) < 1e-4
        back = reference.backward(labelled, gradient.clone())
        assert distance(back, fused.backward(labelled_there, gradient.to(DEVICE)).cpu()) < 1e-4


class Replay:
    """A mask stream that gives the mask a kernel has drawn."""

    def __init__(self, mask: torch.Tensor) -> None:
        self.mask = mask

    def next(self) -> torch.Tensor:
        return self.mask.float().cpu()


@pytest.mark.parametrize(
    ("hidden", "case"),
    [(h, k) for h in (20, None) for k in CASES if h is None or k != "many replicas" or HAS_GPU],
)
@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
def test_the_fused_heads_equal_the_reference(case, dropout, hidden):
    n, c, R, _ = CASES[case]
    rng = np.random.default_rng(1)
    X = torch.from_numpy(rng.normal(size=(n, 7)).astype(np.float32)).to(DEVICE)
    replicas = some_replicas(n, c, R, rng, hidden)
    settings = Settings(dropout=dropout, precision="highest")
    fused = cuda_head(X, replicas, c, settings)
    H = fused.forward(training=True).clone()
    inputs = Inputs(X, fused.runs, settings)
    reference = (
        MLPHead(inputs, fused.runs, replicas, c, hidden, settings)
        if hidden
        else LinearHead(inputs, fused.runs, replicas, c, settings)
    )
    if dropout:
        inputs.masks = {r: Replay(m[:n] != 0) for r, m in fused.inputs.masked.items()}
    if dropout and hidden:
        reference._masks = {r: Replay(bits[:, :n].T) for r, bits in fused._bits.items()}
    assert distance(reference.forward(training=True), H) < 1e-5
    gradient = torch.from_numpy(rng.normal(size=(R, n, c)).astype(np.float32)).to(DEVICE)
    reference.backward(gradient)
    fused.backward(gradient)
    for name, tensors in reference.parameters.items():
        for ours, theirs in zip(tensors, fused.parameters[name], strict=True):
            there = theirs.grad.T if name == "weight1" else theirs.grad  # kept transposed on CUDA
            assert distance(ours.grad, there) < 1e-4, name
    assert distance(reference.forward(training=False), fused.forward(training=False)) < 1e-5


def test_masks_are_fresh_every_epoch_and_keep_the_right_share():
    rng = np.random.default_rng(2)
    X = torch.ones(64, 64, device=DEVICE)
    inputs = cuda_head(X, some_replicas(64, 2, 4, rng), 2, Settings(dropout=0.25)).inputs
    drawn = []
    for _ in range(2):
        inputs.draw(training=True)
        drawn += [inputs[0].clone(), inputs[1].clone()]
    kept = torch.stack([(m != 0).float() for m in drawn])
    assert kept.mean(dim=(1, 2)).sub(0.75).abs().max() < 0.04
    overlap = torch.stack([(kept[a] * kept[b]).mean() for a in range(4) for b in range(a)])
    assert overlap.sub(0.75**2).abs().max() < 0.05  # independent between epochs and repetitions
    assert torch.allclose(drawn[0][kept[0] > 0], torch.tensor(1 / 0.75, device=DEVICE))


def test_adam_equals_torchs():
    rng = np.random.default_rng(4)
    settings = Settings(epochs=20, lr=0.01, weight_decay=0.1)
    start = torch.from_numpy(rng.normal(size=(37, 41)).astype(np.float32)).to(DEVICE)
    ours, theirs = start.clone(), start.clone()
    ours.grad, half = torch.empty_like(ours), ours.half()
    optimiser = TritonAdam([Trained(ours, 8.0, half)], settings)
    reference = torch.optim.Adam([theirs], settings.lr, weight_decay=settings.weight_decay)
    for _ in range(settings.epochs):
        theirs.grad = torch.from_numpy(rng.normal(size=(37, 41)).astype(np.float32)).to(DEVICE)
        ours.grad.copy_(8 * theirs.grad)
        optimiser.step()
        reference.step()
    assert distance(theirs, ours) < 1e-6
    assert (half == ours.half()).all()


@pytest.mark.parametrize("model", ["appnp", "sgc"])
@pytest.mark.parametrize("magnitude", [1e-4, 1.0, 1e4])
def test_half_precision_gives_nearly_the_same_gradients(model, magnitude):
    n, c, R, mean = CASES["flowers"]
    rng = np.random.default_rng(5)
    graph, replicas = random_graph(n, mean, rng), some_replicas(n, c, R, rng)
    X = torch.from_numpy(magnitude * rng.normal(size=(n, 24)).astype(np.float32)).to(DEVICE)
    gradients = {}
    for precision in ("highest", "half"):
        settings = Settings(model=model, precision=precision)
        built = cuda_model(X, graph, replicas, c, settings, LabelledRows(replicas, DEVICE))
        built.backward(built.labelled.loss_gradient(built.forward()))
        scales = {id(t.parameter): t.scale for t in built.optimiser(settings).trained}
        gradients[precision] = [p.grad / scales[id(p)] for p in built.all_parameters()]
    for exact, half in zip(gradients["highest"], gradients["half"], strict=True):
        assert distance(exact, half) < 0.02


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
    """Bytes of all arrays that a model and its optimiser hold, each once."""
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
def test_the_predicted_memory_holds_every_array(n, d, c, hidden, count, repetitions, half):
    rng = np.random.default_rng(9)
    X = torch.from_numpy(rng.normal(size=(n, d)).astype(np.float32)).to(DEVICE)
    graph = random_graph(n, 4, rng)
    labels = np.where(np.arange(n) < n // 10, np.arange(n) % c, -1)
    replicas = [Replica(labels, 0.2, r * repetitions // count, hidden=hidden) for r in range(count)]
    settings = Settings(model="sgc" if hidden is None else "appnp", precision="half" if half else "tf32")
    model = cuda_model(X, graph, replicas, c, settings, LabelledRows(replicas, DEVICE))
    held = arrays_of([X, model, model.optimiser(settings)], {})
    sizes = Sizes(
        n, d, c, hidden, graph.n_edges, settings.hops, count, repetitions if hidden else 0, half=half
    )
    predicted = predicted_bytes(sizes, "cuda") - 128 * 2**20  # less what does not grow
    assert held < predicted < 1.2 * held
