"""Files of torch: damage that torch itself does not notice is refused, and nothing runs."""

import io
import zipfile

import pytest
import torch

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.torch_file import read_torch


def saved(tmp_path, content=None):
    torch.save(content or {"w": torch.arange(200.0), "n": 3}, tmp_path / "w.pt")
    return tmp_path / "w.pt"


def test_what_was_saved_comes_back(tmp_path):
    got = read_torch(saved(tmp_path), "weights")
    assert got["n"] == 3
    assert torch.equal(got["w"], torch.arange(200.0))


def test_files_from_before_archives_are_read(tmp_path):
    torch.save({"w": torch.ones(2)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert torch.equal(read_torch(tmp_path / "old.pt", "weights")["w"], torch.ones(2))


def test_a_flipped_bit_in_a_tensor_is_noticed(tmp_path):
    path = saved(tmp_path)
    data = bytearray(path.read_bytes())
    place = data.find(torch.arange(200.0).numpy().tobytes()) + 100
    data[place] ^= 64
    path.write_bytes(data)
    assert torch.load(path, weights_only=True)["w"][25] != 25  # torch itself does not compare checksums
    with pytest.raises(
        FileFormatError, match="is damaged: copy it again; got Bad CRC-32 for file 'w/data/0'"
    ):
        read_torch(path, "weights")


def test_compressed_members_are_refused_before_they_are_unpacked(tmp_path):
    content = io.BytesIO(saved(tmp_path).read_bytes())
    with (
        zipfile.ZipFile(content) as source,
        zipfile.ZipFile(tmp_path / "z.pt", "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
    with pytest.raises(FileFormatError, match="uncompressed: save it again"):
        read_torch(tmp_path / "z.pt", "weights")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "w.pt").write_bytes(content)
    with pytest.raises(
        FileFormatError, match=r"^[^\n]* (cannot be read as weights|is damaged: copy it again); got [^\n]*$"
    ):
        read_torch(tmp_path / "w.pt", "weights")


def test_a_file_never_runs_code(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the file ran code",))

    with pytest.raises(FileFormatError, match="cannot be read as weights"):
        read_torch(saved(tmp_path, {"weight": Bomb()}), "weights")


def test_bytes_after_the_archive_do_not_hide_damage(tmp_path):
    path = saved(tmp_path)
    data = bytearray(path.read_bytes())
    data[data.find(torch.arange(200.0).numpy().tobytes()) + 100] ^= 64
    path.write_bytes(data + bytes(12))  # Python's zipfile takes it for none, and torch for one
    with pytest.raises(FileFormatError):
        read_torch(path, "weights")


def test_a_damaged_list_of_members_does_not_show_memory(tmp_path):
    path = saved(tmp_path)
    data = path.read_bytes()
    place = data.rfind(b"w/data/0") - 8  # the attributes of the member in the list at the end
    path.write_bytes(data[:place] + b"\xff\xff\xff\xff" + data[place + 4 :])  # now it looks like a folder
    assert torch.equal(read_torch(path, "weights")["w"], torch.arange(200.0))
