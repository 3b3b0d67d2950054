import numpy as np

from grande_gnn.labelling.strategies.coverage import GRAPH_COVERAGE
from grande_gnn.labelling.strategies.uncertain import ENOUGH_LABELS, MARGIN, USEFUL


def test_the_smallest_margin_comes_first(situation):
    margin = np.random.default_rng(0).random(30)
    asked, _ = situation((20, 10), known=(3, 25), margin=margin)
    order = MARGIN.choose(asked, 28)
    assert sorted(order) == [i for i in range(30) if i not in (3, 25)]
    assert (np.diff(margin[order]) >= 0).all()


def test_few_labels_typical_ones_many_labels_uncertain_ones(situation):
    margin = np.full(60, 0.9)
    margin[:10], margin[45] = 0.0, 0.3  # the least sure ones lie side by side
    few, _ = situation((30, 30), known=range(ENOUGH_LABELS), n_classes=2, margin=margin)
    assert USEFUL.choose(few, 5)[:5].tolist() == GRAPH_COVERAGE.choose(few, 5)[:5].tolist()
    rows = [*range(10, 10 + ENOUGH_LABELS), *range(50, 50 + ENOUGH_LABELS)]
    many, _ = situation((30, 30), known=rows, n_classes=2, margin=margin)
    chosen = USEFUL.choose(many, 60)
    assert chosen[0] == 0
    assert 45 in chosen[:10]
    assert set(chosen[:11]) == {*range(10), 45}
    assert not many.known[USEFUL.choose(many, 5)].any()


def test_without_a_model_there_is_no_uncertainty(situation):
    asked, _ = situation((30, 30), known=range(40), n_classes=2)
    assert USEFUL.choose(asked, 5)[:5].tolist() == GRAPH_COVERAGE.choose(asked, 5)[:5].tolist()
