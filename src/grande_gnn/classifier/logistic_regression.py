"""Multinomial logistic regression on the device where everything else is trained.

    minimize  Σᵢ wᵢ (−log softmax(xᵢ W + b)[yᵢ]) / Σ w  +  ½ ‖W‖² / Σ w

This is scikit-learn's ``LogisticRegression`` with C = 1: it has the same loss, optimizer (SciPy's L-BFGS-B) and stopping
rule, so it takes the same steps except for rounding. Products with the features are computed by torch, in float32.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

__all__ = ["fit_logistic_regression"]

STEPS = 300
"""The fit ends after this many steps at the latest."""

CLOSE = 1e-4
"""The fit ends when no entry of the gradient is larger than this; scikit-learn's default."""

Float = NDArray[np.float64]


def fit_logistic_regression(x: Tensor, codes: Tensor, weights: Tensor, n_classes: int) -> Float:
    """The coefficients and, as the last row, the intercept: d + 1 rows and one column per class.

    With two classes, only the second has coefficients other than 0, as in scikit-learn.

    Parameters
    ----------
    x : float32 features of the labelled samples, on the device to compute on.
    codes : their classes, from 0 to ``n_classes`` − 1, on the same device.
    weights : how much each label counts, on the same device.
    """
    loss = _Loss(x, codes, weights, n_classes)
    found = minimize(
        loss, np.zeros(loss.shape).ravel(), method="L-BFGS-B", jac=True,
        options={"maxiter": STEPS, "maxls": 50, "gtol": CLOSE, "ftol": 64 * np.finfo(float).eps},
    )  # fmt: skip
    columns = found.x.reshape(loss.shape)
    return np.hstack([np.zeros((len(columns), n_classes - columns.shape[1])), columns])


class _Loss:
    """The mean loss with its penalty, and the gradient of both."""

    def __init__(self, x: Tensor, codes: Tensor, weights: Tensor, n_classes: int) -> None:
        self.x, self.codes = x, codes[:, None]
        self.first = 1 if n_classes == 2 else 0  # the first class with coefficients
        self.shape = x.shape[1] + 1, n_classes - self.first
        total = weights.sum()
        self.share = (weights / total).to(torch.float32)[:, None]
        self.penalty = 1 / float(total)

    def __call__(self, parameters: Float) -> tuple[float, Float]:
        at = torch.from_numpy(parameters.reshape(self.shape)).to(self.x.device, torch.float32)
        logits = torch.addmm(at[-1], self.x, at[:-1])
        if self.first:
            logits = torch.hstack([torch.zeros_like(logits), logits])
        log_p = torch.log_softmax(logits, dim=1)
        value = -(log_p.gather(1, self.codes) * self.share).sum(dtype=torch.float64)
        value += self.penalty / 2 * at[:-1].square().sum(dtype=torch.float64)
        error = log_p.exp_()
        error.scatter_add_(1, self.codes, torch.full_like(self.share, -1.0)).mul_(self.share)
        error = error[:, self.first :]
        gradient = torch.vstack([torch.addmm(at[:-1], self.x.T, error, beta=self.penalty), error.sum(dim=0)])
        return float(value), gradient.to("cpu", torch.float64).numpy().ravel()
