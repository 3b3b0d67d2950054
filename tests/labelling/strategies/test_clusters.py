import numpy as np
import pytest

from grande_gnn.labelling.strategies.clusters import KMEANS, TYPICLUST, mean_distance


def test_the_mean_distance_is_that_to_the_nearest_others(situation):
    asked, _ = situation((12, 9))
    X = asked.neighbors.features
    distances = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)
    assert mean_distance(asked, 5) == pytest.approx(distances[:, 1:6].mean(axis=1), rel=1e-5)
    assert mean_distance(asked, 100) == pytest.approx(distances[:, 1:].mean(axis=1), rel=1e-5)


def test_typical_images_are_those_with_near_neighbors(situation):
    asked, group = situation((60, 60))
    chosen = TYPICLUST.choose(asked, 2)[:2]
    far = mean_distance(asked)
    assert sorted(chosen) == sorted(np.flatnonzero(group == g)[far[group == g].argmin()] for g in (0, 1))


def test_centers_are_the_images_nearest_to_the_mean_of_a_group(situation):
    asked, group = situation((30, 30))
    X = asked.neighbors.features
    chosen = KMEANS.choose(asked, 2)[:2]
    for row in chosen:
        mine = np.flatnonzero(group == group[row])
        assert row == mine[np.linalg.norm(X[mine] - X[mine].mean(axis=0), axis=1).argmin()]


@pytest.mark.parametrize("strategy", [KMEANS, TYPICLUST])
def test_groups_without_a_label_come_first(situation, strategy):
    asked, group = situation((50, 20, 20), known=(0, 60))
    chosen = strategy.choose(asked, 1)
    assert group[chosen[0]] == 2
