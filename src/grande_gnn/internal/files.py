"""Files that are whole or absent."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError, OutputExistsError
from grande_gnn.internal.abandoned import (
    JOURNAL,
    is_unfinished,
    remove_abandoned,
    temporary_file,
    temporary_folder,
)
from grande_gnn.internal.swap import discard, new_entries, recover, swap_in, sync

__all__ = [
    "check_output",
    "check_output_file",
    "copy_whole",
    "is_kept",
    "is_unfinished",
    "naming",
    "write_atomically",
    "write_folder",
    "write_new_folder",
]


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path of the file in front of errors about its content."""
    try:
        yield
    except InvalidInputError as error:
        raise FileFormatError(f"{path}: {error}") from None


_KEPT = "grande-kept-"


def check_output(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Refuse a path that exists, unless it may be overwritten, and one in a folder where nothing can be written."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise OutputExistsError(f"the output exists: name another or pass --overwrite; got {path}")
    if not target.parent.exists():
        raise InvalidInputError(
            f"the folder of the output does not exist: create it first; got {target.parent}"
        )
    if not target.parent.is_dir():
        raise InvalidInputError(f"the output needs a folder, but this is a file; got {target.parent}")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            return target
    except OSError as error:
        raise InvalidInputError(
            f"nothing can be written to the folder of the output: name another; got {error.strerror} in {target.parent}"
        ) from None


def check_output_file(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Like :func:`check_output`, for a file: a folder is not overwritten by one."""
    target = check_output(path, overwrite)
    if target.is_dir():
        raise InvalidInputError(f"a file is written there, but it is a folder: name a file; got {path}")
    return target


def copy_whole(source: Path, place: Path) -> None:
    """Copy a file with its times, and check its size: on a full disk, a part may be copied without an error."""
    shutil.copy2(source, place)
    copied, wanted = place.stat().st_size, source.stat().st_size
    if copied != wanted:
        raise OSError(errno.ENOSPC, f"{copied} of {wanted} bytes were copied (is the disk full?)", str(place))


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a temporary file in the target's folder, then move it into place.

    A reader sees the old file or the new one, never a part; if ``write`` fails, the old file stays. What killed
    processes left of earlier attempts is deleted.
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInputError(f"a file is written there, but it is a folder: name a file; got {path}")
    remove_abandoned(target.parent, target)
    with temporary_file(target) as (handle, temporary):
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def write_folder(
    folder: str | os.PathLike[str],
    fill: Callable[[Path], object],
    entries: Sequence[str],
    *,
    overwrite: bool = False,
    keep_unmoved: bool = False,
) -> None:
    """Write several files that belong together into a folder: all of them or none, even if the process is killed.

    They are written into a temporary folder inside it. The folder itself is not replaced, because it may be a link, a
    mounted volume or the working folder, and its parent may not be writable. Then the new entries take the place of
    earlier ones in one step (:mod:`~grande_gnn.internal.swap`). Other files in the folder are not touched.

    Parameters
    ----------
    folder : created if it does not exist; its parent must exist.
    fill : called with the temporary folder, writes the new entries into it.
    entries : all names that such a folder may hold. The first marks complete content: it is removed first and put in
        place last.
    overwrite : replace entries that exist.
    keep_unmoved : keep the new entries in a folder of their own, and say where, if they could not be moved.
    """
    whole = Path(folder).resolve()
    is_new = not whole.exists()
    whole.mkdir(exist_ok=True)
    recover(whole)
    with temporary_folder(whole) as part:
        try:
            new_entries(part).mkdir()
            fill(new_entries(part))
        except BaseException:
            discard(part)
            if is_new:
                with suppress(OSError):  # somebody else may have put something there
                    whole.rmdir()
            raise
        try:
            swap_in(part, whole, entries, overwrite)
        except OSError as error:
            if keep_unmoved and not (part / JOURNAL).exists():  # the next run needs them to undo the swap
                kept = _kept(part)
                raise GrandeError(
                    f"the results could not be moved to {folder}: move them yourself, they are kept in {kept}; got {error}"
                ) from error
            raise
        finally:
            discard(part)


def write_new_folder(folder: str | os.PathLike[str], fill: Callable[[Path], object]) -> None:
    """Write a folder that does not exist yet, or is empty: it is filled next to its place and appears there in one step.

    If nothing can be written next to it, or it cannot be replaced (for example because it is a mounted volume), the
    entries are moved into it as :func:`write_folder` does.
    """
    whole = Path(folder).resolve()
    remove_abandoned(whole.parent)
    with ExitStack() as stack:
        try:
            part = stack.enter_context(temporary_folder(whole.parent))
        except OSError:
            _write_inside(whole, fill)
            return
        try:
            new = new_entries(part)
            new.mkdir()
            fill(new)
            sync(new)
            _move_folder(new, whole)
        finally:
            discard(part)


def _move_folder(new: Path, whole: Path) -> None:
    try:
        if whole.exists():
            shutil.copymode(whole, new)
            if os.name == "nt":  # where a folder cannot replace an empty one
                whole.rmdir()
        os.rename(new, whole)
    except OSError as error:
        if whole.is_dir() and any(whole.iterdir()):
            raise FileExistsError(f"{whole} has files, which were not there before") from error
        _write_inside(whole, lambda part: [shutil.move(entry, part) for entry in sorted(new.iterdir())])


def _write_inside(whole: Path, fill: Callable[[Path], object]) -> None:
    """Like :func:`write_folder`, for an empty folder whose entries are not known beforehand."""
    entries: list[str] = []

    def fill_and_list(part: Path) -> None:
        fill(part)
        entries.extend(sorted(os.listdir(part)))

    write_folder(whole, fill_and_list, entries)


def is_kept(entry: Path) -> bool:
    """Whether this is a folder with results that :func:`write_folder` could not move into place."""
    return entry.name.startswith(_KEPT)


def _kept(part: Path) -> Path:
    """Move the new entries out of the temporary folder, which the next run would delete."""
    kept = part.with_name(f"{_KEPT}{part.name[8:16]}")
    try:
        return new_entries(part).rename(kept)
    except OSError:
        return new_entries(part)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
