"""Tensors in a safetensors file, with a checksum among its notes that is compared when the file is read.

The format itself has none, so a flipped bit would change a weight unnoticed. Files from elsewhere have no checksum and are
read as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.block_sums import BlockSums
from grande_gnn.internal.files import write_atomically
from grande_gnn.internal.safetensors_file import write_safetensors

__all__ = ["read_tensors", "write_tensors"]

_CHECKSUM = "checksum"


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """Write tensors and notes to a file, completely or not at all; the same ones give the same bytes."""
    arrays = {name: value.numpy() for name, value in tensors.items()}
    everything = {**notes, "format": "pt", _CHECKSUM: _sums(tensors)}
    write_atomically(path, lambda file: write_safetensors(file, arrays, everything))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name; raises :class:`FileFormatError` if they do not have the checksum that it holds."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
        wanted = (file.metadata() or {}).get(_CHECKSUM)
    if wanted is not None and _sums(tensors) != wanted:
        raise FileFormatError(
            f"{path} is damaged: copy it again, or make it again; got tensors with another checksum"
        )
    return tensors


def _sums(tensors: Mapping[str, Tensor]) -> str:
    sums = BlockSums()
    for name in sorted(tensors):
        value = tensors[name]
        sums.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        sums.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return sums.hexdigest()
