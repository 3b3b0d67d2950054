"""Sparse features (bags of words) in a network: dropout and the first layer without ever making them dense.

A scipy matrix becomes a torch tensor in compressed rows (CSR). Dropout then draws one random number for each stored entry
instead of each entry, which is the same distribution, because an entry of 0 stays 0 whether it is dropped or not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["SparseDropout", "as_tensor", "is_sparse", "linear", "with_values"]


def as_tensor(X: Any, device: torch.device) -> Tensor:
    """The features as a tensor: dense as they are, or in compressed rows."""
    if not sp.issparse(X):
        return torch.from_numpy(X).to(device)
    with warnings.catch_warnings():  # torch warns that its CSR layout is in beta
        warnings.simplefilter("ignore")
        rows = torch.from_numpy(X.indptr.astype(np.int64)), torch.from_numpy(X.indices.astype(np.int64))
        return torch.sparse_csr_tensor(*rows, torch.from_numpy(X.data), X.shape).to(device)


def is_sparse(x: Tensor) -> bool:
    """Whether the tensor is in compressed rows."""
    return x.layout == torch.sparse_csr


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """The same entries with other values."""
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)


def linear(x: Tensor, layer: nn.Linear) -> Tensor:
    """``layer(x)`` for dense or sparse x."""
    if not is_sparse(x):
        return layer(x)
    product = x @ layer.weight.t()
    return product if layer.bias is None else product + layer.bias


class SparseDropout(nn.Dropout):
    """``nn.Dropout`` for dense or sparse input."""

    def forward(self, x: Tensor) -> Tensor:
        if not is_sparse(x):
            return super().forward(x)
        return with_values(x, F.dropout(x.values(), self.p, self.training)) if self.training else x
