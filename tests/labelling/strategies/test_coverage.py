import numpy as np
import pytest
from scipy.sparse import csr_array

from grande_gnn.labelling.strategies.coverage import GRAPH_COVERAGE
from grande_gnn.labelling.strategies.greedy import greedy_cover


def test_it_is_greedy_coverage_of_the_reciprocal_graph(situation):
    asked, _ = situation((30, 20), known=(4,))
    X = asked.neighbors.features
    near = np.argsort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1, kind="stable")[:, : 50 // 3]
    listed = np.zeros((50, 50))
    np.put_along_axis(listed, near, 1.0, axis=1)
    wanted = greedy_cover(csr_array(listed * listed.T), np.ones(50), asked.known, fading=0.1)
    assert GRAPH_COVERAGE.choose(asked, 49).tolist() == wanted.tolist()


def test_every_group_comes_first_and_outliers_last(situation):
    asked, group = situation((40, 40, 40), outliers=3)
    order = GRAPH_COVERAGE.choose(asked, 123)
    assert set(group[order[:3]]) == {0, 1, 2}
    assert (group[order[:9]] >= 0).all()


def test_a_group_that_has_a_label_waits(situation):
    asked, group = situation((40, 40, 40), known=(5, 50))
    assert group[GRAPH_COVERAGE.choose(asked, 1)[0]] == 2


def test_identical_images_are_no_problem(situation):
    asked, _ = situation((30, 10))
    asked.neighbors.features[:30] = 1.0
    assert sorted(GRAPH_COVERAGE.choose(asked, 40)) == list(range(40))


@pytest.mark.parametrize("scale", [2.0**-10, 2.0**10])
def test_the_scale_of_the_features_does_not_matter(situation, scale):
    asked, _ = situation((25, 25), outliers=2)
    scaled = type(asked)(type(asked.neighbors)(asked.neighbors.features * np.float32(scale)), asked.known)
    assert GRAPH_COVERAGE.choose(asked, 10)[:10].tolist() == GRAPH_COVERAGE.choose(scaled, 10)[:10].tolist()
