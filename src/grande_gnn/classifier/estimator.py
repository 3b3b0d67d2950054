"""The scikit-learn face: few labels in, a label and a probability for every sample out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from grande_gnn.classifier.new_samples import FrozenModel, join, last_listed_distance, softmax
from grande_gnn.classifier.normalizer import NORMALIZATIONS, Normalizer
from grande_gnn.classifier.tuning import AUTO, PAPER, Choice, Selection, choose
from grande_gnn.engine import DegreeFunction, DegreeSpec, Replica, Settings, resolve_device, train
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import build_graph, ranked_lists
from grande_gnn.graph.kinds import public_graphs
from grande_gnn.internal.validation import (
    as_label_array,
    check_choice,
    check_features,
    check_integer,
    check_sigma,
    encode_labels,
)

__all__ = ["GrandeClassifier"]


class GrandeClassifier(ClassifierMixin, BaseEstimator):
    """Semi-supervised classifier: a diffusion GNN on a neighbour graph, with the GRaNDe degree.

    Samples become ranked lists, lists a graph, and SGC or APPNP spreads the known labels over it with
    Â = D^(−½)(A + I)D^(−½), D = diag(δ), where δ counts the neighbours and how far they are.

    Parameters
    ----------
    model : ``"appnp"`` (two layers, ten hops with return) or ``"sgc"`` (linear, two hops).
    degree : ``"grande"``, ``"centrality"``, or a differentiable function (h, graph) → degree of each node.
    sigma : scale of the GRaNDe kernel; smaller punishes far neighbours harder.
    graph : ``"reciprocal"`` (the paper's), ``"knn"`` or ``"dgcg"``.
    n_neighbors : entries of each ranked list that count, the sample itself included.
    normalize : ``"none"`` (the paper), ``"l2"`` or ``"center-l2"``.
        Each of these four may be ``"auto"``: it is then chosen by cross-validation inside the labelled samples
        (:mod:`grande_gnn.classifier.tuning`), at the price of several fits.
    hidden : neurons of APPNP's hidden layer; ``None`` for one linear layer.
    n_hops : hops of the diffusion; ``None`` for the model's own (2 or 10).
    alpha : APPNP's weight of returning to the start.
    dropout : on the input and hidden layer of APPNP.
    weight_decay, epochs, lr : Adam's; the authors' values.
    detach : stop the gradient at the degree.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``.
    precision : ``"tf32"``, ``"highest"`` (float32) or ``"half"`` (large arrays in float16, with the Triton kernels; as
        ``"tf32"`` where these do not serve); matters on CUDA only.
    memory_limit : bytes the training may use, by a prediction good to about a fifth; ``None`` for most of what is free.
    context : more samples, without labels, that always belong to the graph; rows that are in X already are
        not added again. See :mod:`grande_gnn.classifier.splits`.
    random_state : seed of initial weights and dropout.

    Attributes
    ----------
    classes_ : the class labels.
    transduction_ : the label of every node: the rows of X, then the added rows of ``context``.
    label_distributions_ : probabilities of the classes for every node.
    reached_ : whether a label reaches the node through the graph; where not, the label comes from the node's
        own features alone.
    degree_ : the degree δ of every node after training.
    graph_ : the graph.
    choice_ : graph, n_neighbors, normalize and sigma as used.
    selection_ : how the choice was made, with held-out predictions; ``None`` when nothing was ``"auto"``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    >>> clf = GrandeClassifier("sgc", random_state=0).fit(X, few)
    >>> float(np.mean(clf.transduction_ == y)) > 0.9
    True
    """

    def __init__(
        self,
        model: str = "appnp",
        degree: str | DegreeFunction = "grande",
        sigma: float | str = 0.2,
        *,
        graph: str = "reciprocal",
        n_neighbors: int | str = 40,
        normalize: str = "none",
        hidden: int | None = 256,
        n_hops: int | None = None,
        alpha: float = 0.1,
        dropout: float = 0.5,
        weight_decay: float = 5e-4,
        epochs: int = 200,
        lr: float = 1e-3,
        detach: bool = False,
        device: str = "auto",
        precision: str = "tf32",
        memory_limit: int | None = None,
        context: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.degree = degree
        self.sigma = sigma
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.normalize = normalize
        self.hidden = hidden
        self.n_hops = n_hops
        self.alpha = alpha
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.lr = lr
        self.detach = detach
        self.device = device
        self.precision = precision
        self.memory_limit = memory_limit
        self.context = context
        self.random_state = random_state

    # -- fitting ------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, graph: Any = None) -> Self:
        """Spread the labels of ``y`` over all samples.

        Parameters
        ----------
        X : features, one row a sample, labelled and unlabelled together.
        y : one label a sample; ``-1``, ``None``, ``NaN`` or ``""`` for the unlabelled.
        graph : a ready :class:`~grande_gnn.Graph`, scipy sparse matrix or ranked lists (n × L integers)
            instead of neighbours searched in X.
        """
        settings = self._settings(self._seed())
        wanted = self._wanted(graph)
        X_array = self._checked(X, reset=True)
        codes, self.classes_ = self._checked_labels(y, len(X_array))
        X_array, codes = self._with_context(X_array, codes)
        self.selection_ = self._selected(X_array, codes, wanted, settings)
        self.choice_ = wanted if self.selection_ is None else self.selection_.choice
        spec = self._degree_spec()
        self._normalizer = Normalizer.fit(X_array, self.choice_.normalize)
        inputs = self._normalizer.transform(X_array)
        source = self.choice_.graph if graph is None else graph
        kind, device = self.choice_.graph, str(resolve_device(settings.device))
        self.graph_ = build_graph(source, inputs, int(self.choice_.n_neighbors), kind=kind, device=device)
        replica = Replica(codes, spec, hidden=self.hidden)
        (outcome,) = train(inputs, self.graph_, [replica], len(self.classes_), settings, keep_models=True)
        assert outcome.logits is not None  # keep_models=True
        assert outcome.degree is not None
        assert outcome.parameters is not None
        self._X = X_array
        self._parameters = outcome.parameters
        self._radius: NDArray[np.float64] | None = None
        self.degree_ = outcome.degree.astype(np.float64)
        self.label_distributions_ = softmax(outcome.logits.astype(np.float64))
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        self.reached_ = self.graph_.reached_from(codes >= 0)
        return self

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _settings(self, seed: int = 0) -> Settings:
        return Settings(
            self.model, self.n_hops, self.alpha, self.dropout, self.weight_decay, self.epochs, self.lr,
            self.detach, self.device, self.precision, self.memory_limit, seed,
        )  # fmt: skip

    def _wanted(self, graph: Any) -> Choice:
        """The four settings that may be open, checked; a ready graph leaves nothing to choose about graphs."""
        check_choice(self.graph, (*public_graphs(), AUTO), name="graph")
        check_choice(self.normalize, (*NORMALIZATIONS, AUTO), name="normalize")
        k, sigma = self.n_neighbors, self.sigma
        k = k if k == AUTO else check_integer(k, name="n_neighbors", low=1)
        sigma = sigma if sigma == AUTO else check_sigma(sigma)
        if not callable(self.degree):
            check_choice(self.degree, ("grande", "centrality"), name="degree")
        wanted = Choice(self.graph, k, self.normalize, sigma)
        if graph is not None:
            wanted = replace(
                wanted, graph=wanted.fill(PAPER).graph, n_neighbors=wanted.fill(PAPER).n_neighbors
            )
        return wanted

    def _selected(
        self, X: NDArray[np.float32], codes: NDArray[np.int64], wanted: Choice, settings: Settings
    ) -> Selection | None:
        if not wanted.is_open:
            return None
        if callable(self.degree):
            raise InvalidInputError(
                "'auto' settings need a built-in degree: 'grande' or 'centrality'; got a function"
            )
        return choose(X, codes, wanted, settings, self.hidden, self.degree)

    def _degree_spec(self) -> DegreeSpec:
        if callable(self.degree):
            return self.degree
        return float(self.choice_.sigma) if self.degree == "grande" else "centrality"

    def _checked(self, X: ArrayLike, *, reset: bool) -> NDArray[np.float32]:
        with _our_errors(), np.errstate(over="ignore"):
            array = validate_data(self, X, reset=reset, dtype=np.float32, ensure_all_finite=False)
        return check_features(array, name="X") + np.float32(0)  # −0 becomes 0: equal rows have equal bytes

    def _checked_labels(self, y: Any, n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        with _our_errors():
            labels = column_or_1d(as_label_array(y), warn=True)
        if labels.dtype.kind == "f" and np.isinf(labels).any():
            raise InvalidInputError("Input y contains infinity: labels must be finite; got infinity")
        codes, classes = encode_labels(labels, n)
        with _our_errors(), warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # each class is there once, which looks like regression
            check_classification_targets(classes)
        if len(classes) == 1 and (codes < 0).any():
            numeric = classes.dtype.kind in "if"
            hint = "; if -1 is a class of yours, rename it: -1 means unlabelled" if numeric else ""
            warnings.warn(
                f"only one class is labelled ({classes[0]}), so every sample gets it{hint}",
                UserWarning,
                stacklevel=3,
            )
        return codes, classes

    def _with_context(
        self, X: NDArray[np.float32], codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        if self.context is None:
            return X, codes
        more = check_features(self.context, name="context") + np.float32(0)
        if more.shape[1] != X.shape[1]:
            raise InvalidInputError(
                f"context must have the features of X: {X.shape[1]} columns; got {more.shape[1]}"
            )
        left = Counter(row.tobytes() for row in X)  # a copy beyond those in X is a sample of its own
        extra = []
        for row in more:
            extra.append(left[row.tobytes()] <= 0)
            left[row.tobytes()] -= 1
        more = more[extra]
        return np.vstack([X, more]), np.concatenate([codes, np.full(len(more), -1)])

    # -- answers --------------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of each sample; a fitted sample gets its ``transduction_``."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities; new samples join the graph through their neighbours (``inductive.py``)."""
        return self._answers(X)[0]

    def _answers(self, X: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Class probabilities, and whether a label reaches the sample or, if it is new, any that it joins."""
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        known = _matching_rows(rows, self._X)
        out, reached = self.label_distributions_[known], self.reached_[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            fitted, moved = self._normalizer.transform(self._X), self._normalizer.transform(rows[new])
            joins = join(moved, fitted, self._radii(fitted), int(self.choice_.n_neighbors))
            out[new] = softmax(self._frozen().logits(moved, fitted, joins))
            reached[new] = joins.sum_over(self.reached_[joins.fitted].astype(np.float64)) > 0
        return out, reached

    def _radii(self, fitted: NDArray[np.float32]) -> NDArray[np.float64]:
        """How far each fitted sample's list reaches; found at the first new sample."""
        if self._radius is None:
            k = int(self.choice_.n_neighbors)
            lists = ranked_lists(fitted, k, device=str(resolve_device(self.device)))
            self._radius = last_listed_distance(fitted, lists, k)
        return self._radius

    def _frozen(self) -> FrozenModel:
        settings, spec = self._settings(), self._degree_spec()
        after = settings.model == "sgc" and spec == "centrality"
        return FrozenModel(
            self._parameters, self.degree_, spec, self.graph_, settings.hops, settings.teleport, after
        )

    # -- files ------------------------------------------------------------------------------------------

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted classifier into ``folder`` as safetensors and JSON."""
        from grande_gnn.classifier.saving import save_classifier

        check_is_fitted(self)
        save_classifier(self, folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a classifier written by :meth:`save`."""
        from grande_gnn.classifier.saving import load_classifier

        return load_classifier(cls, folder)


@contextmanager
def _our_errors() -> Iterator[None]:
    """scikit-learn's checks in scikit-learn's words, but as one line and an error of ours."""
    try:
        yield
    except ValueError as error:
        raise InvalidInputError(" ".join(str(error).split())) from None


def _matching_rows(rows: NDArray[np.float32], among: NDArray[np.float32]) -> NDArray[np.int64]:
    """For each row its first identical row ``among`` others, or −1."""
    place: dict[bytes, int] = {}
    for i, row in enumerate(among):
        place.setdefault(row.tobytes(), i)
    return np.array([place.get(row.tobytes(), -1) for row in rows], dtype=np.int64)
