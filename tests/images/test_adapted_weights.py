"""The file of an adapted network."""

import pytest
import torch
from safetensors import safe_open

from grande_gnn.errors import FileFormatError
from grande_gnn.images import adapted_weights, load_extractor
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
        notes = file.metadata()
    assert {key: notes[key] for key in ("extractor", "form", "steps", "format")} == {
        "extractor": "tiny", "form": "full", "steps": "7", "format": "pt",
    }  # fmt: skip


def test_a_checkpoint_is_kept_until_the_weights_are_saved(tmp_path, tiny_network, monkeypatch):
    checkpoint = tmp_path / "state"
    checkpoint.write_bytes(b"all but done")
    weights = AdaptedWeights(tiny_network, "full", 7, {"w": torch.ones(2)}, checkpoint)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(adapted_weights, "write_tensors", full)
    with pytest.raises(OSError, match="No space"):
        weights.save(tmp_path / "a.safetensors")
    assert checkpoint.exists()
    monkeypatch.undo()
    weights.save(tmp_path / "a.safetensors")
    assert not checkpoint.exists()


def test_damaged_weights_are_refused(tmp_path, tiny_network):
    path = tmp_path / "a.safetensors"
    AdaptedWeights(tiny_network, "full", 7, load_trainable(tiny_network).network.state_dict()).save(path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="is damaged: copy it again"):
        load_extractor(tiny_network, path)
