"""The steps of an adaptation."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.view_source import LiveViews

FAST = Recipe(steps=30, batch=8, lr=0.2, backbone_rate=1.0, ema=0.9)


@pytest.fixture
def start(tiny_network, stripes):
    def make(recipe=FAST, seed=0, **more):
        images, y = stripes()
        codes = torch.from_numpy(np.where(np.arange(36) < 8, y, -1))
        extractor = load_trainable(tiny_network)
        squares = torch.from_numpy(images).permute(0, 3, 1, 2)
        views = LiveViews(squares, extractor.preprocess, 20, torch.device("cpu"))
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
        {"align": "none"},
        {"align": "uniform"},
        {"mean_teacher": False},
        {"smoothing": 0.0},
    ],
)
def test_every_piece_can_be_switched(start, changed):
    run = start(replace(FAST, **changed))
    losses = torch.stack([run.step() for _ in range(3)])
    assert losses.isfinite().all()
    assert (losses[:, 2] == 0).all() == ("contrast" in changed)
    if changed.get("threshold") == 0:
        assert (losses[:, 3] == 1).all()


def test_each_image_is_drawn_once_before_any_is_drawn_again(start):
    run = start()
    assert sorted(run.draw(run.unlabelled, 28).tolist()) == list(range(8, 36))
    assert np.bincount(run.draw(run.labelled, 16).tolist()).tolist() == [2] * 8


def test_without_unlabelled_images_the_labelled_ones_serve(start):
    run = start()
    codes = torch.arange(36) % 2
    full = AdaptTraining(run.network.backbone, run.views, codes, FAST, n_classes=2, n_features=8)
    assert torch.equal(full.unlabelled, full.labelled)
