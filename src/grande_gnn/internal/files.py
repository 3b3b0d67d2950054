"""Files: the features format, and writers that leave a whole file or none at all.

A features file is an ``.npz`` with features (n × d), files (n), labels (n, optional) and classes (optional names of
integer labels).
"""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError
from grande_gnn.internal.validation import check_features

__all__ = [
    "FeaturesFile",
    "check_output",
    "load_features",
    "naming",
    "read_npz",
    "save_features",
    "write_atomically",
]


@dataclass(frozen=True, eq=False)
class FeaturesFile:
    """The content of a features file; ``labels`` are class names or numbers, or ``None``."""

    features: NDArray[np.float32]
    files: NDArray[np.str_]
    labels: NDArray[Any] | None


def load_features(path: str | os.PathLike[str]) -> FeaturesFile:
    """Read a features ``.npz`` and check it; integer labels with ``classes`` become names."""
    arrays = read_npz(path, "features", needs=("features",))
    with naming(path):
        features = check_features(arrays["features"])
    n = len(features)
    files = arrays.get("files")
    files = np.array([str(i) for i in range(n)]) if files is None else np.asarray(files, dtype=str)
    labels = arrays.get("labels")
    for name, array in (("files", files), ("labels", labels)):
        if array is not None and array.shape != (n,):
            raise FileFormatError(
                f"{path}: '{name}' must have one entry a row of 'features' ({n}); got shape {array.shape}"
            )
    if labels is not None and "classes" in arrays and labels.dtype.kind in "iu":
        labels = _names(path, labels, np.asarray(arrays["classes"], dtype=str))
    return FeaturesFile(features, files, labels)


def _names(path: Any, labels: NDArray[Any], classes: NDArray[np.str_]) -> NDArray[np.str_]:
    """Class names for integer labels; −1 becomes the empty name, which means unlabelled."""
    if labels.size and (labels.min() < -1 or labels.max() >= len(classes)):
        raise FileFormatError(
            f"{path}: 'labels' must index the {len(classes)} 'classes' (or be -1); got {labels.min()} to {labels.max()}"
        )
    return np.append(classes, "")[labels]


def save_features(path: str | os.PathLike[str], content: FeaturesFile) -> None:
    """Write a features ``.npz`` atomically."""
    arrays: dict[str, Any] = {"features": content.features, "files": np.asarray(content.files, dtype=str)}
    if content.labels is not None:
        arrays["labels"] = content.labels
    write_atomically(path, lambda file: np.savez(file, **arrays))


def read_npz(path: str | os.PathLike[str], what: str, *, needs: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file, which must hold those in ``needs``; ``what`` names the kind of file in errors."""
    if not Path(path).is_file():
        raise FileFormatError(f"no such {what} file: check the path; got {path}")
    if not zipfile.is_zipfile(path):
        raise FileFormatError(f"not a .npz {what} file: write one with numpy.savez; got {path}")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(
            f"{path} is not a readable {what} file: write it again with numpy.savez, without pickled objects; "
            f"got {' '.join(str(error).split())}"
        ) from None
    missing = [name for name in needs if name not in arrays]
    if missing:
        raise FileFormatError(
            f"{path} has no array '{missing[0]}', so it is not a {what} file; got {', '.join(sorted(arrays)) or 'nothing'}"
        )
    return arrays


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file holds what is wrong."""
    try:
        yield
    except InvalidInputError as error:
        raise FileFormatError(f"{path}: {error}") from None


def check_output(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Refuse a path that exists unless it may be overwritten, and one whose folder does not exist."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise OutputExistsError(f"the output exists: name another or pass --overwrite; got {path}")
    if not target.parent.exists():
        raise InvalidInputError(
            f"the folder of the output does not exist: create it first; got {target.parent}"
        )
    return target


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Write beside the target and move into place, so that a reader sees the old file or the new one."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
