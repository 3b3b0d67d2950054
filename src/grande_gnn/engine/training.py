"""The one training loop, and the division of many replicas into batches that fit memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray

from grande_gnn.engine.cpu.backend import Backend
from grande_gnn.engine.early_stopping import BestEpoch
from grande_gnn.engine.memory import Sizes, replicas_that_fit
from grande_gnn.engine.plain import PlainTraining, by_autograd
from grande_gnn.engine.replica import Outcome, Replica, Settings
from grande_gnn.engine.sparse_input import as_tensor
from grande_gnn.engine.trainable import Trainable
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import check_features, check_integer, check_sparse

__all__ = ["train"]

Progress = Callable[[int], object]
"""Called with the number of replica epochs (epochs × replicas) finished since the last call."""


def train(
    features: ArrayLike | sp.csr_matrix,
    graph: Graph,
    replicas: Sequence[Replica],
    n_classes: int,
    settings: Settings | None = None,
    *,
    keep_models: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Train every replica and return their outcomes in the same order.

    The outcome of a replica does not depend on the others, so batches may be divided anywhere. With
    ``keep_models`` the outcomes also hold logits, H⁽⁰⁾, degree and parameters. Features may be a scipy sparse matrix; such
    trainings, and those with ``settings.patience``, run by autograd.
    """
    settings = settings or Settings()
    X = check_sparse(features) if sp.issparse(features) else check_features(features)
    check_integer(n_classes, name="n_classes", low=1)
    _check_replicas(replicas, X.shape[0], graph, n_classes)
    if settings.patience is not None and any(replica.validation is None for replica in replicas):
        raise InvalidInputError(
            "early stopping needs validation labels: pass Replica(validation=...) or patience=None; got none"
        )
    if sp.issparse(X) or settings.patience is not None:
        settings = by_autograd(settings)  # the fast passes need dense features and train to the last epoch
    backend = _backend(resolve_device(settings.device), settings)
    with backend.running(), torch.no_grad():
        tensor = as_tensor(X, backend.device)
        outcomes: list[Outcome | None] = [None] * len(replicas)

        def train_batch(batch: list[Replica]) -> list[Outcome]:
            """A function of its own, so that nothing of a batch is left in memory when the next is built."""
            model: Trainable
            watch = None
            if settings.kind.is_diffusion:
                model = backend.build(tensor, graph, batch, n_classes)
            else:
                model = plain = PlainTraining(tensor, graph, batch[0], n_classes, settings)
                watch = _watch(plain, batch[0], settings)
            _fit(model, backend, len(batch), progress, watch)
            return list(_outcomes(model, len(batch), keep_models))

        for members in _batches(replicas, X.shape, graph, n_classes, backend):
            for r, outcome in zip(members, train_batch([replicas[r] for r in members]), strict=True):
                outcomes[r] = outcome
    return outcomes  # type: ignore[return-value]  # every place was filled


def _backend(device: torch.device, settings: Settings) -> Backend:
    """The backend of the device; that of CUDA is imported only if it is needed."""
    if device.type != "cuda":
        return Backend(device, settings)
    from grande_gnn.engine.cuda.backend import CudaBackend

    return CudaBackend(device, settings)


def _watch(model: PlainTraining, replica: Replica, settings: Settings) -> BestEpoch | None:
    if settings.patience is None or replica.validation is None:
        return None
    return BestEpoch(model, replica.validation, settings)


def _fit(
    model: Trainable, backend: Backend, n_replicas: int, progress: Progress | None, watch: BestEpoch | None
) -> None:
    """Epochs of Adam on the cross-entropy of the labelled rows; the last epoch is kept, or the best one with ``watch``."""
    settings = backend.settings
    optimizer = model.optimizer(settings)

    def epoch() -> None:
        model.backward(model.labelled.loss_gradient(model.forward()))
        optimizer.step()

    step, wait = backend.repeated(model, epoch), backend.pace()
    for _ in range(settings.epochs):
        step()
        if progress is not None:
            wait()
            progress(n_replicas)
        if watch is not None and watch.is_over():
            break
    if watch is not None and settings.best_epoch:
        watch.restore()


def _outcomes(model: Trainable, n_replicas: int, keep_models: bool) -> Iterator[Outcome]:
    Z, H, degree = model.evaluate()
    lost = int((~Z.sum(-1).isfinite()).any(1).sum())  # sums need no copy of all logits
    if lost:
        raise InvalidInputError(
            "the training overflowed, so the features or lr are too large: normalize the features "
            "(center-l2), lower lr, or use precision='tf32' if it was half; "
            f"got {lost} of {n_replicas} trainings with infinite or NaN logits"
        )
    predictions = Z.argmax(-1).cpu().numpy()
    for r in range(n_replicas):
        if keep_models:
            logits, head_output, delta = (None if t is None else t[r].cpu().numpy() for t in (Z, H, degree))
            yield Outcome(predictions[r], logits, head_output, delta, model.of_replica(r))
        else:
            yield Outcome(predictions[r])


def _batches(
    replicas: Sequence[Replica],
    shape: tuple[int, ...],
    graph: Graph,
    n_classes: int,
    backend: Backend,
) -> Iterator[list[int]]:
    """Replicas that can be trained together, repetitions adjacent (they share dropout masks), as many as memory holds."""
    settings = backend.settings
    if not settings.kind.is_diffusion:  # the memory of a module is unknown, so they are trained one at a time
        yield from ([r] for r in range(len(replicas)))
        return
    groups: dict[Hashable, list[int]] = {}
    for r, replica in enumerate(replicas):
        groups.setdefault(backend.batch_key(replica), []).append(r)
    for members in groups.values():
        first = replicas[members[0]]
        members.sort(key=lambda r: (replicas[r].repetition, r))
        repetitions = len({replicas[r].repetition for r in members}) if settings.drop else 0
        distinct = {mask.tobytes(): mask for mask in (replicas[r].labels >= 0 for r in members)}.values()
        sizes = Sizes(
            shape[0], shape[1], n_classes, first.width(settings), graph.n_edges, settings.hops, len(members), repetitions,
            labelled=sum(map(np.count_nonzero, distinct)) if first.precomputes(settings) else 0,
            fused=backend.is_fused(first),
            half=settings.precision == "half",
        )  # fmt: skip
        size = replicas_that_fit(sizes, settings, backend.device)
        yield from (members[a : a + size] for a in range(0, len(members), size))


def _check_replicas(replicas: Sequence[Replica], n: int, graph: Graph, n_classes: int) -> None:
    if graph.n_nodes != n:
        raise InvalidInputError(
            f"the graph must have one node per sample: {n} samples; got {graph.n_nodes} nodes"
        )
    for replica in replicas:
        labels = replica.labels
        if labels.shape != (n,):
            raise InvalidInputError(
                f"a replica needs one label code per sample ({n}); got shape {labels.shape}"
            )
        if labels.max() < 0:
            raise InvalidInputError("a replica needs at least one labelled sample; got none")
        if labels.max() >= n_classes:
            raise InvalidInputError(f"label codes must be below n_classes={n_classes}; got {labels.max()}")
        _check_weights(replica.label_weights, labels >= 0)
        _check_validation(replica.validation, n, n_classes)


def _check_validation(validation: NDArray[np.int64] | None, n: int, n_classes: int) -> None:
    if validation is not None and (validation.shape != (n,) or not 0 <= validation.max() < n_classes):
        raise InvalidInputError(
            f"validation must hold one class code per sample ({n}), -1 where there is none, and at least one code below "
            f"n_classes={n_classes}; got shape {validation.shape}, largest {validation.max(initial=-1)}"
        )


def _check_weights(weights: NDArray[np.float64] | None, labelled: NDArray[np.bool_]) -> None:
    if weights is None:
        return
    if weights.shape != labelled.shape:
        raise InvalidInputError(
            f"label_weights must be one per sample ({len(labelled)}); got shape {weights.shape}"
        )
    own = weights[labelled]
    if not (np.isfinite(own).all() and own.min() >= 0 and own.max() > 0):
        raise InvalidInputError(
            "label_weights must be finite and not negative, and one of them above 0, so that there is a mean; "
            f"got {own.min():g} to {own.max():g}"
        )
