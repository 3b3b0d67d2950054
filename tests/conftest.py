"""Tiny graphs every suite shares, and the way to real data where it is there."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn.graph import Graph

if not torch.cuda.is_available():  # Triton's interpreter, to be chosen before the kernels are imported
    os.environ["TRITON_INTERPRET"] = "1"
torch.set_num_threads(1)  # more threads only wait for each other on sizes like these

RESEARCH_DATA = Path(os.environ.get("GRANDE_DATA") or Path(__file__).parents[2] / "shared" / "data")
"""Datasets and features too large for a repository; the paper's source lies in ``paper`` beside this folder."""


@dataclass(frozen=True, eq=False)
class Tiny:
    """A small problem: features, a graph over them, and label codes (−1 = unlabelled)."""

    X: np.ndarray
    graph: Graph
    labels: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def dense(self) -> np.ndarray:
        """Ã as a dense float64 matrix."""
        return self.graph.to_scipy(np.float64).toarray()


def _features(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32)


def _connected() -> Tiny:
    graph = Graph.from_edges([0, 1, 2, 3, 4, 5, 6, 0, 2], [1, 2, 3, 4, 5, 6, 7, 4, 6], 8)
    return Tiny(_features(8), graph, np.array([0, 1, 2, -1, -1, 0, 1, -1]))


def _disconnected() -> Tiny:
    graph = Graph.from_edges([0, 1, 2, 4, 5, 6], [1, 2, 0, 5, 6, 7], 8)  # two parts and node 3
    return Tiny(_features(8), graph, np.array([0, 1, -1, -1, 1, -1, 0, -1]))


def _isolated() -> Tiny:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], 6)  # nodes 4 and 5 have nobody
    return Tiny(_features(6), graph, np.array([0, 1, -1, -1, 1, -1]))


def _duplicates() -> Tiny:
    graph = Graph.from_edges([0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5], 6)
    return Tiny(_features(3)[[0, 0, 1, 1, 1, 2]], graph, np.array([0, -1, 1, -1, -1, 0]))


def _one_class() -> Tiny:
    tiny = _connected()
    return Tiny(tiny.X, tiny.graph, np.where(tiny.labels >= 0, 0, -1))


def _single() -> Tiny:
    return Tiny(_features(1), Graph.from_edges([], [], 1), np.array([0]))


TINY: dict[str, Callable[[], Tiny]] = {
    "connected": _connected,
    "disconnected": _disconnected,
    "isolated": _isolated,
    "duplicates": _duplicates,
    "one_class": _one_class,
    "single": _single,
}


@pytest.fixture(params=TINY)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    """Each tiny problem in turn."""
    return TINY[request.param]()


@pytest.fixture
def connected() -> Tiny:
    """The connected tiny problem: 8 nodes, 3 classes."""
    return _connected()


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """120 samples of three overlapping groups, groups interleaved: features (float32) and all labels."""
    rng = np.random.default_rng(7)
    y = np.arange(120) % 3
    return (rng.normal(size=(120, 6)) + 2.5 * np.eye(3, 6)[y]).astype(np.float32), y


@pytest.fixture(scope="session")
def few(blobs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The labels of ``blobs`` with only the first 30 known."""
    return np.where(np.arange(120) < 30, blobs[1], -1)


def _need(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"needs {path}: set GRANDE_DATA to the folder of the research data")
    return path


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """A function from a path in the research data to the file; skips the test where it is not there."""
    return lambda relative: _need(RESEARCH_DATA / relative)


@pytest.fixture(scope="session")
def paper_source() -> str:
    """The paper's LaTeX source; skips the test where it is not there."""
    return _need(RESEARCH_DATA.parent / "paper" / "grande-sbbd2026.tex").read_text(encoding="utf-8")


@pytest.fixture
def features_file(tmp_path):
    """A features file of 40 samples in two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = (rng.normal(size=(2, 4)) * 3)[y] + rng.normal(size=(40, 4))
    np.savez(tmp_path / "features.npz", features=X, labels=y)
    return tmp_path / "features.npz"


@pytest.fixture
def picture() -> Callable[..., Image.Image]:
    """Makes a smooth RGB image that differs for each seed."""

    def make(seed: int = 0, size: tuple[int, int] = (40, 30)) -> Image.Image:
        noise = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), dtype=np.uint8)
        return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)

    return make


@pytest.fixture
def class_folders(tmp_path: Path, picture: Callable[..., Image.Image]) -> Path:
    """Two classes of three images, and two unlabelled images."""
    root = tmp_path / "pictures"
    names = [*(f"rose/{i}.jpg" for i in range(3)), *(f"daisy/{i}.png" for i in range(3)), "a.jpg", "b.jpg"]
    for seed, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        picture(seed).save(root / name)
    return root


@pytest.fixture
def flowers(shared_data: Callable[[str], Path]) -> Path:
    """The Flowers17 photos."""
    return shared_data("flowers17")


@pytest.fixture
def tiny_network(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an extractor with a network that trains in a second: a trunk and a tail, with batch norms."""
    return _register_tiny(monkeypatch)


@pytest.fixture(scope="module")
def tiny_network_of_module() -> Iterator[str]:
    """The same for all tests of a file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield _register_tiny(monkeypatch)


def _register_tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    from torch import nn

    from grande_gnn.images.networks import EXTRACTORS, make_extractor
    from grande_gnn.images.networks.weights import load_weights
    from grande_gnn.images.preprocess import Preprocess

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
            self.tail = nn.Sequential(
                nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
            )

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return self.tail(self.trunk(images))

        def split(self, n_last: int) -> tuple[nn.Module, nn.Module]:
            return self.trunk, self.tail

    def build(name: str, weights: Path | None = None):
        network = Small()
        generator = torch.Generator().manual_seed(0)
        for parameter in network.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.2, generator=generator)
        for module in network.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.zeros_(module.bias)
        if weights is not None:
            load_weights(network, weights)
        return make_extractor(name, Preprocess(20, 24), network)

    monkeypatch.setitem(EXTRACTORS, "tiny", build)
    return "tiny"


@pytest.fixture(scope="session")
def stripes() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Makes images (n, side, side, 3) of stripes in two directions, interleaved, in colors that tell nothing."""

    def make(n: int = 36, side: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 2
        waves = np.sin(np.arange(side) * 1.2 + rng.uniform(0, 6, (n, 1)))
        across = np.repeat(waves[:, None, :, None], side, axis=1)
        images = np.where(y[:, None, None, None] == 1, across, across.swapaxes(1, 2))
        colors = rng.uniform(60, 190, (n, 1, 1, 3))
        noisy = colors + 50 * images + rng.normal(size=(n, side, side, 3)) * 15
        return noisy.clip(0, 255).astype(np.uint8), y

    return make
