import numpy as np
import pytest

from grande_gnn.labelling.strategies.probcover import PROBCOVER, pure_radius


def test_the_radius_ends_before_the_first_image_of_another_cluster():
    distances = np.tile([0.0, 1.0, 2.0, 5.0], (100, 1))
    is_other = np.tile([False, False, True, False], (100, 1))
    assert pure_radius(distances, is_other) == 2.0
    assert pure_radius(distances, np.zeros_like(is_other)) == np.inf


def test_one_ball_in_twenty_may_be_impure():
    distances = np.tile([0.0, 1.0, 2.0], (100, 1))
    is_other = np.zeros((100, 3), dtype=bool)
    is_other[:4, 1] = True
    assert pure_radius(distances, is_other) == np.inf
    is_other[:20, 1] = True
    assert pure_radius(distances, is_other) == 1.0


def test_images_in_the_order_of_their_classes_are_no_advantage(situation):
    asked, group = situation((30, 30, 30), n_classes=90)  # every image a cluster: all balls hold one image
    assert len(set(group[PROBCOVER.choose(asked, 10)[:10]])) == 3


def test_large_groups_come_first_and_labelled_ones_last(situation):
    asked, group = situation((20, 60, 40), n_classes=3)
    assert group[PROBCOVER.choose(asked, 1)[0]] == 1
    asked, group = situation((20, 60, 40), known=np.arange(20, 80, 4), n_classes=3)
    assert group[PROBCOVER.choose(asked, 1)[0]] == 2


@pytest.mark.parametrize("n_classes", [0, 50])
def test_any_number_of_classes_will_do(situation, n_classes):
    asked, _ = situation((8, 8), n_classes=n_classes)
    assert sorted(PROBCOVER.choose(asked, 16)) == list(range(16))
