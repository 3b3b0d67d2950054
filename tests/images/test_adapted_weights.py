"""The file of an adapted network."""

import torch
from safetensors import safe_open

from grande_gnn.images import load_extractor
from grande_gnn.images.adapted_weights import AdaptedWeights
from grande_gnn.images.networks import load_trainable


def test_what_is_saved_is_loaded(tmp_path, tiny_network):
    state = {k: v + 1 for k, v in load_trainable(tiny_network).network.state_dict().items()}
    weights = AdaptedWeights(tiny_network, "full", 7, state)
    weights.save(tmp_path / "a.safetensors")
    loaded = weights.load(tmp_path / "a.safetensors")
    for name, value in loaded.network.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            torch.testing.assert_close(value, state[name])
    assert loaded.identity == load_extractor(tiny_network, tmp_path / "a.safetensors").identity
    with safe_open(tmp_path / "a.safetensors", "pt") as file:
        assert file.metadata() == {"extractor": "tiny", "form": "full", "steps": "7", "format": "pt"}
