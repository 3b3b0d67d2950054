"""Files in torch's own format (``.pt``, ``.pth``), read without running code and without trusting that they are intact.

Such a file is a zip archive whose members are stored as they are. It holds a checksum of each member, which torch writes
but does not compare when it reads, so a flipped bit would change a weight unnoticed. If the list of members is damaged,
torch may even return memory that was never written. So Python's reader, which checks both, reads the members, and torch
gets a new archive of them.
"""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import torch

from grande_gnn.errors import FileFormatError

__all__ = ["read_torch"]


def read_torch(path: str | os.PathLike[str], what: str, device: str | torch.device = "cpu") -> Any:
    """Tensors, numbers, texts, and lists and dictionaries of them; ``what`` names the content in errors."""
    try:
        with open(path, "rb") as file:
            is_archive = file.read(4) == b"PK\x03\x04"  # as torch decides; not before torch 1.6
        source = _verified(path) if is_archive else path
        return torch.load(source, map_location=device, weights_only=True)
    except FileFormatError:
        raise
    except Exception as error:  # a wrong file can fail in any layer of either reader
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(f"{path} cannot be read as {what}; got {reason[:200]}") from None


def _verified(path: str | os.PathLike[str]) -> io.BytesIO:
    """The same archive; raises if the checksum of a member does not fit."""
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
            for entry in source.infolist():
                if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                    raise FileFormatError(
                        f"{path} must be stored as torch.save does, uncompressed: save it again; got compressed members"
                    )
                target.writestr(zipfile.ZipInfo(entry.filename), source.read(entry))  # compares the checksum
    except zipfile.BadZipFile as error:
        raise FileFormatError(f"{path} is damaged: copy it again; got {str(error)[:200]}") from None
    out.seek(0)
    return out
