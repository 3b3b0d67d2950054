"""Files that are whole or absent, and ``.npz`` files that are read without trusting them."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidInputError, OutputExistsError

__all__ = ["check_output", "naming", "read_npz", "write_atomically"]


def read_npz(path: str | os.PathLike[str], what: str, *, needs: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file, which must hold those in ``needs``.

    ``what`` names the kind of file in error messages. Pickled objects are never loaded.
    """
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
    """Put the path of the file in front of errors about its content."""
    try:
        yield
    except InvalidInputError as error:
        raise FileFormatError(f"{path}: {error}") from None


def check_output(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Refuse a path that exists, unless it may be overwritten, and one whose folder does not exist."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise OutputExistsError(f"the output exists: name another or pass --overwrite; got {path}")
    if not target.parent.exists():
        raise InvalidInputError(
            f"the folder of the output does not exist: create it first; got {target.parent}"
        )
    return target


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a temporary file in the target's folder, then move it into place.

    A reader sees the old file or the new one, never a part; if ``write`` fails, the old file stays.
    """
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
