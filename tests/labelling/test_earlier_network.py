"""The networks of an earlier labelling."""

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import load_extractor
from grande_gnn.images.adapted_weights import AdaptedWeights
from grande_gnn.images.networks import load_trainable
from grande_gnn.labelling.earlier_network import ADAPTED_FILE, adapted_file, earlier_parts


@pytest.fixture
def weights(tmp_path, tiny_network):
    state = {k: v * 2 for k, v in load_trainable(tiny_network).network.state_dict().items()}
    AdaptedWeights(tiny_network, "full", 1, state).save(tmp_path / ADAPTED_FILE)
    return tmp_path / ADAPTED_FILE


def test_each_kind_of_features_has_its_networks(weights, tiny_network):
    frozen, adapted = load_extractor(tiny_network).identity, load_extractor(tiny_network, weights).identity
    for used, expected in (("frozen", [frozen]), ("adapted", [adapted]), ("both", [frozen, adapted])):
        settings = {"extractor": tiny_network, "weights": "+".join(expected), "adapt": {"used": used}}
        assert [part.identity for part in earlier_parts(settings, weights, None)] == expected
    plain = {"extractor": tiny_network, "weights": frozen}
    assert [part.identity for part in earlier_parts(plain, None, None)] == [frozen]


def test_a_lost_file_and_other_weights_are_reported(weights, tiny_network, tmp_path):
    settings = {"extractor": tiny_network, "weights": "tiny-0", "adapt": {"used": "adapted"}}
    with pytest.raises(InvalidInputError, match=r"its folder must hold adapted\.safetensors"):
        earlier_parts(settings, tmp_path / "nothing", None)
    with pytest.raises(InvalidInputError, match="used other weights of tiny"):
        earlier_parts(settings, weights, None)


def test_the_file_is_found_where_it_is(weights, tmp_path):
    assert adapted_file(tmp_path) == weights
    assert adapted_file(tmp_path / "elsewhere") is None
