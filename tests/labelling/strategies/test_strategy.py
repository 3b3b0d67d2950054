"""A strategy of one's own is offered by its name."""

import numpy as np

from grande_gnn.labelling.strategies import STRATEGIES, Strategy, register_strategy
from grande_gnn.labelling.suggest import suggest


def test_a_registered_strategy_is_found_by_name():
    mine = Strategy("backwards", "The last first.", lambda situation, n: np.arange(len(situation))[::-1])
    try:
        assert STRATEGIES[register_strategy(mine).name] is mine
        assert suggest(np.eye(4), 2, "backwards", labels=["", "", "", "a"]).tolist() == [2, 1]
    finally:
        del STRATEGIES["backwards"]


def test_every_strategy_says_in_one_line_what_it_does():
    for name, strategy in STRATEGIES.items():
        assert strategy.name == name
        assert strategy.about.endswith(".")
        assert len(strategy.about) < 90
