"""Ways to damage a file: blindly, byte by byte, or with knowledge of its format.

Each function takes a random generator and the content and returns changed content. Everything follows from the generator,
so a number is enough to make an input again.
"""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import warnings
import zipfile
from typing import Any

NUMBERS = (
    0,
    1,
    -1,
    2,
    255,
    256,
    2**15,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
    10**30,
)
VALUES: tuple[Any, ...] = (
    None, True, False, "", "a", "auto", "\ud800", "x" * 5000, "\0", [], {}, [[]], [1, 2], {"a": 1}, 0.5, -0.5, 1e308, -1e308,
    1e-320, float("nan"), float("inf"), -float("inf"), *NUMBERS,
)  # fmt: skip
"""Values that are put in the place of others."""


def value_of(random: random.Random) -> Any:
    """One of them, as a new object: it may be changed afterwards."""
    return copy.deepcopy(random.choice(VALUES))


# -- any file -------------------------------------------------------------------------------------------


def flip(random: random.Random, data: bytes) -> bytes:
    """Change some bits."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        if out:
            out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def overwrite(random: random.Random, data: bytes) -> bytes:
    """Put a number of 1, 2, 4 or 8 bytes somewhere."""
    width = random.choice((1, 2, 4, 8))
    number = random.choice((*NUMBERS, random.getrandbits(64))) % (1 << 8 * width)
    start = random.randrange(max(1, len(data)))
    return data[:start] + number.to_bytes(width, random.choice(("little", "big"))) + data[start + width :]


def cut(random: random.Random, data: bytes) -> bytes:
    """Keep the beginning."""
    return data[: random.randrange(max(1, len(data)))]


def remove(random: random.Random, data: bytes) -> bytes:
    """Take a piece out."""
    start = random.randrange(max(1, len(data)))
    return data[:start] + data[start + random.choice((1, 2, 4, 16, 100)) :]


def repeat(random: random.Random, data: bytes) -> bytes:
    """Put a piece in once more, or often."""
    start, length = random.randrange(max(1, len(data))), random.choice((1, 4, 30, 300))
    return data[:start] + data[start : start + length] * random.choice((1, 1, 2, 50)) + data[start:]


def noise(random: random.Random, data: bytes) -> bytes:
    """Put random bytes in the place of others."""
    start, length = random.randrange(max(1, len(data))), random.choice((1, 4, 30, 300))
    return data[:start] + random.randbytes(length) + data[start + length :]


def move(random: random.Random, data: bytes) -> bytes:
    """Copy a piece to another place."""
    start, to, length = (random.randrange(max(1, len(data))) for _ in range(3))
    length = min(length, 512)
    return data[:to] + data[start : start + length] + data[to + length :]


BYTES = (flip, flip, overwrite, overwrite, cut, remove, repeat, noise, move)
"""Every blind way; some are more likely than others."""


def blind(random: random.Random, data: bytes) -> bytes:
    """One or a few blind changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice(BYTES)(random, data)
    return data


# -- JSON -------------------------------------------------------------------------------------------------


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """The path to every value in a JSON document."""
    if len(path) > 6:  # deep enough
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, entry in inner for place in places(entry, (*path, key)))]


def edit(random: random.Random, value: Any) -> Any:
    """Change, remove, add or repeat one field of a document; the document itself may be changed."""
    path = random.choice(places(value)[1:] or [()])
    if not path:
        return value_of(random)
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    how = random.randrange(6)
    if how == 0:
        del parent[path[-1]]
    elif how == 1 and isinstance(parent, dict):
        parent[random.choice(("x", "a" * 300, "\ud800", ""))] = value_of(random)
    elif how == 2 and isinstance(parent[path[-1]], (int, float)) and abs(parent[path[-1]]) < 1e300:
        parent[path[-1]] = parent[path[-1]] * random.choice((-1, 2, 1e3, 1e300)) + random.choice((0, 1, 0.5))
    elif how == 3:
        deep: Any = parent[path[-1]]
        for _ in range(random.choice((1, 5, 40, 300))):
            deep = [deep]
        parent[path[-1]] = deep
    else:
        parent[path[-1]] = value_of(random)
    return value


def json_field(random: random.Random, data: bytes) -> bytes:
    """Edit the fields of a JSON document; a field may also come twice."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return blind(random, data)
    for _ in range(random.choice((1, 1, 2))):
        value = edit(random, value)
    text = json.dumps(value)
    if isinstance(value, dict) and value and random.random() < 0.05:
        text = text[:-1] + f", {json.dumps(random.choice(list(value)))}: {json.dumps(value_of(random))}}}"
    if random.random() < 0.02:
        text = text.replace("0", random.choice(("1e999", "[" * 50_000, "9" * 5000)), 1)
    return text.encode()


def json_line(random: random.Random, data: bytes) -> bytes:
    """Edit one line of JSON Lines."""
    lines = data.split(b"\n")
    place = random.randrange(max(1, len(lines) - 1))
    lines[place] = json_field(random, lines[place])
    return b"\n".join(lines)


# -- archives of arrays -----------------------------------------------------------------------------------


def _unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(random: random.Random, members: list[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    method = random.choice(
        (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
    )
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may come twice
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def zip_member(random: random.Random, data: bytes) -> bytes:
    """Change one member of an archive and pack it with fitting checksums."""
    try:
        members = _unpacked(data)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, EOFError):
        return blind(random, data)
    name = random.choice(sorted(members))
    members[name] = blind(random, members[name])
    return _packed(random, list(members.items()))


def npz_member(random: random.Random, data: bytes) -> bytes:
    """Change one array of an archive, in its header or its data, and pack it with fitting checksums."""
    try:
        members = _unpacked(data)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return blind(random, data)
    name = random.choice(sorted(members))
    array = members[name]
    how = random.randrange(4)
    if how == 0:
        members[name] = array[:10] + blind(random, array[10:128]) + array[128:]  # the header
    elif how == 1:
        members[name] = array[:128] + blind(random, array[128:])
    elif how == 2:
        members[name] = npy_header(random, array)
    else:
        members[name] = members[random.choice(sorted(members))]
    entries = list(members.items())
    if random.random() < 0.1:
        entries.append(random.choice(entries)) if random.random() < 0.5 else entries.pop(
            random.randrange(len(entries))
        )
    return _packed(random, entries)


DTYPES = (
    "<f4",
    "<f8",
    ">f4",
    "<f2",
    "<i8",
    "<i4",
    "|u1",
    "<u8",
    "|b1",
    "<U4",
    "|S4",
    "<U0",
    "|O",
    "<M8[s]",
    "<c8",
    "<q9",
    "|V8",
)
SHAPES = (
    "()",
    "(1,)",
    "(0,)",
    "(6, 3)",
    "(6,)",
    "(2, 9)",
    "(1000000, 1000000)",
    "(4611686018427387904, 4)",
    "(-6, 3)",
    "((6, 3),)",
)


def npy_header(random: random.Random, array: bytes) -> bytes:
    """An array with another header of the kind that numpy writes."""
    text = (
        f"{{'descr': '{random.choice(DTYPES)}', 'fortran_order': {random.choice(('False', 'True', '0'))}, "
        f"'shape': {random.choice(SHAPES)}, }}"
    )
    text = (
        text if random.random() < 0.8 else text.replace("}", ", 'x': " + "(" * random.choice((1, 500)) + "}")
    )
    padded = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode() + array[128:]


def safetensors_header(random: random.Random, data: bytes) -> bytes:
    """Edit the JSON header of a safetensors file."""
    length = int.from_bytes(data[:8], "little")
    header = json_field(random, data[8 : 8 + length])
    return len(header).to_bytes(8, "little") + header + data[8 + length :]
