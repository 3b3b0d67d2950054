"""One way to choose a device; and the caller's own choice of precision is restored."""

import subprocess
import sys

import pytest
import torch

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.device import float32_products, resolve_device

WAYS = [  # how a user may have chosen, and how the choice is read
    ("pass", "torch.backends.cuda.matmul.fp32_precision, torch.get_float32_matmul_precision()"),
    ("torch.backends.cuda.matmul.allow_tf32 = True", "torch.backends.cuda.matmul.allow_tf32"),
    ("torch.backends.cuda.matmul.allow_tf32 = False", "torch.backends.cuda.matmul.allow_tf32"),
    ("torch.set_float32_matmul_precision('medium')", "torch.get_float32_matmul_precision()"),
    ("torch.set_float32_matmul_precision('high')", "torch.get_float32_matmul_precision()"),
    ("torch.backends.fp32_precision = 'tf32'", "torch.backends.fp32_precision"),
    ("torch.backends.cuda.matmul.fp32_precision = 'tf32'", "torch.backends.cuda.matmul.fp32_precision"),
]
SCRIPT = """
import torch
from grande_gnn import GrandeClassifier
from grande_gnn.internal.device import float32_products
{choose}
before = {read}
for precision in ("tf32", "ieee"):
    with float32_products(precision, torch.device("cuda")):
        pass
GrandeClassifier(n_neighbors=2, hidden=4, epochs=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, -1, -1, 1])
assert {read} == before
"""


newer_way = pytest.mark.skipif(
    not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="this torch has the older way only"
)


@newer_way
@pytest.mark.parametrize(("choose", "read"), WAYS)
def test_the_callers_choice_comes_back(choose, read):
    script = SCRIPT.format(choose=choose, read=read)  # in a process of its own: torch remembers the way taken
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@newer_way
def test_it_is_as_asked_inside():
    with float32_products("tf32", torch.device("cuda")):
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
        with float32_products("ieee", torch.device("cuda")):
            assert torch.backends.cuda.matmul.fp32_precision == "ieee"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device: products are compared")
def test_the_device_does_as_asked():
    x = torch.randn(512, 512, dtype=torch.float64, device="cuda")
    exact, off = x @ x, {}
    for precision in ("tf32", "ieee"):
        with float32_products(precision, torch.device("cuda")):
            off[precision] = ((x.float() @ x.float()).double() - exact).norm() / exact.norm()
    assert off["ieee"] < 1e-6 < 1e-4 < off["tf32"]


# -- which device --------------------------------------------------------------------------------------


def test_auto_is_cuda_where_there_is_a_gpu(monkeypatch):
    for available, expected in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        assert resolve_device("auto").type == expected
        assert resolve_device("cpu") == resolve_device(torch.device("cpu")) == torch.device("cpu")


def test_one_gpu_of_several(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", torch.device("cuda")])
def test_cuda_without_a_gpu_is_refused(monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInputError, match=r"no CUDA device.*--device cpu.*; got device='cuda"):
        resolve_device(device)


@pytest.mark.parametrize("device", ["tpu", "", 3, None, "auto:1", "cuda:first", "cpu:"])
def test_other_devices_are_refused(monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(InvalidInputError, match=r"device must be one of auto, cpu, cuda.*; got "):
        resolve_device(device)


def test_the_engine_and_the_images_share_it():
    from grande_gnn import engine
    from grande_gnn.images import workers

    assert engine.resolve_device is workers.resolve_device is resolve_device
