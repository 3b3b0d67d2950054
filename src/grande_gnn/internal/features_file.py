"""Features files: ``.npz`` with ``features`` (n × d), ``files`` (n), and optionally ``labels`` (n) and ``classes``.

Sparse features are the arrays ``data``, ``indices``, ``indptr`` and ``shape`` instead: compressed rows or columns, as
``scipy.sparse.save_npz`` writes them. ``format`` says which; if it is missing, they are rows.

``labels`` are class names (``""`` = unlabelled) or integers; if ``classes`` is present, integers are indices into
it and −1 means unlabelled.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.files import naming, write_atomically
from grande_gnn.internal.npz_file import Wanted, read_npz
from grande_gnn.internal.validation import check_features, check_sparse, encode_labels

__all__ = ["FeaturesFile", "compressed_matrix", "load_features", "save_features", "write_features"]

_ARRAYS = {
    "features": Wanted("fiu", 2, required=False),
    "files": Wanted("US", 1, required=False),
    "labels": Wanted("iufUS", 1, required=False),
    "classes": Wanted("iuUS", 1, required=False),
}

_SPARSE = {
    "data": Wanted("fiu", 1), "indices": Wanted("iu", 1), "indptr": Wanted("iu", 1), "shape": Wanted("iu", 1),
    "format": Wanted("US", 0, required=False),
}  # fmt: skip

DENSE_BYTES = 256 * 2**20
"""Sparse features are made dense for readers that need it if the dense matrix takes no more than this."""

_MOST_EMPTY = 10_000_000
"""Rows without entries that sparse features may have."""

_CHUNK = 4096
"""File names converted at a time."""


@dataclass(frozen=True, eq=False)
class FeaturesFile:
    """The content of a features file; ``labels`` are class names or numbers, or ``None``."""

    features: Any
    """A float32 matrix, or a scipy sparse one if that was requested."""
    files: NDArray[np.str_]
    labels: NDArray[Any] | None


def load_features(path: str | os.PathLike[str], *, sparse: bool = False) -> FeaturesFile:
    """Read a features file and check it; integer labels with ``classes`` become names.

    Sparse features stay sparse if ``sparse``; otherwise they become dense, or are refused if that takes too much memory.
    """
    arrays = read_npz(path, "features", _ARRAYS)
    with naming(path):
        if "features" in arrays:
            features: Any = check_features(arrays["features"])
        else:
            features = _sparse(path, sparse)
    n = features.shape[0]
    files = arrays.get("files")
    files = np.array([str(i) for i in range(n)]) if files is None else files
    labels = arrays.get("labels")
    for name, array in (("files", files), ("labels", labels)):
        if array is not None and array.shape != (n,):
            raise FileFormatError(
                f"{path}: '{name}' must have one entry per row of 'features' ({n}); got shape {array.shape}"
            )
    if labels is not None and labels.dtype.kind == "f" and np.isinf(labels).any():
        raise FileFormatError(f"{path}: 'labels' must be class names or numbers; got infinity")
    if labels is not None and "classes" in arrays and labels.dtype.kind in "iu":
        labels = _names(path, labels, arrays["classes"].astype(str))
    return FeaturesFile(features, files, labels)


def _sparse(path: str | os.PathLike[str], keep: bool) -> Any:
    """The features in compressed rows, whether the file has rows or columns."""
    try:
        arrays = read_npz(path, "features", _SPARSE)
    except FileFormatError as error:
        if "has no array" in str(error):  # then it is not a features file of either kind
            read_npz(path, "features", {"features": Wanted("fiu", 2)})
        raise
    try:
        matrix = compressed_matrix(arrays)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise FileFormatError(
            "sparse features must be compressed rows or columns, as scipy.sparse.save_npz writes them; got "
            f"{' '.join(str(error).split())[:200]}"
        ) from None
    if keep:
        return check_sparse(matrix)
    shape = matrix.shape
    if 4 * shape[0] * shape[1] > DENSE_BYTES:
        raise FileFormatError(
            f"{path} holds sparse features that are too large as a dense matrix, which is needed here: reduce them, for "
            f"example with scikit-learn's TruncatedSVD; got {shape[0]} x {shape[1]}"
        )
    return check_features(check_sparse(matrix).toarray())


def compressed_matrix(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The matrix of the arrays that ``scipy.sparse.save_npz`` writes; a ValueError says what does not fit.

    scipy itself does not check ``indptr`` if its last entry is 0, but uses its entries as addresses all the same.
    """
    from scipy.sparse import csc_matrix, csr_matrix

    kind = str(np.ravel(arrays["format"])[0]) if "format" in arrays else "csr"
    if kind not in ("csr", "csc"):
        raise ValueError(f"the format {kind!r}")
    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr"]
    shape = tuple(int(size) for size in arrays["shape"])
    if len(shape) != 2 or len(indptr) != shape[kind == "csc"] + 1:
        raise ValueError(f"shape {shape} and {len(indptr)} entries of 'indptr'")
    if (
        indptr[0] != 0
        or indptr[-1] != len(indices)
        or len(indices) != len(data)
        or (indptr[1:] < indptr[:-1]).any()
    ):
        raise ValueError("'indptr' that does not ascend from 0 to the number of entries")
    # In compressed columns, only the shape says how many rows there are.
    if shape[0] > len(data) + _MOST_EMPTY:
        raise ValueError(f"{shape[0]} rows with {len(data)} entries")
    matrix = (csr_matrix if kind == "csr" else csc_matrix)((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _names(path: Any, labels: NDArray[Any], classes: NDArray[np.str_]) -> NDArray[np.str_]:
    """Class names for integer labels; −1 becomes the empty name, which means unlabelled."""
    if labels.size and (labels.min() < -1 or labels.max() >= len(classes)):
        raise FileFormatError(
            f"{path}: 'labels' must index the {len(classes)} 'classes' (or be -1); got {labels.min()} to {labels.max()}"
        )
    return np.append(classes, "")[labels.astype(np.int64)]


def save_features(path: str | os.PathLike[str], content: FeaturesFile) -> None:
    """Write a features file atomically."""
    arrays: dict[str, Any] = {"features": content.features, "files": np.asarray(content.files, dtype=str)}
    if content.labels is not None:
        arrays["labels"] = content.labels
    write_atomically(path, lambda file: np.savez(file, **arrays))


def write_features(
    path: str | os.PathLike[str],
    blocks: Iterable[NDArray[np.float32]],
    files: Sequence[str],
    labels: Sequence[str],
) -> None:
    """Write features that arrive in blocks of rows, one row for each of ``files``.

    Only one block is in memory at a time. ``labels`` are written as indices into ``classes``, −1 = unlabelled; if no
    file has a label, neither array is written. The file appears when it is complete.
    """

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            _write_array(archive, "features", blocks, len(files), zipfile.ZIP_STORED)
            width = max((len(name) for name in files), default=1)
            chunks = (files[start : start + _CHUNK] for start in range(0, len(files), _CHUNK))
            names = (np.array(chunk, dtype=f"<U{width}") for chunk in chunks)
            _write_array(archive, "files", names, len(files), zipfile.ZIP_DEFLATED)
            if any(labels):
                codes, classes = encode_labels(np.array(labels))
                _write_array(archive, "labels", [codes], len(codes), zipfile.ZIP_DEFLATED)
                _write_array(archive, "classes", [classes], len(classes), zipfile.ZIP_DEFLATED)

    write_atomically(path, write)


def _write_array(
    archive: zipfile.ZipFile, name: str, blocks: Iterable[NDArray], n_rows: int, method: int
) -> None:
    """Write one array of the archive from blocks of its rows."""
    entry = zipfile.ZipInfo(f"{name}.npy")
    entry.compress_type = method
    with archive.open(entry, "w", force_zip64=True) as out:
        for number, block in enumerate(blocks):
            if number == 0:
                header = npy.header_data_from_array_1_0(block) | {"shape": (n_rows, *block.shape[1:])}
                npy.write_array_header_1_0(out, header)
            out.write(np.ascontiguousarray(block).tobytes())
