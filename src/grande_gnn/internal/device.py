"""How CUDA multiplies matrices of float32, chosen for a while and then put back as the caller had it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["float32_products"]


@contextmanager
def float32_products(precision: str, device: torch.device) -> Iterator[None]:
    """Products inside are ``"tf32"`` or ``"ieee"``, that is full float32; without CUDA nothing is touched.

    torch has two ways to say this and refuses to answer the older once the newer was used, so the newer is taken
    where there is one.
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
