"""Tensors with a checksum."""

import pytest
import torch
from safetensors.torch import save_file

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.tensor_file import read_tensors, write_tensors

TENSORS = {
    "weight": torch.arange(6.0).reshape(2, 3),
    "half": torch.tensor([1.5, 2.5], dtype=torch.float16),
    "steps": torch.tensor(7),
}


def same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.dtype == other[name].dtype
        assert torch.equal(value, other[name])


def test_what_is_written_is_read(tmp_path):
    write_tensors(tmp_path / "a.safetensors", TENSORS, {"who": "me"})
    same(TENSORS, read_tensors(tmp_path / "a.safetensors"))


def test_the_same_tensors_and_notes_are_the_same_bytes(tmp_path):
    notes = {f"note {number}": "x" for number in range(9)}
    for name, mine in (("a", notes), ("b", dict(reversed(notes.items())))):
        write_tensors(tmp_path / name, TENSORS, mine)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_transposed_tensor_is_read_as_it_was(tmp_path):
    write_tensors(tmp_path / "a.safetensors", {"t": TENSORS["weight"].T}, {})
    same({"t": TENSORS["weight"].T}, read_tensors(tmp_path / "a.safetensors"))


def test_files_from_elsewhere_have_no_checksum(tmp_path):
    save_file(TENSORS, tmp_path / "a.safetensors")
    same(TENSORS, read_tensors(tmp_path / "a.safetensors"))


def test_every_flipped_bit_of_the_data_is_noticed(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, TENSORS, {})
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    for place in range(begin, len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(FileFormatError, match=r"damaged.*another checksum"):
            read_tensors(path)


def test_another_name_of_a_tensor_is_noticed(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, TENSORS, {})
    path.write_bytes(path.read_bytes().replace(b'"weight"', b'"weighs"'))
    with pytest.raises(FileFormatError, match="damaged"):
        read_tensors(path)
