"""The file from which a killed adaptation goes on."""

import numpy as np
import torch

from grande_gnn.images.training_state import TrainingState

CPU = torch.device("cpu")
LABELS = np.array([0, 1, -1])


def test_the_same_training_finds_it_and_no_other(tmp_path):
    path = tmp_path / "state"
    TrainingState(path, "lite0-1", LABELS, "recipe").save({"number": 3, "w": torch.ones(2)})
    found = TrainingState(path, "lite0-1", LABELS, "recipe").load(CPU)
    assert found["number"] == 3
    assert torch.equal(found["w"], torch.ones(2))
    for other in (
        TrainingState(path, "lite0-2", LABELS, "recipe"),
        TrainingState(path, "lite0-1", LABELS[::-1].copy(), "recipe"),
        TrainingState(path, "lite0-1", LABELS, "another"),
    ):
        assert other.load(CPU) is None


def test_a_damaged_file_is_not_used(tmp_path, caplog):
    path = tmp_path / "state"
    path.write_bytes(b"PK damaged")
    assert TrainingState(path, "a", LABELS).load(CPU) is None
    assert "begins anew" in caplog.text


def test_without_a_path_nothing_is_kept(tmp_path):
    state = TrainingState(None, "a", LABELS)
    state.save({"number": 1})
    assert state.load(CPU) is None
    state.remove()


def test_where_nothing_can_be_written_the_training_goes_on_without_it(tmp_path, caplog):
    (tmp_path / "file").write_bytes(b"")
    state = TrainingState(tmp_path / "file" / "state", "a", LABELS)
    for number in range(3):
        state.save({"number": number})
    assert caplog.text.count("begins anew") == 1


def test_a_full_disk_is_no_error_of_torch(tmp_path, monkeypatch, caplog):
    def full(path, write):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grande_gnn.images.training_state.write_atomically", full)
    TrainingState(tmp_path / "state", "a", LABELS).save({"w": torch.ones(10_000)})
    assert "No space left on device" in caplog.text


def test_it_can_be_removed(tmp_path):
    state = TrainingState(tmp_path / "state", "a", LABELS)
    state.save({"number": 1})
    state.remove()
    assert not (tmp_path / "state").exists()
    state.remove()


def test_a_flipped_bit_makes_the_training_begin_anew(tmp_path, caplog):
    state = TrainingState(tmp_path / "s.pt", "net", LABELS)
    state.save({"bank": torch.arange(50.0)})
    data = bytearray((tmp_path / "s.pt").read_bytes())
    data[data.find(torch.arange(50.0).numpy().tobytes()) + 8] ^= 1
    (tmp_path / "s.pt").write_bytes(data)
    assert state.load(CPU) is None
    assert "begins anew" in caplog.text
