"""What an extractor is: preprocessing and a network, together with an identity."""

from __future__ import annotations

import copy
import hashlib
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from torch import nn

from grande_gnn.images.preprocess import Preprocess

__all__ = ["Extractor", "make_extractor"]

_VERSION = b"1"
"""Part of every identity. Increase it if features change although weights and preprocessing do not."""


@dataclass(frozen=True)
class Extractor:
    """A network that maps images to features.

    ``identity`` names the feature store. It depends on the name, the content of the weights and the
    preprocessing, so that features of different networks are never mixed up.
    """

    name: str
    identity: str
    preprocess: Preprocess
    network: nn.Module

    @torch.inference_mode()
    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """The features (n, n_features), in float32, of uint8 pixels (n, size, size, 3)."""
        # Full float32, so that features from CUDA and CPU agree to rounding.
        exact = torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        )
        with exact if pixels.is_cuda else nullcontext():
            return self.network(self.preprocess.normalize(pixels)).float()

    def n_features(self) -> int:
        """The number of features of an image."""
        size = self.preprocess.size
        return int(self(torch.zeros(1, size, size, 3, dtype=torch.uint8)).shape[1])

    def to(self, device: torch.device) -> Extractor:
        """A copy of this extractor on ``device``."""
        return replace(self, network=copy.deepcopy(self.network).to(device))


def make_extractor(name: str, preprocess: Preprocess, network: nn.Module) -> Extractor:
    """Prepare a network for inference and give it its identity."""
    network = network.eval().requires_grad_(False)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    digest = hashlib.blake2b(_VERSION + repr(preprocess).encode(), digest_size=6)
    for key, tensor in network.state_dict().items():
        digest.update(key.encode() + tensor.contiguous().numpy().tobytes())
    safe_name = re.sub(r"[^\w.-]+", "_", name)
    return Extractor(name, f"{safe_name}-{digest.hexdigest()}", preprocess, network)
