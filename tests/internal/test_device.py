"""The caller's choice of precision comes back, whichever of torch's ways it was made."""

import subprocess
import sys

import pytest
import torch

from grande_gnn.internal.device import float32_products

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
    script = SCRIPT.format(choose=choose, read=read)  # apart: torch remembers which way was taken
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


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
