"""Initial weights, drawn for each (seed, repetition, fold): replicas that differ only in their degree start equal."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from grande_gnn.engine.replica import Replica, Settings

__all__ = ["Weights", "initial_weights"]

Weights = dict[str, np.ndarray]
"""The parameters of one replica, by name."""


def initial_weights(
    replicas: Sequence[Replica], layers: Sequence[tuple[str, int, int]], settings: Settings
) -> list[Weights]:
    """Weights and biases of the layers (suffix, inputs, outputs) of each replica.

    They depend on (seed, repetition, fold) alone, so replicas that differ in σ share one draw.
    """

    def draw(key: tuple[int, int]) -> Weights:
        rng = np.random.default_rng([settings.seed, *key])
        weights = {}
        for suffix, fan_in, width in layers:
            weights[f"weight{suffix}"] = _uniform((fan_in, width), fan_in, rng)
            weights[f"bias{suffix}"] = _uniform((width,), fan_in, rng)
        return weights

    keys = list({(r.repetition, r.fold) for r in replicas})
    with ThreadPoolExecutor() as threads:  # numpy draws without holding Python's lock
        drawn = dict(zip(keys, threads.map(draw, keys), strict=True))
    return [drawn[r.repetition, r.fold] for r in replicas]


def _uniform(shape: tuple[int, ...], fan_in: int, rng: np.random.Generator) -> np.ndarray:
    """U(−1/√fan_in, 1/√fan_in), the distribution of ``torch.nn.Linear`` for weights and biases."""
    bound = np.float32(1 / np.sqrt(fan_in))
    values = rng.random(shape, dtype=np.float32)
    values *= 2 * bound
    values -= bound
    return values
