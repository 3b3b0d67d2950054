"""Write a features file: ``.npz`` with ``features``, ``files`` and, if any, ``labels`` and ``classes``."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from grande_gnn.internal.files import write_atomically
from grande_gnn.internal.validation import encode_labels

__all__ = ["write_features"]

_CHUNK = 4096


def write_features(
    path: str | Path, blocks: Iterable[NDArray[np.float32]], files: Sequence[str], labels: Sequence[str]
) -> None:
    """Write features that come in blocks of rows, one row for each of ``files``.

    Only one block is in memory at a time. ``labels`` are written as the index of their class,
    -1 = unlabelled, and not at all when there is none. The file appears when it is complete.
    """

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            _write(archive, "features", blocks, len(files), zipfile.ZIP_STORED)
            width = max((len(name) for name in files), default=1)
            chunks = (files[start : start + _CHUNK] for start in range(0, len(files), _CHUNK))
            names = (np.array(chunk, dtype=f"<U{width}") for chunk in chunks)
            _write(archive, "files", names, len(files), zipfile.ZIP_DEFLATED)
            if any(labels):
                codes, classes = encode_labels(np.array(labels))
                _write(archive, "labels", [codes], len(codes), zipfile.ZIP_DEFLATED)
                _write(archive, "classes", [classes], len(classes), zipfile.ZIP_DEFLATED)

    write_atomically(path, write)


def _write(archive: zipfile.ZipFile, name: str, blocks: Iterable[NDArray], n_rows: int, method: int) -> None:
    """One array of the archive, from blocks of its rows."""
    entry = zipfile.ZipInfo(f"{name}.npy")
    entry.compress_type = method
    with archive.open(entry, "w", force_zip64=True) as out:
        for number, block in enumerate(blocks):
            if number == 0:
                header = npy.header_data_from_array_1_0(block) | {"shape": (n_rows, *block.shape[1:])}
                npy.write_array_header_1_0(out, header)
            out.write(np.ascontiguousarray(block).tobytes())
