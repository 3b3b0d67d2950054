"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from grande_gnn.classifier.normalizer import NORMALIZATIONS
from grande_gnn.cli.choices import ChoiceOf, Place
from grande_gnn.engine.models import MODELS
from grande_gnn.graph.kinds import public_graphs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "chain",
    "device_option",
    "folds_option",
    "graph_file_options",
    "graph_from_files",
    "graph_options",
    "ignore_weights_option",
    "is_quiet",
    "model_options",
    "seed_option",
]

device_option = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to compute.",
)
"""``--device``."""

folds_option = click.option(
    "--folds", type=click.IntRange(min=2), default=10, show_default=True,
    help="Parts of the samples; each of them in turn is labelled, and the others are tested.",
)  # fmt: skip
"""``--folds``."""

seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Random seed."
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
        "--graph", type=ChoiceOf(public_graphs), default="reciprocal", show_default=True,
        help="How samples are connected.",
    ),
    click.option(
        "--neighbors", type=click.IntRange(min=1), default=40, show_default=True,
        help="Entries of each ranked list that are used, the sample itself included.",
    ),
    click.option(
        "--normalize", type=ChoiceOf(lambda: NORMALIZATIONS), default="none", show_default=True,
        help="How features are normalized first.",
    ),
)  # fmt: skip
"""``--graph``, ``--neighbors`` and ``--normalize``."""

ignore_weights_option = click.option(
    "--ignore-weights", is_flag=True, help="Use the edges of --graph-file alone, if they have weights."
)
"""``--ignore-weights``."""

graph_file_options = chain(
    click.option(
        "--graph-file", metavar="FILE.npz|FILE.csv", type=Place(),
        help="Use this graph (or its edges: source,target) instead of building one.",
    ),
    ignore_weights_option,
    click.option(
        "--lists-file", metavar="FILE.npz", type=Place(),
        help="Build --graph from these ranked lists instead of searching neighbors.",
    ),
)  # fmt: skip
"""``--graph-file``, ``--ignore-weights`` and ``--lists-file``."""


def graph_from_files(
    features: NDArray[np.float32], kind: str, n_neighbors: int, graph_file: str | None, lists_file: str | None,
    *, names: Sequence[str] | None = None, ignore_weights: bool = False,
) -> Any:  # fmt: skip
    """The graph that a file holds or gives the lists for; without a file the name of its kind.

    ``names`` are those of the samples, which a table of edges may use.
    """
    from grande_gnn.errors import InvalidInputError
    from grande_gnn.graph import build_graph
    from grande_gnn.graph.graph_files import load_graph, load_lists

    if graph_file and lists_file:
        raise InvalidInputError(
            "a graph needs no ranked lists: give --graph-file or --lists-file, not both; "
            f"got {graph_file} and {lists_file}"
        )
    if graph_file:
        graph = load_graph(graph_file, names=names, n_nodes=len(features), ignore_weights=ignore_weights)
        return build_graph(graph, features, n_neighbors)
    if ignore_weights:
        raise InvalidInputError(
            "only a graph file can have weights to ignore: name it with --graph-file; got --ignore-weights and none"
        )
    if lists_file:
        return build_graph(load_lists(lists_file), features, n_neighbors, kind=kind)
    return kind


model_options = chain(
    click.option(
        "--model", type=ChoiceOf(lambda: MODELS), default="appnp", show_default=True, help="The network that is trained."
    ),
    click.option(
        "--hidden", type=click.IntRange(min=0), default=256, show_default=True,
        help="Neurons of APPNP's hidden layer; 0 for one linear layer.",
    ),
    click.option("--lr", type=float, default=1e-3, show_default=True, help="Learning rate (the paper: 1e-2 on CUB200)."),
)  # fmt: skip
"""``--model``, ``--hidden`` and ``--lr``."""


def is_quiet() -> bool:
    """Whether only results are wanted: ``grande --quiet …``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))
