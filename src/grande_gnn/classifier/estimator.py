"""The scikit-learn estimator: from few labels to a label and class probabilities for every sample."""

from __future__ import annotations

from dataclasses import asdict, replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from grande_gnn.classifier.committee import Committee, Selection, train_alone, train_committee
from grande_gnn.classifier.context import matching_rows, with_context
from grande_gnn.classifier.copies import find_copies
from grande_gnn.classifier.halves import HalfFeatures, HalfProblems, Halves, train_halves
from grande_gnn.classifier.inputs import CheckedInputs
from grande_gnn.classifier.label_checks import check_labels, one_line_errors
from grande_gnn.classifier.normalizer import NORMALIZATIONS
from grande_gnn.classifier.preparation import AUTO, Choice, Preparation
from grande_gnn.classifier.problem import LearningProblem
from grande_gnn.classifier.splits import ScoredByLabels
from grande_gnn.classifier.tuning import PAPER, members_for
from grande_gnn.degree import Degree
from grande_gnn.engine import DegreeFunction, Settings
from grande_gnn.engine.degrees import as_degree
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import build_graph
from grande_gnn.graph.kinds import public_graphs
from grande_gnn.graph.neighbors import SearchBackend
from grande_gnn.internal.validation import check_choice, check_features, check_integer, check_sigma

__all__ = ["GrandeClassifier"]


class GrandeClassifier(ScoredByLabels, CheckedInputs):
    """Semi-supervised classifier: a diffusion GNN on a neighbor graph, with the GRaNDe degree.

    A graph connects samples that are near neighbors. SGC or APPNP spreads the known labels over it with
    Â = D^(−½)(A + I)D^(−½), D = diag(δ), where δ depends on the number of neighbors and on their distances.

    Parameters
    ----------
    model : ``"appnp"`` (two layers, ten hops), ``"sgc"`` (linear, two hops), another registered name, or your own
        ``torch.nn.Module`` (:mod:`grande_gnn.engine.plain`).
    degree : ``"grande"``, ``"centrality"``, another registered name, a degree object, or a differentiable function
        (h, graph) → degree of each node.
    sigma : scale of the GRaNDe kernel; the smaller it is, the more distant neighbors are penalized.
    graph : ``"reciprocal"`` (the paper's), ``"knn"``, ``"dgcg"`` or another registered name.
    n_neighbors : how many entries of each ranked list are used; the first entry is the sample itself.
    normalize : ``"none"`` (the paper), ``"l2"`` or ``"center-l2"``.
        Any of the last four may be ``"auto"``. Then a committee of up to five graphs predicts the weighted mean of their
        probabilities (:mod:`grande_gnn.classifier.tuning`); training it costs up to nine times as much as one fit.
    hidden : neurons of APPNP's hidden layer; ``None``: a single linear layer instead.
    n_hops : number of diffusion steps; ``None``: 2 for SGC, 10 for APPNP.
    alpha : APPNP's teleport probability, the weight of the initial prediction in each step.
    dropout : dropout rate on the input and the hidden layer of APPNP.
    weight_decay, epochs, lr : settings of Adam; the defaults are the authors' values.
    detach : whether the degree is a constant for the gradient.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``.
    precision : ``"tf32"``, ``"highest"`` (float32) or ``"half"`` (large arrays in float16 where the Triton kernels run,
        otherwise the same as ``"tf32"``); it matters on CUDA only.
    memory_limit : bytes that a training may use, predicted to about a fifth; ``None``: most of the free memory.
    context : further unlabelled samples that always belong to the graph; rows that are already in X are not added again.
        See :mod:`grande_gnn.classifier.splits`.
    random_state : seed of the initial weights and of dropout.

    Attributes
    ----------
    classes_ : the class labels.
    transduction_ : the label of every node: the rows of X, then the added rows of ``context``.
    label_distributions_ : probabilities of the classes for every node.
    reached_ : whether a label reaches the node in any member's graph; if not, its label is predicted from features alone.
    committee_ : the trained members: one if all settings were given, up to five graphs if some were ``"auto"``.
    degree_, graph_, parameters_ : the degree δ of every node after training, the graph over which the labels were spread,
        and the trained parameters; all three are the first member's.
    problem_ : the first member's :class:`~grande_gnn.classifier.LearningProblem`, which trains on other labels.
    choice_ : the first member's graph, n_neighbors, normalize and sigma.
    features_ : the fitted rows before normalization.
    reduction_ : how sparse features were made dense; ``None`` if they were dense already.
    neighbors_ : the neighbors of the normalized features, searched once for everything that needs them.
    normalizer_ : the statistics of the normalization.
    selection_ : what ``"auto"`` became, with held-out predictions; ``None`` if nothing was ``"auto"``.
    halves_ : predictions of two trainings on disjoint halves of the labels (:class:`~grande_gnn.classifier.halves.Halves`);
        ``None`` if nothing was ``"auto"`` (:meth:`train_halves` trains them) or there are too few labels for two halves.
    half_problems_ : the learning problems of each half of the labels if ``fit`` got features for them; otherwise ``None``.

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
        model: Any = "appnp",
        degree: str | Degree | DegreeFunction = "grande",
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

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        graph: Any = None,
        halves: HalfFeatures | None = None,
        search: str | SearchBackend = "auto",
        copy: bool = True,
    ) -> Self:
        """Spread the labels of ``y`` over all samples.

        Parameters
        ----------
        X : features, one row per sample, labelled and unlabelled together; a scipy sparse matrix that would be large in
            dense form is reduced to 256 features (:mod:`grande_gnn.classifier.reduction`).
        y : one label per sample; ``-1``, ``None``, ``NaN`` or ``""`` means unlabelled.
        graph : a ready :class:`~grande_gnn.Graph`, scipy sparse matrix or ranked lists (n × L integers), used instead of
            neighbors searched in X.
        halves : other features for the trainings on halves of the labels, needed if X itself depends on the labels.
        search : a backend of :class:`~grande_gnn.graph.Neighbors`: a name such as ``"approximate"``, or a function.
        copy : whether X is copied; with False, a float32 array is used in place, and its negative zeros become positive.
        """
        settings, wanted = self.settings(), self._wanted(graph)
        X_array = self._checked(X, reset=True, copy=copy)
        codes, self.classes_ = check_labels(y, len(X_array), type(self).__name__)
        self.features_, codes = with_context(X_array, codes, self.context)
        preparation = Preparation(
            self.features_, len(self.classes_), settings, self.hidden, self.degree, graph, search
        )
        choices = self._members(wanted, len(codes))
        preparation.expect(choices)
        self.choice_ = choices[0]
        self.normalizer_ = preparation.normalizer(self.choice_)
        self.neighbors_ = preparation.neighbors(self.choice_)
        candidates = [(choice, preparation.problem(choice)) for choice in choices]
        self.half_problems_ = None if halves is None else self._half_problems(halves, choices)
        return self._train(candidates, codes, wanted)

    def _half_problems(self, halves: HalfFeatures, choices: list[Choice]) -> HalfProblems:
        settings, problems = self.settings(), []
        for X in halves.features:
            own = Preparation(
                check_features(X, name="halves"), len(self.classes_), settings, self.hidden, self.degree
            )
            own.expect(choices)
            problems.append([own.problem(choice) for choice in choices])
        return HalfProblems(halves.known, list(zip(*problems, strict=True)))

    def refit(self, y: ArrayLike) -> Self:
        """A new classifier, trained on other labels of the same samples: one label per row of ``features_``.

        No neighbors are searched again: features, neighbors, graphs and settings are those of this classifier. With
        automatic settings, the labels are weighted and the members are compared anew; if another number of classes calls
        for other members, their graphs are built. So the result is that of :meth:`fit` with these labels.
        """
        check_is_fitted(self)
        automatic = self.selection_ is not None
        other = clone(self).set_params(**({} if automatic else asdict(self.choice_)), context=None)
        kept = ("features_", "reduction_", "normalizer_", "neighbors_", "n_features_in_", "feature_names_in_")
        vars(other).update((name, value) for name, value in vars(self).items() if name in kept)
        codes, other.classes_ = check_labels(y, len(self.features_), type(self).__name__)
        n_classes = len(other.classes_)
        halves = self.half_problems_
        other.half_problems_ = None if halves is None else halves.for_classes(n_classes)
        known = {m.choice: replace(m.problem, n_classes=n_classes) for m in self.committee_.members}
        wanted, chosen = other._wanted(None), self._chose_members()
        is_free = automatic and chosen and halves is None  # half_problems_ are those of the present members
        choices = members_for(wanted, len(self.features_), n_classes) if is_free else list(known)
        candidates = [(choice, known.get(choice) or self._other_graph(choice, known)) for choice in choices]
        other.choice_ = choices[0]
        if not chosen:
            wanted = replace(wanted, graph=self.choice_.graph)
        return other._train(candidates, codes, wanted)

    def _chose_members(self) -> bool:
        """Whether fitting chose the members; if not, a ready graph was given."""
        chosen = members_for(self._wanted(None), len(self.features_), len(self.classes_))
        return chosen == [member.choice for member in self.committee_.members]

    def _other_graph(self, choice: Choice, known: dict[Choice, LearningProblem]) -> LearningProblem:
        """The learning problem of a member with another graph; all members share one normalization."""
        graph = build_graph(choice.graph, self.neighbors_, int(choice.n_neighbors), kind=choice.graph)
        return replace(next(iter(known.values())), graph=graph)

    def _train(
        self, candidates: list[tuple[Choice, LearningProblem]], codes: NDArray[np.int64], wanted: Choice
    ) -> Self:
        self.selection_: Selection | None = None
        self.halves_: Halves | None = None
        if wanted.is_open:
            committee, p, self.halves_ = train_committee(
                candidates, codes, self.copies_, self.half_problems_, graph_is_open=wanted.graph == AUTO
            )
            self.selection_ = Selection.of(committee, self.halves_)
        else:
            committee, p = train_alone(*candidates[0], codes)
        self.label_distributions_ = p
        return self.settle(committee)

    def settle(self, committee: Committee) -> Self:
        """Set the attributes that follow from ``classes_``, ``label_distributions_`` and the trained members."""
        self.committee_, first = committee, committee.members[0]
        self.problem_, self.parameters_, self.degree_ = first.problem, first.parameters, first.degree
        self.graph_, self.reached_ = first.problem.graph, committee.reached
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def train_halves(self, codes: NDArray[np.int64]) -> Halves | None:
        """Train on two disjoint halves of labels of the fitted samples, with this classifier's settings.

        Parameters
        ----------
        codes : for each row of ``features_`` the index of its label in ``classes_``, or −1 if it has none.

        Returns ``None`` if fewer than two classes are labelled, or all labelled samples are copies of each other.
        """
        check_is_fitted(self)
        if self.selection_ is None:
            return train_halves(self.problem_, codes, self.copies_, self.half_problems_)
        return self.committee_.votes(codes, self.copies_, self.half_problems_).halves

    @property
    def copies_(self) -> NDArray[np.int64]:
        """A group number for each fitted sample: near-duplicates share one (``copies.py``)."""
        return find_copies(self.neighbors_)

    def settings(self) -> Settings:
        """The settings of a training with the current parameters."""
        return Settings(
            self.model, self.n_hops, self.alpha, self.dropout, self.weight_decay, self.epochs, self.lr,
            self.detach, self.device, self.precision, self.memory_limit, self._seed(),
        )  # fmt: skip

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        with one_line_errors():
            return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _wanted(self, graph: Any) -> Choice:
        """The four settings that may be ``"auto"``, checked; with a ready graph, kind and size of the graph are not open."""
        check_choice(self.graph, (*public_graphs(), AUTO), name="graph")
        check_choice(self.normalize, (*NORMALIZATIONS, AUTO), name="normalize")
        k, sigma = self.n_neighbors, self.sigma
        k = k if k == AUTO else check_integer(k, name="n_neighbors", low=1)
        sigma = sigma if sigma == AUTO else check_sigma(sigma)
        own = getattr(self.degree, "sigma", None)  # a degree object has its own σ
        sigma = sigma if own is None else own
        as_degree(self.degree)  # raises if it is not a degree
        wanted = Choice(self.graph, k, self.normalize, sigma)
        if graph is not None:
            filled = wanted.fill(PAPER)
            wanted = replace(wanted, graph=filled.graph, n_neighbors=filled.n_neighbors)
        return wanted

    def _members(self, wanted: Choice, n_samples: int) -> list[Choice]:
        """What is trained: the choice itself, or the members of a committee if it leaves something open."""
        if wanted.is_open and as_degree(self.degree).is_function:
            raise InvalidInputError(
                "'auto' settings need a degree by name ('grande' or 'centrality') or a degree object; got a function"
            )
        return members_for(wanted, n_samples, len(self.classes_)) if wanted.is_open else [wanted]

    # -- answers --------------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of each sample; a fitted sample gets its ``transduction_``, or that of the first identical sample."""
        probabilities = self.predict_proba(X)  # first, because it checks that the classifier is fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities; new samples attach to the graph through their neighbors (``new_samples.py``)."""
        return self.predict_reached(X)[0]

    def predict_reached(self, X: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Class probabilities, and whether a label reaches the sample or, if it is new, any sample it attaches to."""
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        known = matching_rows(rows, self.features_)
        out, reached = self.label_distributions_[known], self.reached_[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            moved = self.normalizer_.transform(rows[new])
            out[new], reached[new] = self.committee_.of_new(moved, self.neighbors_)
        return out, reached

    # -- files ------------------------------------------------------------------------------------------

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted classifier into ``folder`` as safetensors and JSON."""
        from grande_gnn.classifier.saving import save_classifier

        check_is_fitted(self)
        save_classifier(self, folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, model: Any = None) -> Self:
        """Read a classifier written by :meth:`save`.

        A folder names its model but never brings code along: a model of your own is given here, or registered
        before (:func:`grande_gnn.engine.models.register_model`).
        """
        from grande_gnn.classifier.saving import load_classifier

        return load_classifier(cls, folder, model)
