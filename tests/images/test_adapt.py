"""Adapting from images and labels to weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn.errors import InvalidInputError, NotEnoughMemoryError, TrainingDivergedError
from grande_gnn.images import load_extractor
from grande_gnn.images.adapt import (
    DEFAULTS,
    AdaptOptions,
    adapt_network,
    kept_views,
    with_labels,
)
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.side_by_side import unit_rows
from grande_gnn.images.squares import square_features

RECIPE = Recipe(
    steps=12, batch=8, optimizer="sgd", lr=0.2, backbone_rate=1.0, weight_decay=5e-4, clip=0.0, ema=0.5, frozen_norms=False
)  # fmt: skip
OPTIONS = AdaptOptions("full", RECIPE, size=20, device="cpu")


def teacher(features, labels):
    """Nothing is known but the labels."""
    return np.full((len(features), labels.max() + 1), 1 / (labels.max() + 1))


@pytest.fixture
def task(stripes):
    images, y = stripes()
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), np.where(np.arange(36) < 8, y, -1)


@pytest.mark.parametrize("form", ["full", "last"])
def test_weights_of_the_extractor_come_out(form, task, tiny_network, tmp_path):
    told = []
    adapted = adapt_network(
        *task, tiny_network, teacher, replace(OPTIONS, form=form), progress=lambda *step: told.append(step)
    )
    adapted.save(tmp_path / "a.safetensors")
    frozen, new = load_extractor(tiny_network), load_extractor(tiny_network, tmp_path / "a.safetensors")
    assert new.identity != frozen.identity
    changed = {
        key.split(".")[0]
        for key, value in new.network.state_dict().items()
        if not torch.equal(value, frozen.network.state_dict()[key])
    }
    assert changed == ({"trunk", "tail"} if form == "full" else {"tail"})
    assert told[-1][:3] == ("adapt", 12, 12)
    assert told[-1][3].startswith("loss ")


def test_adapted_features_tell_the_classes_apart_better(task, tiny_network, tmp_path, stripes):
    adapted = adapt_network(*task, tiny_network, teacher, replace(OPTIONS, recipe=replace(RECIPE, steps=40)))
    adapted.save(tmp_path / "a.safetensors")
    y, spread = stripes()[1], []
    for extractor in (load_extractor(tiny_network), adapted.load(tmp_path / "a.safetensors")):
        X = square_features(extractor, task[0], torch.device("cpu"))
        X = (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0))
        means = np.stack([X[y == c].mean(axis=0) for c in (0, 1)])
        spread.append(np.linalg.norm(means[0] - means[1]))
    assert spread[1] > 1.2 * spread[0]


def test_files_and_squares_are_the_same_images(task, tiny_network, tmp_path):
    squares, labels = task
    paths = []
    for i, square in enumerate(squares):
        paths.append(tmp_path / f"{i:02d}.png")
        Image.fromarray(square.permute(1, 2, 0).numpy()).save(paths[-1])
    one, other = (adapt_network(X, labels, tiny_network, teacher, OPTIONS) for X in (paths, squares))
    for name, value in one.state.items():
        torch.testing.assert_close(other.state[name], value)


def test_the_teacher_sees_the_features_as_they_come(task, tiny_network):
    seen = []

    def listen(features, labels):
        seen.append((features, labels))
        return teacher(features, labels)

    adapt_network(*task, tiny_network, listen, replace(OPTIONS, recipe=replace(RECIPE, steps=1)))
    features, labels = seen[0]
    expected = square_features(load_extractor(tiny_network), task[0], torch.device("cpu"))
    np.testing.assert_allclose(features, expected, atol=1e-4)
    assert (labels == task[1]).all()


def test_halfway_the_teacher_sees_the_features_before_and_after(task, tiny_network, monkeypatch):
    seen, begun = [], []

    def listen(features, labels):
        seen.append(features)
        answer = teacher(features, labels)
        answer[:, 0] = 0.9 if len(seen) > 1 else 0.5
        return answer / answer.sum(axis=1, keepdims=True)

    again = AdaptTraining.begin_again
    monkeypatch.setattr(
        AdaptTraining, "begin_again",
        lambda self, head, marginal: begun.append((self.number, marginal)) or again(self, head, marginal),
    )  # fmt: skip
    adapt_network(*task, tiny_network, listen, OPTIONS)
    first, second = seen
    assert second.shape == (36, 2 * first.shape[1])
    np.testing.assert_allclose(second[:, : first.shape[1]], unit_rows(first), atol=1e-6)
    assert np.abs(second[:, first.shape[1] :] - unit_rows(first)).max() > 1e-3
    ((number, marginal),) = begun
    assert number == 6
    assert marginal[0] > marginal[1]


def test_labels_are_sure_in_what_the_head_begins_with():
    soft = with_labels(torch.full((3, 2), 0.5), np.array([1, -1, 0]))
    assert soft.tolist() == [[0, 1], [0.5, 0.5], [1, 0]]


def test_a_killed_run_goes_on(task, tiny_network, tmp_path, monkeypatch):
    whole = adapt_network(*task, tiny_network, teacher, OPTIONS)
    keeping = replace(OPTIONS, checkpoint=tmp_path / "state")
    monkeypatch.setattr("grande_gnn.images.training_state.TrainingState.EVERY_S", 0.0)
    step, done = AdaptTraining.step, []

    def killed(self):
        if len(done) == 7:
            raise KeyboardInterrupt
        done.append(self.number)
        return step(self)

    monkeypatch.setattr(AdaptTraining, "step", killed)
    with pytest.raises(KeyboardInterrupt):
        adapt_network(*task, tiny_network, teacher, keeping)
    assert (tmp_path / "state").exists()
    done.clear()
    monkeypatch.setattr(AdaptTraining, "step", lambda self: done.append(self.number) or step(self))
    again = adapt_network(*task, tiny_network, teacher, keeping)
    assert done == [7, 8, 9, 10, 11]
    for name, value in whole.state.items():
        torch.testing.assert_close(again.state[name], value)
    again.save(tmp_path / "weights.safetensors")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("change", [{"seed": 1}, {"size": 22}, {"recipe": replace(RECIPE, lr=0.01)}])
def test_a_training_with_other_options_does_not_continue_it(
    change, task, tiny_network, tmp_path, monkeypatch
):
    keeping = replace(OPTIONS, checkpoint=tmp_path / "state")
    monkeypatch.setattr("grande_gnn.images.training_state.TrainingState.EVERY_S", 0.0)
    adapt_network(*task, tiny_network, teacher, keeping)  # its weights are not saved, so the checkpoint stays
    assert (tmp_path / "state").exists()
    step, done = AdaptTraining.step, []
    monkeypatch.setattr(AdaptTraining, "step", lambda self: done.append(self.number) or step(self))
    adapt_network(*task, tiny_network, teacher, replace(keeping, **change))
    assert done == list(range(RECIPE.steps))


def test_a_training_that_diverges_says_so_and_leaves_nothing(task, tiny_network, tmp_path, monkeypatch):
    monkeypatch.setattr("grande_gnn.images.training_state.TrainingState.EVERY_S", 0.0)
    wild = replace(OPTIONS, recipe=replace(RECIPE, lr=1e30, clip=0.0), checkpoint=tmp_path / "state")
    with pytest.raises(TrainingDivergedError, match=r"infinite or NaN.*got 12 steps with lr=1e\+30"):
        adapt_network(*task, tiny_network, teacher, wild)
    assert not (tmp_path / "state").exists()


def test_too_little_memory_means_smaller_batches(task, tiny_network, monkeypatch, caplog):
    step, batches = AdaptTraining.step, []

    def limited(self, most=4):
        batches.append(self.batch)
        if self.batch > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return step(self)

    monkeypatch.setattr(AdaptTraining, "step", limited)
    adapt_network(*task, tiny_network, teacher, OPTIONS)
    assert batches == [8] + [4] * 12
    assert caplog.text.count("not enough GPU memory: adapting with 4 labelled images per step") == 1
    monkeypatch.setattr(AdaptTraining, "step", lambda self: limited(self, 2))
    with pytest.raises(NotEnoughMemoryError, match=r"--adapt last.*got CUDA out of memory"):
        adapt_network(*task, tiny_network, teacher, OPTIONS)


def test_what_cannot_be_adapted_is_refused(task, tiny_network):
    with pytest.raises(InvalidInputError, match="form must be one of full, last"):
        AdaptOptions("half")
    with pytest.raises(InvalidInputError, match="pixels has no weights, so there is nothing to adapt"):
        adapt_network(*task, "pixels", teacher, OPTIONS)
    with pytest.raises(InvalidInputError, match="at least one label; got 36 images, 36 codes and 0 labels"):
        adapt_network(task[0], np.full(36, -1), tiny_network, teacher, OPTIONS)


def test_what_is_left_open_depends_on_the_device():
    filled = AdaptOptions("last", device="cpu").filled()
    assert {key: getattr(filled, key) for key in DEFAULTS["cpu"]} == DEFAULTS["cpu"]
    assert OPTIONS.filled().recipe is OPTIONS.chosen is RECIPE
    assert replace(OPTIONS, n_views=0).filled().n_views == 0
    assert DEFAULTS["cuda"]["n_views"] == 0  # every view is a new one


def test_views_are_kept_as_far_as_memory_allows(task, tiny_network, monkeypatch):
    from grande_gnn.images import view_source
    from grande_gnn.images.networks import load_trainable
    from grande_gnn.images.view_source import CachedViews, LiveViews, TrunkViews

    loaded = load_trainable(tiny_network)
    live = LiveViews(task[0], loaded.preprocess, 20, torch.device("cpu"))
    trunk, _ = loaded.network.split(1)
    assert len(kept_views(live, trunk, 36, 2).maps) == 5
    one = 36 * 2 * 8 * 18 * 18
    monkeypatch.setattr(view_source, "MAPS", 3 * one)
    kept = kept_views(live, trunk, 36, 2)
    assert isinstance(kept, CachedViews)
    assert len(kept.maps) == 3
    assert isinstance(kept_views(live, trunk, 36, 0), TrunkViews)
    monkeypatch.setattr(view_source, "MAPS", 3 * one - 1)
    assert isinstance(kept_views(live, trunk, 36, 2), TrunkViews)


def test_the_error_of_the_teacher_says_how_far_its_shares_are_believed(task, tiny_network, monkeypatch):
    def unequal(features, labels):
        answer = np.full((len(features), 2), 0.3)
        answer[:30, 0], answer[30:, 1] = 0.7, 0.7
        return answer

    first = []
    started, again = AdaptTraining.__init__, AdaptTraining.begin_again
    monkeypatch.setattr(
        AdaptTraining, "__init__", lambda self, *a, **k: first.append(k["marginal"]) or started(self, *a, **k)
    )
    monkeypatch.setattr(
        AdaptTraining, "begin_again", lambda self, head, m: first.append(m) or again(self, head, m)
    )
    for error in (0.0, 0.9):
        adapt_network(*task, tiny_network, unequal, OPTIONS, error=error)
    counted, equal = torch.tensor([31 / 38, 7 / 38]), torch.tensor([0.5, 0.5])
    torch.testing.assert_close(torch.stack(first), torch.stack([counted, counted, equal, equal]))
