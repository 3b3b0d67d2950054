"""The steps of an adaptation."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from grande_gnn.images import adapt_training
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.contrast import contrast_loss
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.pseudo_targets import REMEMBERED, WINDOW
from grande_gnn.images.view_source import LiveViews

FAST = Recipe(
    steps=30, batch=8, optimizer="sgd", lr=0.2, backbone_rate=1.0, weight_decay=5e-4, clip=0.0, ema=0.9,
    frozen_norms=False, lessons=0,
)  # fmt: skip


@pytest.fixture
def start(tiny_network, stripes):
    def make(recipe=FAST, seed=0, device="cpu", **more):
        images, y = stripes()
        codes = torch.from_numpy(np.where(np.arange(36) < 8, y, -1)).to(device)
        extractor = load_trainable(tiny_network)
        squares = torch.from_numpy(images).permute(0, 3, 1, 2)
        views = LiveViews(squares, extractor.preprocess, 20, torch.device(device))
        settings = {"n_classes": 2, "n_features": 8, "seed": seed, "marginal": torch.tensor([0.5, 0.5])}
        return AdaptTraining(extractor.network, views, codes, recipe, **settings | more)

    return make


def test_it_learns(start, stripes):
    run = start()
    losses = torch.stack([run.step() for _ in range(30)])
    assert losses[-5:, 0].mean() < 0.6 * losses[:3, 0].mean()
    right = run.predict().argmax(1).numpy() == stripes()[1]
    assert right.mean() > 0.8


def test_the_head_begins_at_what_is_given(start):
    head = (torch.randn(2, 8, generator=torch.Generator().manual_seed(1)), torch.tensor([0.5, -0.5]))
    assert torch.equal(start(head=head).network.classify.weight, head[0])
    other = start(replace(FAST, from_teacher=False), head=head)
    assert not torch.equal(other.network.classify.weight, head[0])


def test_the_backbone_learns_more_slowly(start):
    moved = []
    for rate in (1.0, 0.1, 0.0):
        run = start(replace(FAST, backbone_rate=rate, weight_decay=0.0))
        before = run.network.backbone.trunk[0].weight.detach().clone()
        run.step()
        moved.append((run.network.backbone.trunk[0].weight - before).norm().item())
    assert moved[1] == pytest.approx(0.1 * moved[0], rel=1e-3)
    assert moved[2] == 0


def test_the_average_is_the_exponential_one(start):
    run = start()
    old = run.average.classify.weight.clone()
    run.step()
    memory = min(0.9, 1 / 10)
    torch.testing.assert_close(
        run.average.classify.weight, memory * old + (1 - memory) * run.network.classify.weight.detach()
    )


def test_the_rate_falls_along_a_cosine(start):
    run = start()
    for _ in range(15):
        run.step()
    expected = 0.2 * np.cos(7 * np.pi * 14 / (16 * 30))
    assert run.optimizer.param_groups[-1]["lr"] == pytest.approx(expected)


def test_it_goes_on_from_its_state(start):
    straight, first = start(), start()
    for _ in range(9):
        straight.step()
    for _ in range(4):
        first.step()
    second = start(seed=5)
    second.restore(first.state())
    for _ in range(5):
        second.step()
    for name, value in straight.average.state_dict().items():
        torch.testing.assert_close(second.average.state_dict()[name], value, msg=name)


@pytest.mark.parametrize(
    "changed",
    [
        {"contrast": 0.0},
        {"soft_weights": False, "threshold": 0.0},
        {"mean_teacher": False},
        {"smoothing": 0.0},
        {"contrast_with": "weak"},
        {"frozen_norms": True},
        {"optimizer": "adamw", "lr": 1e-3},
    ],
)
def test_every_piece_can_be_switched(start, changed):
    run = start(replace(FAST, **changed))
    losses = torch.stack([run.step() for _ in range(3)])
    assert losses.isfinite().all()
    assert (losses[:, 2] == 0).all() == ("contrast" in changed)
    if changed.get("threshold") == 0:
        assert (losses[:, 3] == 1).all()


def test_without_shares_nothing_is_aligned(start):
    run = start(marginal=None)
    assert torch.stack([run.step() for _ in range(3)]).isfinite().all()
    assert run.targets.marginal is None
    assert run.targets.means.count == 0


def test_each_image_is_drawn_once_before_any_is_drawn_again(start):
    run = start()
    assert sorted(run.draw(run.unlabelled, 28).tolist()) == list(range(8, 36))
    assert np.bincount(run.draw(run.labelled, 16).tolist()).tolist() == [2] * 8


def test_without_unlabelled_images_the_labelled_ones_serve(start):
    run = start()
    codes = torch.arange(36) % 2
    full = AdaptTraining(run.network.backbone, run.views, codes, FAST, n_classes=2, n_features=8)
    assert torch.equal(full.unlabelled, full.labelled)


def norms(module):
    return [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]


def test_frozen_norms_keep_their_statistics_and_learn_their_scale(start):
    for frozen in (True, False):
        run = start(replace(FAST, frozen_norms=frozen))
        before = [(norm.running_mean.clone(), norm.weight.detach().clone()) for norm in norms(run.network)]
        run.step()
        after = [(norm.running_mean, norm.weight) for norm in norms(run.network)]
        assert before
        for (mean, weight), (new_mean, new_weight) in zip(before, after, strict=True):
            assert torch.equal(mean, new_mean) == frozen
            assert not torch.equal(weight, new_weight)


def test_the_contrast_with_the_weak_view_needs_one_strong_view_less(start, monkeypatch):
    similar = []
    monkeypatch.setattr(
        adapt_training, "contrast_loss", lambda S, *rest: similar.append(S) or contrast_loss(S, *rest)
    )
    for kind, n in (("strong", 2), ("weak", 1)):
        run = start(replace(FAST, contrast_with=kind))
        seen, strong = [], run.views.strong
        run.views.strong = lambda *given, seen=seen, strong=strong: (seen.append(1), strong(*given))[1]
        assert run.step()[2] > 0
        assert len(seen) == n
        assert similar[-1].diagonal().min() < 0.9 / FAST.temperature  # no view is compared with itself


def test_long_gradients_are_scaled_down_and_short_ones_are_not(start):
    lengths = {}
    for clip in (0.0, 0.01, 1e6):
        run = start(replace(FAST, clip=clip))
        run.step()
        parts = [p.grad.norm() for p in run.network.parameters() if p.grad is not None]
        lengths[clip] = torch.stack(parts).norm().item()
    assert lengths[0.01] == pytest.approx(0.01, rel=1e-3)
    assert lengths[1e6] == pytest.approx(lengths[0.0])
    assert lengths[0.0] > 0.1


@pytest.mark.parametrize(("lessons", "expected"), [(0, []), (1, [15]), (2, [10, 20])])
def test_lessons_divide_the_steps_evenly(start, lessons, expected):
    run = start(replace(FAST, lessons=lessons))
    found = []
    for run.number in range(1, 30):
        found += [run.number] * run.is_lesson
    assert found == expected


def test_a_lesson_sets_the_head_of_network_and_average_and_the_shares(start):
    run = start()
    head = (torch.full((2, 8), 3.0), torch.tensor([1.0, -1.0]))
    run.begin_again(head, torch.tensor([0.8, 0.2]))
    for network in (run.network, run.average):
        assert torch.equal(network.classify.weight, head[0])
        assert torch.equal(network.classify.bias, head[1])
    assert run.targets.marginal.tolist() == pytest.approx([0.8, 0.2])
    other = start(seed=5)
    other.restore(run.state())
    assert other.targets.marginal.tolist() == pytest.approx([0.8, 0.2])
    run.begin_again(head, None)
    assert run.targets.marginal.tolist() == pytest.approx([0.8, 0.2])


def test_each_step_of_adam_is_as_long_as_its_rate(start):
    run = start(replace(FAST, optimizer="adamw", lr=1e-3, backbone_rate=0.3, weight_decay=0.0))
    head, body = run.network.classify.bias, run.network.backbone.trunk[0].weight
    before = head.detach().clone(), body.detach().clone()
    run.step()
    moved = (head - before[0]).abs().max().item(), (body - before[1]).abs().max().item()
    assert moved == pytest.approx(
        (1e-3, 3e-4), rel=1e-2
    )  # the first step of Adam is the sign of the gradient


ADAM = replace(
    FAST, steps=60, optimizer="adamw", lr=1e-3, frozen_norms=True, weight_decay=0.05, clip=1.0, lessons=1
)
"""What can be recorded on a GPU."""


class Played:
    """In place of a recording: it computes again what it was given."""

    made = 0

    def __init__(self, function, generator):
        Played.made += 1
        self.function, self.generator = function, generator

    def replay(self):
        return self.function()


def test_a_step_is_recorded_as_soon_as_nothing_grows_and_gives_the_same(start, monkeypatch):
    monkeypatch.setattr(adapt_training, "Recording", Played)
    monkeypatch.setattr(adapt_training, "waits_for_gpu", lambda call: call() is None)
    monkeypatch.setattr(Played, "made", 0)
    plain, recorded = start(ADAM), start(ADAM)
    assert not plain._is_recordable  # there is no GPU
    recorded._is_recordable = True
    for number in range(40):
        torch.testing.assert_close(recorded.step(), plain.step())
        assert Played.made == (number >= WINDOW)
    assert recorded._recording.generator is recorded.generator
    recorded.shrink()
    assert recorded.batch == 4
    for _ in range(REMEMBERED + 1):  # the bank is filled anew
        recorded.step()
    assert Played.made == 2
    recorded.restore(plain.state())
    recorded.step()
    assert Played.made == 3
    assert recorded.number == 41


def test_a_network_that_waits_for_the_gpu_is_not_recorded(start, monkeypatch):
    monkeypatch.setattr(adapt_training, "Recording", Played)
    monkeypatch.setattr(adapt_training, "waits_for_gpu", lambda call: True)
    monkeypatch.setattr(Played, "made", 0)
    run = start(ADAM)
    run._is_recordable = True
    for _ in range(WINDOW + 2):
        run.step()
    assert Played.made == 0
    assert run.number == WINDOW + 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device: steps are recorded there")
@pytest.mark.parametrize(
    ("changed", "more"),
    [({}, {}), ({"contrast_with": "weak"}, {}), ({}, {"marginal": None}), ({"smoothing": 0.0}, {})],
)
def test_recorded_steps_on_a_gpu_are_the_steps(start, changed, more):
    recipe = replace(ADAM, **changed)
    plain, recorded = (start(recipe, device="cuda", **more) for _ in range(2))
    assert recorded._is_recordable
    plain._is_recordable = False
    head, shares = (torch.ones(2, 8, device="cuda"), torch.zeros(2, device="cuda")), torch.tensor([0.3, 0.7])
    for number in range(60):
        torch.testing.assert_close(recorded.step(), plain.step(), rtol=0.02, atol=0.02)
        if number == 45:  # a lesson must reach the recorded step
            for run in (plain, recorded):
                run.begin_again(head, shares)
    assert recorded._recording is not None
    assert plain._recording is None
    state = plain.average.state_dict()
    for name, value in recorded.average.state_dict().items():
        torch.testing.assert_close(value, state[name], rtol=0.05, atol=0.02, msg=name)
    other = start(recipe, seed=5, device="cuda", **more)
    other.restore(recorded.state())
    for _ in range(3):
        torch.testing.assert_close(recorded.step(), other.step(), rtol=0.02, atol=0.02)
