"""Options that several commands share, and the progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["chain", "device_option", "graph_options", "model_options", "progress_bar", "seed_option"]

device_option = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to compute.",
)
"""``--device``."""

seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed."
)
"""``--seed``."""


def chain(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one, in the order of ``--help``."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


graph_options = chain(
    click.option(
        "--graph", type=click.Choice(["reciprocal", "knn", "dgcg"]), default="reciprocal", show_default=True,
        help="How samples are joined.",
    ),
    click.option(
        "--neighbors", type=click.IntRange(min=1), default=40, show_default=True,
        help="Entries of each ranked list that count, the sample itself included.",
    ),
    click.option(
        "--normalize", type=click.Choice(["none", "l2", "center-l2"]), default="none", show_default=True,
        help="What is done to the features first.",
    ),
)  # fmt: skip
"""``--graph``, ``--neighbors`` and ``--normalize``."""

model_options = chain(
    click.option("--model", type=click.Choice(["appnp", "sgc"]), default="appnp", show_default=True),
    click.option(
        "--hidden", type=click.IntRange(min=0), default=256, show_default=True,
        help="Neurons of APPNP's hidden layer; 0 for one linear layer.",
    ),
    click.option("--lr", type=float, default=1e-3, show_default=True, help="Learning rate (the paper: 1e-2 on CUB200)."),
)  # fmt: skip
"""``--model``, ``--hidden`` and ``--lr``."""


@contextmanager
def progress_bar(total: int, unit: str = "epoch") -> Iterator[Callable[[int], object]]:
    """A bar on a terminal, silence elsewhere; yields the function to call with each advance."""
    from tqdm import tqdm

    bar = tqdm(
        total=total, unit=unit, unit_scale=True, file=sys.stderr, disable=not sys.stderr.isatty(), leave=False
    )
    with bar:
        yield bar.update
