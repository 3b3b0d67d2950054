"""What every system of the registry must do, whatever it is inside."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from grande_gnn.baselines import SYSTEMS
from grande_gnn.errors import InvalidInputError
from grande_gnn.images.adapt_training import Recipe


def tiny_backbone(size, weights):
    """A fixed convolution: CoMatch's mechanics at no cost."""
    layer = nn.Conv2d(3, 6, 3, padding=1)
    nn.init.orthogonal_(layer.weight.view(6, 27), generator=torch.Generator().manual_seed(0))
    nn.init.zeros_(layer.bias)
    return nn.Sequential(layer, nn.ReLU())


SMALL = {
    "gnn-lds": {"rounds": 2, "inner_steps": 40, "n_neighbors": 5, "device": "cpu"},
    "comatch": {"backbone": tiny_backbone, "size": 14, "steps": 12, "batch": 12, "lr": 0.5, "device": "cpu"},
    "grande-adapt": {
        "extractor": "tiny",
        "model": "sgc",
        "epochs": 30,
        "device": "cpu",
        "recipe": Recipe(steps=2, batch=8, lr=0.01),
    },
    "ml-perc": {"scale": True},
} | {
    name: {"n_neighbors": 8, "epochs": 40, "lr": 0.1, "hidden": 16, "device": "cpu"}
    for name, entry in SYSTEMS.items()
    if entry.models
}

CASES = [(name, model) for name, entry in SYSTEMS.items() for model in entry.models or (None,)]


@pytest.fixture(autouse=True)
def _tiny(tiny_network):
    """The network of grande-adapt."""


@pytest.fixture(params=CASES, ids=lambda case: "-".join(filter(None, case)))
def case(request):
    return request.param


def make(case, **params):
    name, model = case
    chosen = {"model": model} if model else {}
    return SYSTEMS[name].make(**SMALL.get(name, {}), **chosen, random_state=3, **params)


def samples(case, y, seed=0, centers=None):
    """Clouds of features, or noisy images of one color for a system that needs them."""
    rng = np.random.default_rng(seed)
    if SYSTEMS[case[0]].needs_images:
        colors = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200]])[y % 3]
        noisy = colors[:, None, None, :] + rng.normal(size=(len(y), 16, 16, 3)) * 20
        return noisy.clip(0, 255).astype(np.uint8)
    centers = np.eye(6)[:, ::-1] * 6 if centers is None else centers
    return (centers[y] + rng.normal(size=(len(y), centers.shape[1]))).astype(np.float32)


def few_labels(y, per_class=4):
    given = np.full(len(y), -1)
    for code in np.unique(y):
        given[np.flatnonzero(y == code)[:per_class]] = code
    return given


def test_labels_every_sample_and_learns(case):
    y = np.arange(66) % 3
    given = few_labels(y)
    names = np.array(["ant", "bee", "cat"])
    labels = np.where(given >= 0, names[given], "")
    system = make(case)
    assert system.fit(samples(case, y), labels) is system
    assert system.classes_.tolist() == ["ant", "bee", "cat"]
    assert system.transduction_.shape == (66,)
    assert system.reached_.shape == (66,)
    assert system.reached_.dtype == bool
    assert (system.transduction_ == names[y])[given < 0].mean() > 0.8


def test_every_way_to_say_unlabelled(case):
    y = np.arange(24) % 2
    X = samples(case, y)
    given = few_labels(y)
    expected = make(case).fit(X, given).transduction_
    for missing in (None, float("nan"), -1):
        labels = [missing if code < 0 else int(code) for code in given]
        np.testing.assert_array_equal(make(case).fit(X, labels).transduction_, expected)


def test_a_seed_decides_everything_and_nothing_else_is_touched(case):
    y = np.arange(30) % 3
    X, given = samples(case, y), few_labels(y)
    before = X.copy(), given.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = make(case).fit(X, given)
    np.random.default_rng(9).normal()
    second = clone(first).fit(X, given)
    np.testing.assert_array_equal(first.transduction_, second.transduction_)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(given, before[1])
    np.testing.assert_array_equal(np.random.get_state()[1], before[2])  # noqa: NPY002


def test_folds_agree_with_fit(case):
    y = np.arange(36) % 3
    X = samples(case, y)
    folds = np.stack([few_labels(y), few_labels(y[::-1])[::-1]])
    first, second = make(case).transduce_folds(X, folds)
    np.testing.assert_array_equal(make(case).fit(X, folds[0]).transduction_, first.codes)
    np.testing.assert_array_equal(first.reached, make(case).fit(X, folds[0]).reached_)
    assert second.codes.shape == (36,)


def test_a_class_with_one_label_and_one_absent_from_a_fold(case):
    y = np.arange(36) % 3
    X, given = samples(case, y), few_labels(y)
    given[np.flatnonzero(given == 1)[1:]] = -1
    assert set(make(case).fit(X, given).transduction_) <= {0, 1, 2}
    (without,) = make(case).transduce_folds(X, np.where(given == 1, -1, given)[None])
    right = without.codes == y
    assert right[y != 1].mean() > 0.8


@pytest.mark.parametrize("classes", [1, 2])
def test_few_classes(case, classes):
    y = np.arange(24) % classes
    result = make(case).fit(samples(case, y), few_labels(y))
    assert set(result.transduction_) == set(range(classes))


def test_all_labelled(case):
    y = np.arange(24) % 2
    assert make(case).fit(samples(case, y), y).reached_.all()


def test_disconnected_data(case):
    if SYSTEMS[case[0]].needs_images:
        pytest.skip("images have no neighbors")
    y = np.repeat([0, 1, 2], 15)
    X = samples(case, y, centers=np.eye(3) * 100)
    given = few_labels(y)
    given[y == 2] = -1
    system = make(case).fit(X, given)
    assert set(system.transduction_) <= {0, 1}
    assert system.reached_[given >= 0].all()
    if not system.reached_.all():
        assert not system.reached_[y == 2].any()
    near = system.reached_ & (y < 2)
    assert (system.transduction_ == y)[near].mean() > 0.9


def test_fewer_samples_than_neighbors(case):
    y = np.array([0, 1, 0, 1, 0])
    assert make(case).fit(samples(case, y), [0, 1, -1, -1, -1]).transduction_.shape == (5,)


def test_clear_errors(case):
    y = np.arange(12) % 2
    X = samples(case, y)
    with pytest.raises(InvalidInputError, match=r"at least one sample must be labelled.*12 samples"):
        make(case).fit(X, [-1] * 12)
    with pytest.raises(InvalidInputError, match="12 samples; got 11 labels"):
        make(case).fit(X, y[:-1])
    with pytest.raises(InvalidInputError, match="got none in fold 1"):
        make(case).transduce_folds(X, np.stack([y, np.full(12, -1)]))
    with pytest.raises(InvalidInputError, match=r"got shape \(12,\)"):
        make(case).transduce_folds(X, y)


def test_clear_errors_about_samples(case):
    y = np.arange(12) % 2
    if SYSTEMS[case[0]].needs_images:
        with pytest.raises(InvalidInputError, match="images, not features"):
            make(case).fit(np.zeros((12, 4)), y)
    else:
        bad = samples(case, y)
        bad[5, 1] = np.nan
        with pytest.raises(InvalidInputError, match="the first is row 5"):
            make(case).fit(bad, y)
        with pytest.raises(InvalidInputError, match="matrix"):
            make(case).fit(bad[:, 0], y)


def test_parameters_are_stored_unchanged(case):
    system = make(case)
    assert clone(system).get_params() == system.get_params()
    if "device" in system.get_params() and not torch.cuda.is_available():
        y = np.arange(12) % 2
        with pytest.raises(InvalidInputError, match="no CUDA device"):
            system.set_params(device="cuda").fit(samples(case, y), y)
