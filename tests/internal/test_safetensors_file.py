"""Our safetensors files are those of the library, and a header that does not fit its data is refused."""

import json
from io import BytesIO

import numpy as np
import pytest
from safetensors.numpy import load, save

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.block_sums import BlockSums
from grande_gnn.internal.safetensors_file import read_safetensors, write_safetensors

ARRAYS = {
    "f": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3), "d": np.arange(4.0), "flags": np.array([True, False, True]),
    "i": np.arange(5, dtype=np.int32), "one": np.array(7, dtype=np.int64), "h": np.ones(3, dtype=np.float16),
}  # fmt: skip


def written(arrays):
    file = BytesIO()
    digest = write_safetensors(file, arrays)
    sums = BlockSums()
    sums.update(file.getvalue())
    assert digest == sums.hexdigest()
    return file.getvalue()


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype
        np.testing.assert_array_equal(a[name], b[name])


def test_the_library_reads_what_is_written_and_the_other_way_round():
    assert_same(load(written(ARRAYS)), ARRAYS)
    assert_same(read_safetensors(save(ARRAYS)), ARRAYS)
    assert_same(read_safetensors(written(ARRAYS)), ARRAYS)


def test_arrays_in_other_layouts_are_written_by_their_values():
    arrays = {
        "big": np.arange(4, dtype=">f8"),
        "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "s": np.arange(9)[::2],
    }
    again = read_safetensors(written(arrays))
    for name in arrays:
        np.testing.assert_array_equal(again[name], arrays[name])


def test_arrays_are_aligned_even_if_the_file_is_not():
    text = json.dumps({"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}).encode()
    text += b" " * (3 + -len(text) % 8)
    array = read_safetensors(len(text).to_bytes(8, "little") + text + np.arange(2.0).tobytes())["a"]
    assert array.flags.aligned
    assert array.tolist() == [0, 1]


def file_of(header, data=b"\0" * 16):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(4,), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\0" * 8,
        (2**63).to_bytes(8, "little") + b"{}",
        file_of({"a": entry()})[:-1],
        file_of({"a": entry()}, b"\0" * 17),
        file_of({"a": entry(shape=(5,))}),
        file_of({"a": entry(shape=(10**12,), offsets=(0, 4 * 10**12))}),
        file_of({"a": entry(shape=(2**40, 2**40))}),
        file_of({"a": entry(shape=(0, 2**40), offsets=(0, 0)), "b": entry()}),
        file_of({"a": entry(shape=(-4,))}),
        file_of({"a": entry(shape=(-2, -2))}),
        file_of({"a": entry(shape=(4.0,))}),
        file_of({"a": entry(offsets=(16, 0))}),
        file_of({"a": entry(shape=(3,), offsets=(4, 16))}),
        file_of({"a": entry(), "b": entry()}),
        file_of({"a": entry("BF16", (8,))}),
        file_of({"a": entry("F99")}),
        file_of({"a": entry() | {"more": 1}}),
        file_of({"a": [1]}),
        file_of([1]),
        file_of(b"[" * 1000),
        file_of(b'{"a":1,"a":2}'),
        file_of({"a": entry("BOOL", (16,))}, b"\2" * 16),
    ],
)
def test_what_does_not_fit_is_refused(data):
    with pytest.raises(InvalidInputError) as caught:
        read_safetensors(data)
    assert "\n" not in str(caught.value)


def test_metadata_is_allowed():
    assert read_safetensors(save({"a": np.arange(2)}, {"format": "np"}))["a"].tolist() == [0, 1]
