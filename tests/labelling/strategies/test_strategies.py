"""Every strategy keeps the contract."""

import numpy as np
import pytest

from grande_gnn.labelling.strategies import STRATEGIES

NAMES = list(STRATEGIES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [0, 3, 57])
def test_enough_different_images_without_a_label(situation, name, n):
    margin = np.random.default_rng(0).random(60)
    asked, _ = situation((30, 20, 10), known=(0, 31, 59), n_classes=3, margin=margin)
    rows = STRATEGIES[name].choose(asked, n)
    assert len(set(rows.tolist())) == len(rows)
    assert (~asked.known[rows]).sum() >= n


@pytest.mark.parametrize("name", NAMES)
def test_it_works_before_anything_is_known_and_for_few_images(situation, name):
    asked, _ = situation((2, 1))
    assert {0, 1, 2} <= set(STRATEGIES[name].choose(asked, 3).tolist())


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_choice(situation, name):
    asked, _ = situation((30, 20, 10), random_state=3)
    assert STRATEGIES[name].choose(asked, 5).tolist() == STRATEGIES[name].choose(asked, 5).tolist()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("random", "margin")])
def test_every_group_has_its_turn(situation, name):
    asked, group = situation((40, 40, 40), n_classes=3)
    assert set(group[STRATEGIES[name].choose(asked, 3)[:3]]) == {0, 1, 2}
