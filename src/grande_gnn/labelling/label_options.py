"""The options of a labelling, one field per option of ``grande label``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.classifier.estimator import GrandeClassifier
from grande_gnn.classifier.preparation import AUTO, Choice
from grande_gnn.classifier.tuning import PAPER
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph
from grande_gnn.graph.graph_files import load_graph, load_lists
from grande_gnn.images import RayRunner
from grande_gnn.images.adapt import FORMS, AdaptOptions
from grande_gnn.images.networks import EXTRACTORS
from grande_gnn.images.workers import Runner, run_locally
from grande_gnn.internal.device import resolve_device
from grande_gnn.internal.validation import check_choice
from grande_gnn.labelling.exports import export_names
from grande_gnn.labelling.label_sets import check_coverage

__all__ = ["ADAPT_NAMES", "DEFAULT", "LabelOptions"]

OFF = "off"
ADAPT_NAMES = (OFF, AUTO)
"""What ``adapt`` may be besides a form of adapting."""

RUNNERS = ("local", "ray")
"""Where the work can be done."""

Place = str | Path


@dataclass(frozen=True)
class LabelOptions:
    """The options of ``grande label``; whatever is left at its default is chosen automatically."""

    labels: Place | None = None
    """CSV with the columns file and label; None: labels.csv among the images or, without one, the names of class folders."""
    extractor: str | None = None
    """The network that turns images into features, or several joined with ``+``; None: the best that is installed. For
    texts: ``tfidf`` (None), or a model of sentence-transformers."""
    text: Sequence[str] = ()
    """The columns that hold the text, if texts are labelled; empty: a column called text, or similar."""
    weights: Place | None = None
    """File with the extractor's weights; None: those of its package."""
    adapt: str | AdaptOptions = "off"
    """Whether the network is adapted to the images: ``"off"``, ``"full"`` (the whole network), ``"last"`` (its last blocks),
    ``"auto"`` (``"last"``, or ``"full"`` for a timm model on a GPU), or options of your own; their weights and device are
    those that are given here."""
    model: Any = "appnp"
    """The GNN, as for :class:`~grande_gnn.GrandeClassifier`: a registered name or a module of your own."""
    degree: Any = "grande"
    """The degree, as for :class:`~grande_gnn.GrandeClassifier`: the paper's by default."""
    sigma: float | str = AUTO
    """Scale of the GRaNDe kernel. If ``sigma``, ``graph``, ``n_neighbors`` or ``normalize`` is ``"auto"``, a committee of
    several graphs is trained."""
    graph: str = AUTO
    """Kind of graph: a name of :data:`~grande_gnn.graph.kinds.GRAPHS`."""
    n_neighbors: int | str = AUTO
    """Entries of each ranked list that count, the image itself included."""
    normalize: str = AUTO
    """What is done to the features first: a name of :data:`~grande_gnn.classifier.normalizer.NORMALIZATIONS`."""
    paper: bool = False
    """Use the paper's settings for the four options above instead of a committee."""
    graph_file: Place | None = None
    """A graph over the images in the order of their paths, instead of one built from their features: ``.npz`` or edges in a
    table (:mod:`grande_gnn.graph.graph_files`)."""
    ignore_weights: bool = False
    """Ignore the weights that the edges of a graph file have."""
    lists_file: Place | None = None
    """Ranked lists (``.npz``) of the images in the order of their paths, instead of a search for neighbors."""
    coverage: float | None = None
    """Make a set of labels for each image that contains the right one with this probability; None: no sets are made."""
    export: str | Sequence[str] | None = None
    """Further formats to write: a name of :data:`~grande_gnn.labelling.exports.EXPORTS`, or several."""
    copy_to: Place | None = None
    """A new folder into which the images are copied, into one subfolder per label."""
    workers: int | None = None
    """Processes that decode images; None: one per core, 0: decode in this process."""
    store: Place | None = None
    """Folder of the feature store; None: ``GRANDE_CACHE`` or the user's cache folder."""
    device: str = "auto"
    """``"auto"``, ``"cpu"`` or ``"cuda"``; auto uses a GPU if there is one."""
    runner: str = "local"
    """``"local"`` (this machine) or ``"ray"``: features, neighbors and training on a Ray cluster."""
    address: str | None = None
    """The Ray cluster (``host:port``); None: one that is started on this machine."""
    seed: int = 0
    """Seed of initial weights and dropout: the same seed gives the same labels."""
    overwrite: bool = False
    """Replace an earlier result in the output folder; other files there are kept in any case."""

    def __post_init__(self) -> None:
        for name in ("sigma", "graph", "n_neighbors", "normalize") if self.paper else ():
            if getattr(self, name) != AUTO:
                raise InvalidInputError(
                    "paper=True fixes the settings: leave one of the two out; "
                    f"got paper=True and {name}={getattr(self, name)!r}"
                )
        if self.coverage is not None:
            check_coverage(self.coverage)
        if not isinstance(self.adapt, AdaptOptions):
            check_choice(self.adapt, (*ADAPT_NAMES, *FORMS), name="adapt")
        elif self.adapt.weights not in (None, self.weights):
            raise InvalidInputError(
                "the network that is adapted is the one that labels: give its weights to LabelOptions; "
                f"got {self.adapt.weights} to adapt and {self.weights or 'none'} to label"
            )
        export_names(self.export)
        check_choice(self.runner, RUNNERS, name="runner")
        if self.address is not None and not self.on_ray:
            raise InvalidInputError(
                f"an address names a Ray cluster: use the runner ray with it; got {self.address!r} and {self.runner!r}"
            )
        if self.graph_file is not None and self.lists_file is not None:
            raise InvalidInputError(
                "a graph file needs no file of ranked lists: give one of the two; "
                f"got {self.graph_file} and {self.lists_file}"
            )
        if self.ignore_weights and self.graph_file is None:
            raise InvalidInputError(
                "only a graph file can have weights to ignore: name it with graph_file; got ignore_weights and no file"
            )
        if self.graph_file is not None and self.graph != AUTO:
            raise InvalidInputError(
                "a graph file is used as it is, so no kind of graph is built: give one of the two; "
                f"got {self.graph_file} and {self.graph!r}"
            )

    @property
    def on_ray(self) -> bool:
        """Whether a Ray cluster does the work."""
        return self.runner == RUNNERS[1]

    @property
    def extraction_runner(self) -> Runner:
        """The runner that computes features: processes on this machine, or a Ray cluster."""
        return RayRunner(self.address) if self.on_ray else run_locally

    @property
    def adaptation(self) -> AdaptOptions | None:
        """How the network is adapted; None: it is not adapted."""
        if isinstance(self.adapt, AdaptOptions):
            return replace(self.adapt, weights=self.weights, device=self.device)
        if self.adapt == OFF:
            return None
        is_whole = self.extractor not in (None, *EXTRACTORS) and resolve_device(self.device).type == "cuda"
        form = self.adapt if self.adapt in FORMS else FORMS[0] if is_whole else FORMS[1]
        return AdaptOptions(form, weights=self.weights, device=self.device, seed=self.seed)

    @property
    def named_places(self) -> dict[str, Path]:
        """The files and folders that the options name, by option."""
        names = ("labels", "store", "weights", "copy_to", "graph_file", "lists_file")
        return {name: Path(getattr(self, name)) for name in names if getattr(self, name) is not None}

    def ready_graph(
        self, n_images: int, files: Sequence[str] | None = None
    ) -> Graph | NDArray[np.int32] | None:
        """The graph or the ranked lists in the file that was given; None if none was. ``files`` are the images' names."""
        if self.graph_file is not None:
            graph = load_graph(
                self.graph_file, names=files, n_nodes=n_images, ignore_weights=self.ignore_weights
            )
            _check_size(self.graph_file, "one node", "nodes", graph.n_nodes, n_images)
            return graph
        if self.lists_file is not None:
            lists = load_lists(self.lists_file)
            _check_size(self.lists_file, "one ranked list", "lists", len(lists), n_images)
            return lists
        return None

    def classifier(self) -> GrandeClassifier:
        """A new classifier with these settings."""
        own = Choice(self.graph, self.n_neighbors, self.normalize, self.sigma)
        wanted = PAPER if self.paper else own
        return GrandeClassifier(
            self.model, self.degree, wanted.sigma, graph=wanted.graph, n_neighbors=wanted.n_neighbors,
            normalize=wanted.normalize, device=self.device, random_state=self.seed,
        )  # fmt: skip


DEFAULT = LabelOptions()
"""Everything that can be chosen automatically is."""


def _check_size(path: Place, what: str, plural: str, got: int, n_images: int) -> None:
    if got != n_images:
        raise InvalidInputError(
            f"{path} must have {what} per sample that has features: {n_images} samples; got {got} {plural}"
        )
