import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from grande_gnn.baselines.comatch import CoMatch, CoMatchTraining, lite0, square_image
from grande_gnn.errors import FileFormatError, MissingDependencyError


def tiny(size, weights):
    layer = nn.Conv2d(3, 8, 3)
    nn.init.normal_(layer.weight, std=0.3, generator=torch.Generator().manual_seed(0))
    nn.init.zeros_(layer.bias)
    return nn.Sequential(layer, nn.BatchNorm2d(8), nn.ReLU())


def pictures(n=36, side=24):
    """Stripes of two directions: no colour tells them apart."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    wave = 127 + 100 * np.sin(np.arange(side) * 1.2)
    images = np.stack([np.tile(wave, (side, 1)) if c else np.tile(wave[:, None], (1, side)) for c in y])
    noisy = images[..., None] + rng.normal(size=(n, side, side, 3)) * 10
    return noisy.clip(0, 255).astype(np.uint8), y


def small(**params):
    defaults = {
        "backbone": tiny,
        "size": 21,
        "batch": 8,
        "steps": 30,
        "lr": 0.2,
        "device": "cpu",
        "random_state": 0,
    }
    return CoMatch(**{**defaults, **params})


def squares(images, side=24):
    return torch.stack([square_image(image, side) for image in images])


def training(**params):
    images, y = pictures()
    system = small(**params)
    codes = np.where(np.arange(36) < 6, y, -1)
    return CoMatchTraining(system, squares(images), torch.from_numpy(codes))


def test_learns_and_the_loss_falls():
    run = training()
    losses = [run.step(number) for number in range(30)]
    first, last = (np.mean([loss["labelled"] for loss in part]) for part in (losses[:5], losses[-5:]))
    assert last < 0.5 * first
    images, y = pictures()
    codes = np.where(np.arange(36) < 6, y, -1)
    assert (small().fit(images, codes).transduction_ == y).mean() > 0.9


def test_the_same_seed_gives_the_same_weights():
    runs = [training(), training(), training(random_state=1)]
    for run in runs:
        for number in range(3):
            run.step(number)
    same, again, other = ([p.detach() for p in run.network.parameters()] for run in runs)
    assert all(torch.equal(a, b) for a, b in zip(same, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(same, other, strict=True))


def test_pseudo_labels_are_aligned_and_smoothed():
    run = training()
    logits = torch.tensor([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    z = nn.functional.normalize(torch.randn(4, 64, generator=torch.Generator().manual_seed(0)), dim=1)
    known = torch.tensor([0, 1])
    first = run.pseudo_labels(logits, z, z[:2], known)
    raw = torch.softmax(logits, 1)
    aligned = raw / raw.mean(0)
    torch.testing.assert_close(first, aligned / aligned.sum(1, keepdim=True))
    for _ in range(4):
        run.pseudo_labels(logits, z, z[:2], known)
    smoothed = run.pseudo_labels(logits, z, z[:2], known)
    bank, remembered = (torch.cat(parts) for parts in zip(*list(run.bank)[:5], strict=True))
    expected = 0.9 * first + 0.1 * torch.softmax(z @ bank.T / 0.2, 1) @ remembered
    torch.testing.assert_close(smoothed, expected)
    torch.testing.assert_close(smoothed.sum(1), torch.ones(4))


def test_an_epoch_draws_each_image_once():
    run = training()
    assert sorted(run.draw(run.unlabelled, 30).tolist()) == list(range(6, 36))
    assert np.bincount(run.draw(run.labelled, 12).tolist()).tolist() == [2] * 6


def test_files_and_arrays_are_the_same_images(tmp_path):
    images, y = pictures(8)
    paths = [tmp_path / f"{i}.png" for i in range(8)]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    codes = np.where(np.arange(8) < 4, y, -1)
    by_file, by_array = (small(steps=2).fit(X, codes) for X in (paths, images))
    np.testing.assert_array_equal(by_file.transduction_, by_array.transduction_)
    torch.testing.assert_close(squares(paths), squares(images))


def test_a_file_that_is_no_image_is_named(tmp_path):
    broken = tmp_path / "broken.jpg"
    broken.write_text("not an image")
    with pytest.raises(FileFormatError, match=r"broken\.jpg"):
        small().fit([broken], [0])


def test_lite0_gives_the_features_it_was_published_for():
    pytest.importorskip("efficientnet_lite_pytorch", reason="the images extra is not installed")
    network = lite0(64).eval()
    with torch.no_grad():
        out = network(torch.rand(2, 3, 64, 64))
    assert out.shape == (2, 1280)


def test_lite0_reads_weights_from_a_file(tmp_path):
    pytest.importorskip("efficientnet_lite_pytorch", reason="the images extra is not installed")
    state = {name: torch.zeros_like(value) for name, value in lite0(32).network.state_dict().items()}
    torch.save(state, tmp_path / "weights.pth")
    assert all((p == 0).all() for p in lite0(32, tmp_path / "weights.pth").parameters())


def test_a_missing_package_is_said_with_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "grande-gnn\[images\]"'):
        lite0(32)


def test_the_loss_is_the_weighted_sum_of_its_parts(monkeypatch):
    run = training(threshold=0.0, weight_u=2.0, weight_c=3.0)
    descended = []
    monkeypatch.setattr(run, "_descend", lambda loss, number: descended.append(loss.item()))
    parts = run.step(0)
    assert parts["unlabelled"] > 0
    assert parts["contrast"] > 0
    expected = parts["labelled"] + 2 * parts["unlabelled"] + 3 * parts["contrast"]
    assert descended == [pytest.approx(expected, rel=1e-5)]


def test_only_sure_pseudo_labels_count():
    assert training(threshold=1.1).step(0)["unlabelled"] == 0
    assert training(threshold=0.0).step(0)["unlabelled"] > 0


def test_two_strong_views_of_the_unlabelled_images_and_a_weak_one_of_all(monkeypatch):
    seen = {"weak_view": [], "strong_view": []}
    for name, sizes in seen.items():
        monkeypatch.setattr(
            f"grande_gnn.baselines.comatch.{name}",
            lambda images, size, generator, sizes=sizes: (
                sizes.append(len(images)) or images[..., :size, :size]
            ),
        )
    training(batch=4, ratio=3).step(0)
    assert seen == {"weak_view": [4, 12], "strong_view": [12, 12]}


def test_probabilities_are_aligned_by_the_mean_of_several_steps():
    run = training()
    z = nn.functional.normalize(torch.randn(2, 64, generator=torch.Generator().manual_seed(0)), dim=1)
    steps = [torch.tensor([[3.0, 0.0], [2.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, 2.0]])]
    for logits in steps:
        answer = run.pseudo_labels(logits, z, z, torch.tensor([0, 1]))
    raw = [torch.softmax(logits, 1) for logits in steps]
    expected = raw[1] / ((raw[0].mean(0) + raw[1].mean(0)) / 2)
    torch.testing.assert_close(answer, expected / expected.sum(1, keepdim=True))


def test_the_average_keeps_its_memory():
    run = training()
    with torch.no_grad():
        for ours, new in zip(run.average.parameters(), run.network.parameters(), strict=True):
            ours.fill_(1.0)
            new.fill_(5.0)
    run._average_in(0.75)
    assert all((value == 2.0).all() for value in run.average.parameters())


def test_the_optimizer_is_sgd_with_nesterov_momentum():
    """After equal gradients g the weights moved by lr · (1.9 g), then by lr · (2.71 g)."""
    run = training(weight_decay=0.0)
    weight = run.network.classify.weight
    places = [weight.detach().clone()]
    for _ in range(2):
        weight.grad = torch.ones_like(weight)
        run.optimizer.step()
        places.append(weight.detach().clone())
    moved = [((a - b) / run.params.lr).mean().item() for a, b in pairwise(places)]
    assert moved == [pytest.approx(1.9, rel=1e-4), pytest.approx(2.71, rel=1e-4)]
