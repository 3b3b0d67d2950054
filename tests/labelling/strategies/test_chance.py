from grande_gnn.labelling.strategies.chance import RANDOM


def test_all_images_in_an_order_that_depends_on_the_seed(situation):
    orders = [RANDOM.choose(situation((20, 20), random_state=seed)[0], 5).tolist() for seed in (0, 0, 1)]
    assert sorted(orders[0]) == list(range(40))
    assert orders[0] == orders[1] != orders[2]
