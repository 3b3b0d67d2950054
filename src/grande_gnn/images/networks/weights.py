"""Read weights from a file, check them, and load them into a network."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.tensor_file import read_tensors
from grande_gnn.internal.torch_file import read_torch

__all__ = ["load_weights"]

_INNER = "network."
_WHAT = "weights (a state_dict in .pth, .pt or .safetensors)"


def load_weights(network: nn.Module, path: Path) -> None:
    """Load a ``.safetensors``, ``.pth`` or ``.pt`` file into ``network``.

    Entries that the network does not have (a classification head) are ignored; every entry that it has is required. The
    names in adapted weights start with ``network.``, because they are those of the extractor's module around this network.
    """
    state = _read_state(path)
    own = network.state_dict()
    if all(key.startswith(_INNER) for key in state) and not any(key.startswith(_INNER) for key in own):
        state = {key.removeprefix(_INNER): value for key, value in state.items()}
    # A counter of training steps; not used here and absent from older files.
    needed = {key for key in own if not key.endswith("num_batches_tracked")}
    wrong = sorted(key for key in needed if key not in state or state[key].shape != own[key].shape)
    if wrong:
        raise FileFormatError(
            f"{path} does not hold the weights of this network (another architecture?): "
            f"{len(wrong)} of {len(needed)} entries are missing or have another shape; got no {wrong[0]!r}"
        )
    for key in sorted(needed):
        value, is_real = state[key], own[key].is_floating_point()
        if value.layout != torch.strided or value.is_floating_point() != is_real or value.is_meta:
            raise FileFormatError(
                f"{path} must hold plain numbers as weights; got {value.dtype}, {value.layout} in {key!r}"
            )
    network.load_state_dict({key: state[key] for key in needed}, strict=False)
    for key in sorted(needed):  # own are the network's tensors themselves, so they hold what was loaded
        if not bool(torch.isfinite(own[key]).all()):
            raise FileFormatError(
                f"{path} must hold finite weights: take an earlier file of the training; got NaN or infinity in {key!r}"
            )


def _read_state(path: Path) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise FileFormatError(f"the weights file must be an existing file; got {path}")
    try:
        if path.suffix == ".safetensors":
            return read_tensors(path)
        state = read_torch(path, _WHAT)
    except FileFormatError:
        raise
    except Exception as error:  # a wrong file can fail in any layer of either reader
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(f"{path} cannot be read as {_WHAT}; got {reason[:200]}") from error
    for wrapper in ("state_dict", "model"):
        if isinstance(state, dict) and isinstance(state.get(wrapper), dict):
            state = state[wrapper]
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise FileFormatError(
            f"{path} must hold a dictionary of tensors (a state_dict); got {type(state).__name__}"
        )
    return {str(key).removeprefix("module."): value for key, value in state.items()}
