"""GRaNDe on images as a compared system; what every system must do is in test_contract."""

import numpy as np
import pytest

from grande_gnn.baselines.adapted_grande import AdaptedGrande
from grande_gnn.errors import InvalidInputError
from grande_gnn.images.adapt_training import Recipe

FAST = {"extractor": "tiny", "model": "sgc", "device": "cpu", "random_state": 0, "epochs": 60}


def test_adapting_helps_where_the_network_sees_little(stripes, tiny_network):
    images, y = stripes(48)
    codes = np.where(np.arange(48) < 24, y, -1)
    right = []
    for steps in (1, 40):
        recipe = Recipe(steps=steps, batch=8, lr=0.05 if steps > 1 else 1e-6, backbone_rate=1.0, ema=0.9)
        system = AdaptedGrande(**FAST, form="full", recipe=recipe, size=20).fit(images, codes)
        right.append((system.transduction_ == y)[24:].mean())
    assert right[1] > right[0] + 0.1


def test_features_are_refused(tiny_network):
    with pytest.raises(InvalidInputError, match="works on images, not features"):
        AdaptedGrande(**FAST).fit(np.zeros((4, 5)), [0, 1, -1, -1])
    with pytest.raises(InvalidInputError, match="needs at least one image"):
        AdaptedGrande(**FAST).fit([], [])
