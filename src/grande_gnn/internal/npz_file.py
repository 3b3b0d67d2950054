"""Read ``.npz`` files from other people without trusting them.

A ``.npz`` file is a zip archive whose members are arrays with a short header. Before memory is taken for an array, its
header is compared with what is expected of it and with the size of its member, and that size with the bytes that the
member occupies in the file. Only the arrays that are asked for are read, and nothing in the file is ever evaluated.
https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidInputError

__all__ = ["Wanted", "read_npz"]

_KINDS = {"f": "real numbers", "i": "integers", "u": "integers", "U": "texts", "S": "texts"}
_FREE_BYTES = 64 << 20
_MAX_RATIO = 250
"""A member may be this many times larger than in the file if it exceeds 64 MiB; features compress about tenfold."""
_MAX_HEADER = 10_000
_CHUNK = 1 << 18
_ALLOWED_FLAGS = 0x0002 | 0x0004 | 0x0008 | 0x0800
"""Levels of compression, sizes after the data, and names in UTF-8; all others, such as encryption, are refused."""

_BLANK = " \t\n"
_B = f"[{_BLANK}]*"
_ITEM = re.compile(
    rf"""{_B}(['"])(descr|fortran_order|shape)\1{_B}:{_B}(?:(['"])([^'"]*)\3|(True|False)|\(([0-9L,{_BLANK}]*)\)){_B}(?:,|$){_B}"""
)
_DTYPE = re.compile(r"[<>|=]?[A-Za-z][0-9]{0,7}")
_LENGTH = re.compile(r"(0|[1-9][0-9]{0,18})L?")
"""One length of a shape; Python 2 wrote an L after it."""


@dataclass(frozen=True)
class Wanted:
    """What an array must be: kinds of its dtype (``dtype.kind``), number of dimensions, whether it must be there."""

    kinds: str
    ndim: int
    required: bool = True

    def __str__(self) -> str:
        names = " or ".join(dict.fromkeys(_KINDS[kind] for kind in self.kinds))
        return f"{('one', 'a list of', 'a matrix of')[self.ndim]} {names}"


def read_npz(
    path: str | os.PathLike[str], what: str, wanted: Mapping[str, Wanted]
) -> dict[str, NDArray[Any]]:
    """Those of the ``wanted`` arrays that the file holds; ``what`` names the kind of file in errors.

    Texts come back as ``str`` whatever their encoding in the file.
    """
    if not Path(path).is_file():
        raise FileFormatError(f"no such {what} file: check the path; got {path}")
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            file.seek(0)
            if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):  # zip files may also follow other data
                raise zipfile.BadZipFile("other data before the archive")
            members = _members(archive)
            missing = [name for name, one in wanted.items() if one.required and name not in members]
            if missing:
                raise FileFormatError(
                    f"{path} has no array '{missing[0]}', so it is not a {what} file; "
                    f"got {_line(', '.join(sorted(members))) if members else 'nothing'}"
                )
            return {
                name: _read(archive, members[name], name, one)
                for name, one in wanted.items()
                if name in members
            }
    except FileFormatError:
        raise
    except InvalidInputError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except zipfile.BadZipFile as error:
        raise FileFormatError(
            f"not a .npz {what} file, or a damaged one: write it with numpy.savez; got {path}: {_line(error)}"
        ) from None
    except (
        OSError, ValueError, EOFError, NotImplementedError, RuntimeError, struct.error, zlib.error, OverflowError,
    ) as error:  # fmt: skip
        raise FileFormatError(
            f"{path} is not a readable {what} file: write it again with numpy.savez, without pickled objects; "
            f"got {_line(error)}"
        ) from None


def _line(text: object) -> str:
    """An error or a text in one line of bounded length."""
    return " ".join(str(text).split())[:200] or type(text).__name__


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The arrays of the archive by name; two of one name are refused, because readers would disagree about which counts."""
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if "\0" in entry.orig_filename:  # zipfile ends a name there, and other readers do not
            raise InvalidInputError(
                f"the name of an array must have no zero byte; got {entry.orig_filename[:80]!r}"
            )
        name = entry.filename.removesuffix(".npy")
        if name in members:
            raise InvalidInputError(
                f"an .npz file must not hold two arrays with the same name; got {name[:80]!r} twice"
            )
        if name != entry.filename:
            members[name] = entry
    return members


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, wanted: Wanted) -> NDArray[Any]:
    _check_sizes(entry, name)
    with archive.open(entry) as stream:
        dtype, is_fortran, shape, used = _header(stream, name)
        if (
            dtype.kind not in wanted.kinds
            or (dtype.itemsize > 8 and dtype.kind not in "US")
            or len(shape) != wanted.ndim
        ):
            raise InvalidInputError(f"'{name}' must be {wanted}; got {dtype} of shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if used + size != entry.file_size:
            raise InvalidInputError(
                f"'{name}' must fill its place in the file; got shape {shape} of {dtype} in {entry.file_size - used} bytes"
            )
        data, start = np.empty(size, dtype=np.uint8), 0
        while block := stream.read(min(_CHUNK, size - start)):
            data[start : start + len(block)] = np.frombuffer(block, dtype=np.uint8)
            start += len(block)
        if start < size:
            raise InvalidInputError(f"'{name}' ends before its {size} bytes; got {start}")
        if stream.read(1):  # the checksum is compared at the end
            raise InvalidInputError(f"'{name}' must end after {size} bytes; got more")
    array = data.view(dtype).reshape(shape, order="F" if is_fortran else "C")
    return _texts(array, name) if dtype.kind in "US" else array.astype(dtype.newbyteorder("="), copy=False)


def _check_sizes(entry: zipfile.ZipInfo, name: str) -> None:
    if entry.flag_bits & ~_ALLOWED_FLAGS or entry.compress_type not in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    ):
        raise InvalidInputError(
            f"'{name}' must be stored as numpy.savez does, plain or deflated, not encrypted; got flags "
            f"{entry.flag_bits:#x}, method {entry.compress_type}"
        )
    is_stored = entry.compress_type == zipfile.ZIP_STORED
    limit = entry.compress_size if is_stored else max(_FREE_BYTES, _MAX_RATIO * entry.compress_size)
    if entry.file_size > limit:
        raise InvalidInputError(
            f"'{name}' declares far more than the file holds: write it with numpy.savez, uncompressed; got "
            f"{entry.file_size} bytes from {entry.compress_size}"
        )


def _header(stream: IO[bytes], name: str) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """The dtype, whether columns come first, the shape, and the length of the header."""
    start = stream.read(8)
    version = tuple(start[6:])
    if start[:6] != b"\x93NUMPY" or version not in ((1, 0), (2, 0), (3, 0)):
        raise InvalidInputError(f"'{name}' must be an array as numpy writes it; got {start!r}")
    width = 2 if version == (1, 0) else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > _MAX_HEADER:
        raise InvalidInputError(f"'{name}' must have a header of at most {_MAX_HEADER} bytes; got {length}")
    text = stream.read(length).decode("latin-1")
    found = _fields(text.strip(_BLANK))
    if found.keys() != {"descr", "fortran_order", "shape"} or not _DTYPE.fullmatch(found["descr"]):
        raise InvalidInputError(
            f"'{name}' must be an array of numbers or texts; got the header {text[:120].strip()!r}"
        )
    shape = _shape(found["shape"])
    if shape is None:
        raise InvalidInputError(f"'{name}' must have a shape; got ({found['shape'][:80]!r})")
    try:
        dtype = np.dtype(found["descr"])
    except TypeError:
        raise InvalidInputError(f"'{name}' must be numbers or texts; got dtype {found['descr']!r}") from None
    return dtype, found["fortran_order"] == "True", shape, 8 + width + length


def _shape(text: str) -> tuple[int, ...] | None:
    """The lengths inside the brackets of a tuple, which has a comma unless it is empty; None if it is not a tuple."""
    *parts, last = (part.strip(_BLANK) for part in text.split(","))
    lengths = [_LENGTH.fullmatch(part) for part in (*parts, *([last] if last else ()))]
    if (last and not parts) or not all(lengths):
        return None
    return tuple(int(match.group(1)) for match in lengths if match)


def _fields(text: str) -> dict[str, str]:
    """The three fields of a header, which is the text of a Python dict; empty if it is anything else."""
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    inside, place, found = text[1:-1], 0, {}
    while match := _ITEM.match(inside, place):
        _, key, _, quoted, flag, shape = match.groups()
        value = {"descr": quoted, "fortran_order": flag, "shape": shape}[key]
        if key in found or value is None:
            return {}
        found[key], place = value, match.end()
    return found if place == len(inside) else {}


def _texts(array: NDArray[Any], name: str) -> NDArray[np.str_]:
    """Texts as ``str``; of half characters, only those by which Python represents undecodable file names are allowed."""
    if array.dtype.kind == "S":
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"'{name}' must hold texts in UTF-8; got {_line(error)}") from None
    native = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))
    points = native.view(np.uint32)
    if points.max(initial=0) > 0xD7FF:
        is_half = (points >= 0xD800) & (points <= 0xDFFF) & ~((points >= 0xDC80) & (points <= 0xDCFF))
        if points.max() > 0x10FFFF or is_half.any():
            raise InvalidInputError(
                f"'{name}' must hold texts in Unicode; got numbers that are not characters"
            )
    return native
