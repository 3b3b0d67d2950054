"""Adapt a network to the user's images: fine-tune it on few labels and many unlabelled images, with a teacher.

The teacher is a function (features, labels) → class probabilities. It first predicts from the features of the original
network, and the training starts from these predictions (:mod:`grande_gnn.images.adapt_training`). Halfway through, it
predicts again, from the original and the adapted features side by side. The result is a file of weights for
:func:`~grande_gnn.images.load_extractor`; the feature store keeps the features of adapted networks separately.

>>> from grande_gnn.images.adapt import adapt_network
>>> weights = adapt_network(paths, codes, "lite0", teacher)                  # doctest: +SKIP
>>> weights.save("adapted.safetensors")                                      # doctest: +SKIP
>>> extractor = load_extractor("lite0", "adapted.safetensors")               # doctest: +SKIP
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grande_gnn.errors import InvalidInputError, NotEnoughMemoryError, TrainingDivergedError
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.adapted_weights import AdaptedWeights
from grande_gnn.images.class_shares import class_shares
from grande_gnn.images.networks import Extractor, load_extractor, load_trainable
from grande_gnn.images.side_by_side import unit_rows
from grande_gnn.images.soft_head import fit_head
from grande_gnn.images.squares import read_squares
from grande_gnn.images.training_state import TrainingState
from grande_gnn.images.view_source import CachedViews, LiveViews, TrunkViews, ViewSource, views_that_fit
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import check_choice

__all__ = [
    "DEFAULTS",
    "FORMS",
    "VERSION",
    "AdaptOptions",
    "Teacher",
    "adapt_network",
    "kept_views",
    "prepare_views",
    "split_network",
    "teach_again",
    "view_features",
    "with_labels",
]

logger = logging.getLogger(__name__)

Teacher = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.floating]]
"""(features, codes with −1 for unlabelled) → probabilities (n_images, n_classes)."""

Progress = Callable[..., object]
"""Called with the name of the stage, the finished and the total number of steps and, while training, the loss as text."""

VERSION = 1
"""Counted up whenever the same images, labels and options lead to other weights, or a checkpoint holds something else: then
no weights or checkpoints of an earlier version are used."""

LOSS_EVERY = 10
"""The loss is read once in this many steps, because reading it makes the CPU wait for the GPU."""

FORMS = ("full", "last")
"""``"full"`` trains the whole network. ``"last"`` trains only its last blocks: it takes a fraction of the time,
was as accurate wherever it was measured, and works with lite0, lite1 and lite2 only."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "cuda": {"recipe": Recipe(), "n_views": 0, "blocks": 11},
    "cpu": {
        "recipe": Recipe(steps=180, batch=16, ratio=2, contrast_with="weak", lessons=0), "n_views": 3, "blocks": 5,
    },
}  # fmt: skip
"""The values of options that are None, for each device. A GPU sees new views at every step; a CPU computes a few views once,
trains fewer blocks for fewer steps, and has no lesson."""

SMALLEST_BATCH = 4
"""The batch is halved while memory is short; with fewer labelled images per step than this, it is an error instead."""


@dataclass(frozen=True)
class AdaptOptions:
    """How a network is adapted."""

    form: str = "full"
    """One of :data:`FORMS`."""
    recipe: Recipe | None = None
    """The settings of the training. ``recipe``, ``n_views`` and ``blocks`` are taken from :data:`DEFAULTS` if None."""
    size: int | None = None
    """Width and height of the views in pixels; None: the input size of the extractor."""
    n_views: int | None = None
    """How many weak and how many strong views of every image the form ``"last"`` computes once (fewer if memory is short);
    0: new views are computed at every step."""
    blocks: int | None = None
    """How many of the last blocks the form ``"last"`` trains."""
    weights: str | Path | None = None
    """The weights to start from; None: those that come with the extractor."""
    device: str = "auto"
    seed: int = 0
    checkpoint: str | Path | None = None
    """A file from which an interrupted training continues, removed when the weights are saved; None: it starts again."""

    def __post_init__(self) -> None:
        check_choice(self.form, FORMS, name="form")

    def filled(self) -> AdaptOptions:
        """The same options, with defaults in place of None."""
        defaults = DEFAULTS[resolve_device(self.device).type]
        return replace(self, **{key: value for key, value in defaults.items() if getattr(self, key) is None})

    @property
    def chosen(self) -> Recipe:
        """The recipe that is used."""
        return self.recipe or DEFAULTS[resolve_device(self.device).type]["recipe"]


def adapt_network(
    images: Sequence[Path] | Tensor,
    labels: NDArray[np.int64],
    extractor: str,
    teacher: Teacher,
    options: AdaptOptions | None = None,
    *,
    features: NDArray[np.float32] | None = None,
    error: float | None = None,
    views: ViewSource | None = None,
    progress: Progress | None = None,
) -> AdaptedWeights:
    """Fine-tune the network of an extractor.

    Parameters
    ----------
    images : readable image files, or the tensor that :func:`~grande_gnn.images.squares.read_squares` returned for them.
    labels : the class code of each image, starting at 0; −1 for images without a label.
    extractor : its name, as for :func:`~grande_gnn.images.load_extractor`.
    teacher : see :data:`Teacher`.
    features : the features of the original network; None: they are computed.
    error : the share of images that the teacher labels wrongly, if it is known: the sizes of the classes are trusted less if
        it is large.
    views : the result of :func:`prepare_views` for the same images and options, so that several trainings can share it.
    progress : see :data:`Progress`.
    """
    options = (options or AdaptOptions()).filled()
    if labels.max(initial=-1) < 0 or len(labels) != len(images):
        raise InvalidInputError(
            f"adapting needs a label code or −1 for each image, and at least one label; got {len(images)} images, "
            f"{len(labels)} codes and {int((labels >= 0).sum())} labels"
        )
    tell = progress or _silent
    device = resolve_device(options.device)
    loaded = load_trainable(extractor, options.weights).to(device)
    views = views or prepare_views(images, extractor, options, progress)
    backbone = loaded.network if options.form == "full" else split_network(loaded, options)[1]
    if features is None:
        features = _features(backbone, views, len(labels), device)
    probabilities = torch.from_numpy(np.asarray(teacher(features, labels), dtype=np.float32)).to(device)
    training = AdaptTraining(
        backbone, views, torch.from_numpy(labels).to(device), options.chosen,
        n_classes=probabilities.shape[1], n_features=features.shape[1], seed=options.seed,
        head=fit_head(torch.from_numpy(features).to(device), with_labels(probabilities, labels)),
        marginal=class_shares(probabilities, options.chosen.align, error),
    )  # fmt: skip
    settings = replace(options, weights=None, checkpoint=None, device=device.type, recipe=options.chosen)
    state = TrainingState(options.checkpoint, loaded.identity, labels, VERSION, settings)
    _train(training, state, tell, lambda: teach_again(training, teacher, features, labels, error))
    weights = _result(training, loaded, extractor, options)
    if not all(bool(value.isfinite().all()) for value in weights.state.values()):
        state.remove()
        raise TrainingDivergedError(
            f"the weights of the network became infinite or NaN while it was adapted: use a smaller learning rate, or leave "
            f"out --adapt; got {training.recipe.steps} steps with lr={training.recipe.lr:g}"
        )
    return weights


def teach_again(
    training: AdaptTraining,
    teacher: Teacher,
    before: NDArray[np.float32],
    labels: NDArray[np.int64],
    error: float | None = None,
) -> None:
    """Let the teacher predict from the original and the adapted features side by side, and reset the head and the class
    shares to its predictions."""
    device = training.codes.device
    learned = _features(training.average.backbone, training.views, len(labels), device)
    answer = np.asarray(teacher(np.concatenate([unit_rows(before), unit_rows(learned)], axis=1), labels))
    soft = torch.from_numpy(answer.astype(np.float32)).to(device)
    head = fit_head(torch.from_numpy(learned).to(device), with_labels(soft, labels))
    training.begin_again(head, class_shares(soft, training.recipe.align, error))


def with_labels(probabilities: Tensor, labels: NDArray[np.int64]) -> Tensor:
    """The teacher's probabilities, except that every labelled image has its own label with probability 1."""
    soft = probabilities.clone()
    rows = np.flatnonzero(labels >= 0)
    soft[rows] = 0
    soft[rows, labels[rows]] = 1
    return soft


def _read(paths: Sequence[Path], extractor: Extractor, tell: Progress) -> Tensor:
    return read_squares(paths, extractor.preprocess, lambda done, total: tell("read", done, total))


def view_features(
    extractor: Extractor, views: ViewSource, n: int, options: AdaptOptions
) -> NDArray[np.float32]:
    """The features of all ``n`` images, computed by an adapted extractor from the views of :func:`prepare_views`."""
    device = resolve_device(options.device)
    on_device = extractor.to(device)
    network = on_device.network if options.form == "full" else split_network(on_device, options)[1]
    return _features(network, views, n, device)


@torch.no_grad()
def _features(
    backbone: nn.Module, views: ViewSource, n: int, device: torch.device, chunk: int = 64
) -> NDArray[np.float32]:
    rows = torch.arange(n, device=device)
    parts = [backbone.eval()(views.center(part)).float().cpu() for part in rows.split(chunk)]
    return torch.cat(parts).numpy()


def prepare_views(
    images: Sequence[Path] | Tensor,
    extractor: str,
    options: AdaptOptions | None = None,
    progress: Progress | None = None,
    *,
    only_center: bool = False,
) -> ViewSource:
    """Prepare the inputs of a training; the parameters are those of :func:`adapt_network`.

    With ``only_center``, the form ``"last"`` computes no random views, which is enough for :func:`view_features`.
    """
    options, tell = (options or AdaptOptions()).filled(), progress or _silent
    device = resolve_device(options.device)
    loaded = load_trainable(extractor, options.weights)
    squares = images if isinstance(images, Tensor) else _read(images, loaded, tell)
    live = LiveViews(squares, loaded.preprocess, options.size or loaded.preprocess.size, device)
    if options.form == "full":
        return live
    frozen = load_extractor(extractor, options.weights)
    trunk, _ = split_network(frozen.to(device), options)
    wanted = options.n_views or 0
    return kept_views(
        live, trunk.eval(), len(squares), wanted, options.seed, lambda *done: tell("views", *done), only_center=only_center
    )  # fmt: skip


def split_network(extractor: Extractor, options: AdaptOptions) -> tuple[nn.Module, nn.Module]:
    """The trunk, which is not trained, and the last blocks, which are."""
    if not hasattr(extractor.network, "split"):
        raise InvalidInputError(
            f"only the networks lite0, lite1 and lite2 can adapt their last blocks alone: use one of them, or a GPU and "
            f"--adapt full; got {extractor.name}"
        )
    return extractor.network.split(options.blocks)  # type: ignore[operator]


def kept_views(
    live: LiveViews,
    trunk: nn.Module,
    n: int,
    wanted: int,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
    *,
    only_center: bool = False,
) -> CachedViews | TrunkViews:
    """The trunk's outputs for ``wanted`` views of each kind, or for fewer if memory is short; for new views at every step if
    none are wanted or none fit."""
    with torch.no_grad():
        probe = trunk(live.center(torch.zeros(1, dtype=torch.int64, device=live.device)))
    n_views = views_that_fit(n, 2 * probe.numel(), wanted)
    if not n_views:
        return TrunkViews(live, trunk)
    size = 2 * probe.numel() * n * (2 * n_views + 1) / 2**30
    logger.info("%d weak and strong views of each image are kept: %.2g GiB", n_views, size)
    generator = torch.Generator(live.device).manual_seed(seed)
    return CachedViews(live, n, trunk, 0 if only_center else n_views, generator, progress)


def _train(training: AdaptTraining, state: TrainingState, tell: Progress, teach: Callable[[], None]) -> None:
    if (earlier := state.load(training.codes.device)) is not None:
        training.restore(earlier)
        tell("continue", training.number, training.recipe.steps)
    total = training.recipe.steps
    saved, loss = time.monotonic(), ""
    while training.number < total:
        try:
            parts = training.step()
        except torch.OutOfMemoryError as error:
            _shrink(training, error)
            continue
        if training.is_lesson:
            teach()
        if training.number % LOSS_EVERY == 1:
            loss = f"loss {float(parts[:3].sum()):.2f}"
        tell("adapt", training.number, total, loss)
        if time.monotonic() - saved > state.EVERY_S:
            state.save(training.state())
            saved = time.monotonic()


def _shrink(training: AdaptTraining, error: torch.OutOfMemoryError) -> None:
    """Continue with half of the batch."""
    if training.batch < 2 * SMALLEST_BATCH:
        raise NotEnoughMemoryError(
            f"the GPU has not enough memory to adapt with {training.batch} labelled images per step: use --adapt last, a "
            f"smaller extractor or a GPU with more memory; got {str(error).splitlines()[0]}"
        ) from error
    training.shrink()
    torch.cuda.empty_cache()
    logger.warning("not enough GPU memory: adapting with %d labelled images per step", training.batch)


def _result(
    training: AdaptTraining, extractor: Extractor, name: str, options: AdaptOptions
) -> AdaptedWeights:
    learned = training.average.backbone.state_dict()
    if options.form == "full":
        extractor.network.load_state_dict(learned)
    else:
        split_network(extractor, options)[1].load_state_dict(learned)
    state = {key: value.detach().cpu() for key, value in extractor.network.state_dict().items()}
    checkpoint = None if options.checkpoint is None else Path(options.checkpoint)
    return AdaptedWeights(name, options.form, training.recipe.steps, state, checkpoint)


def _silent(what: str, done: int, total: int, loss: str = "") -> None:
    """Used if the caller gave no progress function."""
