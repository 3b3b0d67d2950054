"""The one training loop, and the cutting of many replicas into batches that fit memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import ArrayLike

from grande_gnn.degree import Degree
from grande_gnn.engine.build import build_model
from grande_gnn.engine.cpu.models import Model
from grande_gnn.engine.cuda import fused_kernels_serve, loss_scale
from grande_gnn.engine.cuda.replay import LaunchFree, OneBehind
from grande_gnn.engine.malloc import freed_memory_kept
from grande_gnn.engine.memory import Sizes, replicas_that_fit
from grande_gnn.engine.replica import Outcome, Replica, Settings
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.internal.device import float32_products, resolve_device
from grande_gnn.internal.validation import check_features, check_integer

__all__ = ["train"]

Progress = Callable[[int], object]
"""Called with the number of epochs × replicas finished since the last call."""


def train(
    features: ArrayLike,
    graph: Graph,
    replicas: Sequence[Replica],
    n_classes: int,
    settings: Settings | None = None,
    *,
    keep_models: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Train every replica and return their outcomes in the same order.

    A replica's outcome does not depend on the others: batches may be cut anywhere. With
    ``keep_models`` the outcomes also carry logits, H⁽⁰⁾, degree and parameters.
    """
    settings = settings or Settings()
    X = check_features(features)
    check_integer(n_classes, name="n_classes", low=1)
    _check_replicas(replicas, len(X), graph, n_classes)
    device = resolve_device(settings.device)
    with _on(device, settings.precision), torch.no_grad():
        tensor = torch.from_numpy(X).to(device)
        outcomes: list[Outcome | None] = [None] * len(replicas)

        def train_batch(batch: list[Replica]) -> list[Outcome]:
            """In a function of its own, so that nothing of a batch is left in memory when the next is built."""
            model = build_model(tensor, graph, batch, n_classes, settings)
            _fit(model, settings, len(batch), progress)
            return list(_outcomes(model, len(batch), keep_models))

        for members in _batches(replicas, X.shape, graph, n_classes, settings, device):
            for r, outcome in zip(members, train_batch([replicas[r] for r in members]), strict=True):
                outcomes[r] = outcome
    return outcomes  # type: ignore[return-value]  # every place was filled


def _fit(model: Model, settings: Settings, n_replicas: int, progress: Progress | None) -> None:
    """Epochs of Adam on the cross-entropy of the labelled rows; the last epoch counts."""
    optimiser = model.optimiser(settings)

    def epoch() -> None:
        model.backward(model.labelled.loss_gradient(model.forward()))
        optimiser.step()

    step = LaunchFree(epoch) if model.capturable else epoch
    behind = OneBehind(model.labelled.row.device)
    for _ in range(settings.epochs):
        step()
        if progress is not None:
            behind.wait()
            progress(n_replicas)


def _outcomes(model: Model, n_replicas: int, keep_models: bool) -> Iterator[Outcome]:
    Z, H, degree = model.evaluate()
    lost = int((~Z.sum(-1).isfinite()).any(1).sum())  # a sum tells, without a copy of all logits
    if lost:
        raise InvalidInputError(
            "the training left the range of its numbers, so the features or lr are too large: normalise the features "
            "(center-l2), lower lr, or take precision='tf32' if it was half; "
            f"got {lost} of {n_replicas} trainings with infinite or NaN logits"
        )
    predictions = Z.argmax(-1).cpu().numpy()
    for r in range(n_replicas):
        if keep_models:
            logits, head_output, delta = (t[r].cpu().numpy() for t in (Z, H, degree))
            yield Outcome(predictions[r], logits, head_output, delta, model.of_replica(r))
        else:
            yield Outcome(predictions[r])


def _batches(
    replicas: Sequence[Replica],
    shape: tuple[int, ...],
    graph: Graph,
    n_classes: int,
    settings: Settings,
    device: torch.device,
) -> Iterator[list[int]]:
    """Replicas of one kind, repetitions together (they share dropout masks), as many as memory holds."""
    kinds: dict[tuple[Degree | None, bool, int | None, float], list[int]] = {}
    for r, replica in enumerate(replicas):
        hidden = replica.width(settings)
        precomputed = replica.degree if replica.precomputes(settings) else None
        kind = (precomputed, replica.degree.has_kernel, hidden, loss_scale(replica, settings))
        kinds.setdefault(kind, []).append(r)
    for (precomputed, _, hidden, _), members in kinds.items():
        members.sort(key=lambda r: (replicas[r].repetition, r))
        repetitions = len({replicas[r].repetition for r in members}) if settings.drop else 0
        distinct = {mask.tobytes(): mask for mask in (replicas[r].labels >= 0 for r in members)}.values()
        sizes = Sizes(
            shape[0], shape[1], n_classes, hidden, graph.n_edges, settings.hops, len(members), repetitions,
            labelled=sum(map(np.count_nonzero, distinct)) if precomputed is not None else 0,
            fused=fused_kernels_serve(replicas[members[0]], settings),
            half=settings.precision == "half",
        )  # fmt: skip
        size = replicas_that_fit(sizes, settings, device)
        yield from (members[a : a + size] for a in range(0, len(members), size))


def _check_replicas(replicas: Sequence[Replica], n: int, graph: Graph, n_classes: int) -> None:
    if graph.n_nodes != n:
        raise InvalidInputError(
            f"the graph must have one node a sample: {n} samples; got {graph.n_nodes} nodes"
        )
    for replica in replicas:
        labels = replica.labels
        if labels.shape != (n,):
            raise InvalidInputError(
                f"a replica needs one label code a sample ({n}); got shape {labels.shape}"
            )
        if labels.max() < 0:
            raise InvalidInputError("a replica needs at least one labelled sample; got none")
        if labels.max() >= n_classes:
            raise InvalidInputError(f"label codes must be below n_classes={n_classes}; got {labels.max()}")


@contextmanager
def _on(device: torch.device, precision: str) -> Iterator[None]:
    """The process as a training on this device needs it.

    On CUDA kernels start on this device, products of floats are TF32 or full float32, and those of halves are summed in
    float32.
    """
    if device.type != "cuda":
        with freed_memory_kept():
            yield
        return
    products = torch.backends.cuda.matmul
    before = products.allow_fp16_reduced_precision_reduction
    kind = "ieee" if precision == "highest" else "tf32"
    with torch.cuda.device(device), float32_products(kind, device):
        products.allow_fp16_reduced_precision_reduction = False
        try:
            yield
        finally:
            products.allow_fp16_reduced_precision_reduction = before
