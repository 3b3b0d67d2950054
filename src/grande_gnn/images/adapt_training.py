"""The training that adapts a network: labels, pseudo-labels of unlabelled images, and a contrastive loss between two graphs.

Each step uses one weak view of labelled images, and one weak and two strong views of unlabelled ones, and minimizes

    CE(labelled) + Σ w · CE(strong view | pseudo-label p) / n + CE(Q, S)

with p and w from :mod:`grande_gnn.images.pseudo_targets`, Q and S from :mod:`grande_gnn.images.contrast`. The head is first
fitted to the teacher's soft labels (:mod:`grande_gnn.images.soft_head`), and once more after half of the steps. The backbone
has a lower learning rate than head and projection. The result is an exponential moving average of the weights.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, normalize

from grande_gnn.images.contrast import contrast_loss
from grande_gnn.images.pseudo_targets import PseudoTargets
from grande_gnn.images.recording import Recording, waits_for_gpu
from grande_gnn.images.view_source import ViewSource

__all__ = ["AdaptTraining", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """The settings of an adaptation. Each piece can be switched off, which is how it was measured (``docs/adapt.md``)."""

    steps: int = 400
    """Training steps; more did not help."""
    batch: int = 32
    """Labelled images per step."""
    ratio: int = 3
    """Unlabelled images per labelled image in a step."""
    optimizer: str = "adamw"
    """``"adamw"``, or ``"sgd"`` with Nesterov momentum 0.9; both with cosine decay."""
    lr: float = 1e-3
    """Learning rate of head and projection."""
    anneal: float = 7 / 16
    """The rates are scaled by cos(``anneal`` · π · progress): 1/2 lets them end at 0."""
    backbone_rate: float = 0.3
    """The backbone's learning rate, as a fraction of ``lr``."""
    weight_decay: float = 0.05
    clip: float = 1.0
    """The largest norm of a step's gradient: larger ones are scaled down to it; 0: no clipping."""
    ema: float = 0.99
    """Decay of the exponential moving average of the weights."""
    temperature: float = 0.2
    """τ of the softmax that makes the embedding graph."""
    from_teacher: bool = True
    """Whether the head is first fitted to the teacher's soft labels; otherwise it starts at random."""
    lessons: int = 1
    """In a lesson, the teacher predicts again from the original and the adapted features, and the head is fitted to these
    predictions. Lessons are spread evenly: a single one comes after half of the steps."""
    align: str = "teacher"
    """What pseudo-labels are aligned to: one of :data:`~grande_gnn.images.class_shares.ALIGNMENTS`."""
    soft_weights: bool = True
    """Whether pseudo-labels are weighted by their confidence; if not, only those of at least ``threshold`` are used."""
    threshold: float = 0.9
    smoothing: float = 0.1
    """The weight of similar images in a pseudo-label."""
    contrast: float = 1.0
    """Weight of the contrastive loss between the two graphs."""
    contrast_with: str = "strong"
    """What the contrastive loss compares a strong view with: another ``"strong"`` view, or the ``"weak"`` view, embedded by
    the network that gives the pseudo-labels, which saves a third of a step."""
    contrast_threshold: float = 0.8
    """Two images are neighbors in the pseudo-label graph if they are of the same class with at least this probability."""
    mean_teacher: bool = True
    """Whether pseudo-labels come from the averaged weights and the running statistics, instead of the current weights and
    the statistics of the batch. On the one fold where both were tried, it was several points better (``docs/adapt.md``)."""
    frozen_norms: bool = True
    """Whether batch normalizations keep the statistics of the original network, so that the features of an image do not
    depend on the other images in its batch."""


class _WithHeads(nn.Module):
    """A backbone that computes features, with a linear classifier and a two-layer projection onto the unit sphere."""

    def __init__(self, backbone: nn.Module, width: int, n_classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.backbone = backbone
        self.classify = nn.Linear(width, n_classes)
        hidden = width // 4 or 1
        self.project = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 64))
        for layer in (self.classify, self.project[0], self.project[2]):
            assert isinstance(layer, nn.Linear)
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        features = self.backbone(inputs).float()
        return self.classify(features), normalize(self.project(features), dim=1)


@torch.no_grad()
def _set_head(network: _WithHeads, head: tuple[Tensor, Tensor]) -> None:
    network.classify.weight.copy_(head[0])
    network.classify.bias.copy_(head[1])


class AdaptTraining:
    """One training: network, averaged network, optimizer and running statistics. :meth:`restore` resumes from a
    :meth:`state`.

    On a GPU, launching the kernels of a step takes the CPU longer than they run. So the step is recorded as soon as each
    step does the same as the one before, and replayed from then on.
    """

    def __init__(
        self,
        backbone: nn.Module,
        views: ViewSource,
        codes: Tensor,
        recipe: Recipe,
        *,
        n_classes: int,
        n_features: int,
        head: tuple[Tensor, Tensor] | None = None,
        marginal: Tensor | None = None,
        seed: int = 0,
    ) -> None:
        device = codes.device
        self.views, self.codes, self.recipe, self.n_classes = views, codes, recipe, n_classes
        self.batch = recipe.batch
        self.labelled = (codes >= 0).nonzero()[:, 0]
        unlabelled = (codes < 0).nonzero()[:, 0]
        self.unlabelled = unlabelled if len(unlabelled) else self.labelled
        network = _WithHeads(backbone, n_features, n_classes, torch.Generator().manual_seed(seed))
        if head is not None and recipe.from_teacher:
            _set_head(network, head)
        self.network = network.train(not recipe.frozen_norms).requires_grad_(True).to(device)
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = copy.deepcopy(self.network).eval().requires_grad_(False)
        self._averaged = self._pairs()
        self.generator = torch.Generator(device).manual_seed(seed)
        self.optimizer = self._new_optimizer()
        shares = None if marginal is None else marginal.to(device).float()
        self.targets = PseudoTargets(shares, recipe.temperature, recipe.smoothing)
        self.number = 0
        self._share = torch.zeros((), device=device)
        """The weight of the new network in the average; a tensor, because a recorded step reads it anew."""
        self._recording: Recording | None = None
        self._is_recordable = device.type == "cuda" and recipe.optimizer == "adamw" and views.is_on_device

    def _new_optimizer(self) -> torch.optim.Optimizer:
        recipe, groups = self.recipe, []
        backbone = {id(p) for p in self.network.backbone.parameters()}
        for rate, chosen in ((recipe.backbone_rate, True), (1.0, False)):
            own = [p for p in self.network.parameters() if (id(p) in backbone) == chosen]
            matrices, others = ([p for p in own if (p.ndim > 1) == many] for many in (True, False))
            groups.append({"params": matrices, "weight_decay": recipe.weight_decay, "rate": rate})
            groups.append({"params": others, "weight_decay": 0.0, "rate": rate})  # batch norms and biases
        filled: list[dict[str, Any]] = [group for group in groups if group["params"]]
        if recipe.optimizer == "sgd":
            return torch.optim.SGD(filled, lr=recipe.lr, momentum=0.9, nesterov=True)
        if self.codes.is_cuda:  # a recorded step reads its rates from tensors
            for group in filled:
                group["lr"] = torch.tensor(recipe.lr, device=self.codes.device)
            return torch.optim.AdamW(filled, betas=(0.9, 0.99), fused=True, capturable=True)
        return torch.optim.AdamW(filled, lr=recipe.lr, betas=(0.9, 0.99))

    @property
    def is_lesson(self) -> bool:
        """Whether the teacher should predict again before the next step."""
        n = self.recipe.lessons
        return self.number in {self.recipe.steps * (i + 1) // (n + 1) for i in range(n)}

    def begin_again(self, head: tuple[Tensor, Tensor], marginal: Tensor | None) -> None:
        """Continue with a new head and with new class shares."""
        for network in (self.network, self.average):
            _set_head(network, head)
        if self.targets.marginal is not None and marginal is not None:
            self.targets.marginal.copy_(marginal)

    def draw(self, rows: Tensor, n: int) -> Tensor:
        """Draw ``n`` of the rows at random, without repeating any while there are enough."""
        times = -(-n // len(rows))
        order = torch.rand(times, len(rows), generator=self.generator, device=rows.device).argsort(1)
        return rows[order.flatten()[:n]]

    def step(self) -> Tensor:
        """One step; returns the losses of labels, pseudo-labels and contrast, and the mean weight of a pseudo-label.

        The returned tensor may be overwritten by the next step.
        """
        self._set_rates()
        if self._recording is None and self._is_recordable and self.targets.is_settled:
            self._record()
        parts = self._compute() if self._recording is None else self._recording.replay()
        self.number += 1
        return parts

    def _record(self) -> None:
        """Record the step, unless the network cannot be recorded."""
        sample = self.views.center(self.labelled[:1])
        with torch.no_grad():
            self._is_recordable = not waits_for_gpu(lambda: self.average(sample))
        if self._is_recordable:
            self.optimizer.zero_grad(set_to_none=True)
            self._recording = Recording(self._compute, self.generator)

    def shrink(self) -> None:
        """Continue with half of the batch, because memory is short."""
        self._recording = None
        self.optimizer.zero_grad(set_to_none=True)
        self.batch //= 2

    def _compute(self) -> Tensor:
        recipe = self.recipe
        rows = self.draw(self.labelled, self.batch)
        free = self.draw(self.unlabelled, self.batch * recipe.ratio)
        known = self.codes[rows]
        weak = self.views.weak(free, self.generator)
        inputs = [self.views.weak(rows, self.generator), self.views.strong(free, self.generator)]
        if recipe.contrast and recipe.contrast_with == "strong":
            inputs.append(self.views.strong(free, self.generator))
        teacher = self.average if recipe.mean_teacher else self.network
        with torch.autocast("cuda", torch.bfloat16, enabled=rows.is_cuda, cache_enabled=False):
            with torch.no_grad():
                logits_w, z_w = teacher(weak)
            logits, embedded = self.network(torch.cat(inputs).contiguous(memory_format=torch.channels_last))
        sizes = [len(part) for part in inputs]
        logits_x, logits_s = logits.float().split(sizes)[:2]
        z_x, *z = embedded.float().split(sizes)
        target = self.targets.targets(logits_w.float(), z_w.float(), z_x.detach(), known)
        weight = (
            self.targets.weights(target)
            if recipe.soft_weights
            else (target.amax(1) >= recipe.threshold).float()
        )
        loss_x = cross_entropy(logits_x, known)
        loss_u = -(log_softmax(logits_s, 1) * target).sum(1).mul(weight).mean()
        loss_c = torch.zeros_like(loss_x)
        if recipe.contrast:
            other = z[1] if recipe.contrast_with == "strong" else z_w.float()
            loss_c = contrast_loss(z[0] @ other.T / recipe.temperature, target, recipe.contrast_threshold)
        self._descend(loss_x + loss_u + recipe.contrast * loss_c)
        return torch.stack([loss_x, loss_u, loss_c, weight.mean()]).detach()

    def _set_rates(self) -> None:
        """Set the learning rates and the weight of the average for the next step."""
        decay = math.cos(self.recipe.anneal * math.pi * self.number / self.recipe.steps)
        for group in self.optimizer.param_groups:
            rate = self.recipe.lr * group["rate"] * decay
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        memory = min(
            self.recipe.ema, (1 + self.number) / (10 + self.number)
        )  # at first, the average forgets faster
        self._share.fill_(1 - memory)

    def _descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.recipe.clip:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self.optimizer.step()
        self._average_in()

    @torch.no_grad()
    def _average_in(self) -> None:
        old, new = self._averaged
        change = torch._foreach_sub(new, old)
        torch._foreach_mul_(change, self._share)
        torch._foreach_add_(old, change)

    def _pairs(self) -> tuple[list[Tensor], list[Tensor]]:
        """The tensors of the averaged network and of the network, in the same order; they are only ever changed in place."""
        new = self.network.state_dict()
        pairs = [
            (old, new[name]) for name, old in self.average.state_dict().items() if old.is_floating_point()
        ]
        return [old for old, _ in pairs], [value for _, value in pairs]

    @torch.inference_mode()
    def predict(self, chunk: int = 256) -> Tensor:
        """The class probabilities that the averaged network gives to the center view of every image."""
        rows = torch.arange(len(self.codes), device=self.codes.device)
        parts = [self.average(self.views.center(part))[0].softmax(1) for part in rows.split(chunk)]
        return torch.cat(parts)

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs, as tensors, numbers and lists of them."""
        return {
            "network": self.network.state_dict(), "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(), "generator": self.generator.get_state(),
            "number": self.number, "batch": self.batch, "targets": self.targets.state(),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a :meth:`state`."""
        self._recording = None
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"].cpu())
        self.number, self.batch = state["number"], state["batch"]
        self.targets.restore(state["targets"])
