"""Arrays in the safetensors format, read without trusting what the file declares.

    8 bytes      length of the header, little-endian
    header       JSON: {name: {"dtype": "F32", "shape": [n, d], "data_offsets": [begin, end]}, …}
    data         the arrays, one after the other, without gaps

Every size is compared with the bytes that are there before an array is made. Arrays are views of the data, so nothing is
copied. https://github.com/huggingface/safetensors
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.block_sums import BlockSums
from grande_gnn.internal.json_file import parse_json
from grande_gnn.internal.schema import integer, list_of, mapping_of, record, text

__all__ = ["read_safetensors", "write_safetensors"]

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip

_MAX_HEADER = 1 << 20
_SIZE = integer(0, 1 << 48)
_ENTRY = record(
    {
        "dtype": text("|".join(_DTYPES)),
        "shape": list_of(_SIZE, high=8),
        "data_offsets": list_of(_SIZE, low=2, high=2),
    }
)
_HEADER = mapping_of(_ENTRY)


def read_safetensors(data: bytes | memoryview) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; raises :class:`InvalidInputError` if the header and the data do not agree.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> digest = write_safetensors(file, {"a": np.arange(3)})
    >>> read_safetensors(file.getvalue())["a"].tolist()
    [0, 1, 2]
    """
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(_MAX_HEADER, len(data) - 8):
        raise InvalidInputError(
            f"a safetensors file begins with the length of its header; got {bytes(data[:8])!r}"
        )
    header = parse_json(bytes(data[8 : 8 + length]))
    if isinstance(header, dict):
        header.pop("__metadata__", None)  # texts that nobody reads
    _HEADER(header, "header")
    arrays, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (begin, stop) = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
        if begin != end or stop - begin != math.prod(shape) * dtype.itemsize or 8 + length + stop > len(data):
            raise InvalidInputError(
                f"the array {name[:80]!r} must fill its place in the file; got shape {shape}"
            )
        if 0 in shape:
            raise InvalidInputError(f"the array {name[:80]!r} must not be empty; got shape {shape}")
        array = np.frombuffer(data, dtype, math.prod(shape), 8 + length + begin).reshape(shape)
        if dtype.kind == "b" and array.view(np.uint8).max() > 1:
            raise InvalidInputError(
                f"the array {name[:80]!r} must hold 0 or 1 as true and false; got another byte"
            )
        arrays[name], end = np.require(array, requirements="A"), stop
    if 8 + length + end != len(data):
        raise InvalidInputError(
            f"the arrays must fill the file; got {len(data) - 8 - length - end} bytes more"
        )
    return arrays


def write_safetensors(
    file: IO[bytes], arrays: Mapping[str, NDArray[Any]], notes: Mapping[str, str] | None = None
) -> str:
    """Write these arrays and notes into a file, one at a time; returns the :class:`BlockSums` of what was written, in
    hexadecimal. The same arrays and notes give the same bytes."""
    names = {dtype: name for name, dtype in _DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(sorted(notes.items()))} if notes else {}
    end = 0
    ordered = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # so that all are aligned
    for name in ordered:
        array = arrays[name]
        header[name] = {"dtype": names[array.dtype.newbyteorder("<").str], "shape": list(array.shape)}
        header[name]["data_offsets"] = [end, end := end + array.nbytes]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    sums = BlockSums()

    def put(block: bytes | memoryview) -> None:
        file.write(block)
        sums.update(block)

    put(len(text).to_bytes(8, "little") + text)
    for name in ordered:
        array = np.ascontiguousarray(arrays[name], dtype=arrays[name].dtype.newbyteorder("<"))
        put(array.reshape(-1).view(np.uint8).data)
    return sums.hexdigest()
