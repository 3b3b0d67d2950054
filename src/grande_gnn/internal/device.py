"""Where to compute, and how CUDA multiplies float32 matrices there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.validation import check_choice

__all__ = ["DEVICES", "float32_products", "resolve_device"]

DEVICES = ("auto", "cpu", "cuda")
"""The names a user may give; ``"cuda:1"`` means the second of several GPUs."""


def resolve_device(device: str | torch.device) -> torch.device:
    """The device to compute on: ``"auto"`` is CUDA if there is a GPU, otherwise the CPU.

    Asking for CUDA on a machine without it is an error.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    name = str(device)
    check_choice(name.partition(":")[0], DEVICES, name="device")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidInputError(
            "no CUDA device is available to this torch: install a CUDA build of torch or use device='cpu' "
            f"(--device cpu on the command line); got device={name!r}"
        )
    try:
        return torch.device(name)
    except RuntimeError:  # "cuda:first", "auto:0"
        raise InvalidInputError(
            f"device must be one of {', '.join(DEVICES)}, or cuda:N for GPU number N; got {name!r}"
        ) from None


@contextmanager
def float32_products(precision: str, device: torch.device) -> Iterator[None]:
    """Multiply float32 matrices in ``"tf32"`` or ``"ieee"`` (full float32) inside the block.

    The caller's own choice is restored afterwards. Devices other than CUDA are not affected. Torch has an older and
    a newer setting and refuses to read the older one once the newer one was written, so the newer one is used where
    it exists.
    """
    if device.type != "cuda":
        yield
        return
    products = torch.backends.cuda.matmul
    name, value = (
        ("fp32_precision", precision)
        if hasattr(products, "fp32_precision")
        else ("allow_tf32", precision == "tf32")
    )
    before = getattr(products, name)
    setattr(products, name, value)
    try:
        yield
    finally:
        setattr(products, name, before)
