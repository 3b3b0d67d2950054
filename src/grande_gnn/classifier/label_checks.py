"""Check the labels that an estimator gets; errors of scikit-learn's checks become errors of this package."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from grande_gnn.errors import InvalidInputError, InvalidTypeError
from grande_gnn.internal.validation import as_label_array, encode_labels

__all__ = ["check_labels", "one_line_errors"]

MISSING = frozenset({"nan", "NaN", "None", "<NA>", "-1"})
"""Texts that arrays of strings hold where a label was missing before it became a text."""


def check_labels(y: Any, n: int, name: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The class code of each label, −1 if it is missing, and the classes; ``name`` is that of the estimator."""
    if y is None:
        raise InvalidInputError(f"{name} requires y to be passed, but the target y is None")
    with one_line_errors():
        labels = column_or_1d(as_label_array(y), warn=True)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise InvalidInputError("Input y contains infinity: labels must be finite; got infinity")
    codes, classes = encode_labels(labels, n)
    with one_line_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels that all differ look like regression to it
        check_classification_targets(classes)
    if len(classes) == 1 and (codes < 0).any():
        numeric = classes.dtype.kind in "if"
        hint = "; if -1 is a class of yours, rename it: -1 means unlabelled" if numeric else ""
        warnings.warn(
            f"only one class is labelled ({classes[0]}), so every sample gets it{hint}",
            UserWarning,
            stacklevel=3,
        )
    for name in sorted(MISSING & {str(label) for label in classes if isinstance(label, str)}):
        warnings.warn(
            f"a class is called {name!r}: if that means unlabelled, use None, NaN, -1 or an empty string instead",
            UserWarning,
            stacklevel=3,
        )
    return codes, classes


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Raise the errors of scikit-learn's checks as one line and as an error of this package."""
    try:
        yield
    except TypeError as error:
        raise InvalidTypeError(" ".join(str(error).split())) from None
    except ValueError as error:
        raise InvalidInputError(" ".join(str(error).split())) from None
