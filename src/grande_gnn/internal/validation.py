"""The one place where arrays, labels and parameters are checked.

Everything public calls these functions once; inside, code trusts its input.
Every message ends in what was got.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grande_gnn.errors import InvalidInputError
from grande_gnn.internal.row_blocks import by_row_blocks, rows_as

__all__ = [
    "UNLABELLED",
    "as_label_array",
    "check_choice",
    "check_features",
    "check_integer",
    "check_lists",
    "check_real",
    "check_seed",
    "check_sigma",
    "check_sparse",
    "encode_labels",
    "is_unlabelled",
]

UNLABELLED = -1
"""The integer code of a sample without a label."""


def check_features(features: ArrayLike, *, name: str = "features") -> NDArray[np.float32]:
    """Return ``features`` as a C-contiguous, finite float32 matrix with at least one row and column."""
    try:
        if np.iscomplexobj(features):
            raise TypeError("complex numbers")
        if getattr(getattr(features, "dtype", None), "kind", "f") in "mM":
            raise TypeError("dates or times")
        array = _as_float32(features)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} must be a numeric matrix (samples x features); got {error}"
        ) from None
    if array.ndim != 2:
        raise InvalidInputError(
            f"{name} must be a matrix with one row per sample; got {array.ndim} dimension(s), shape {array.shape}"
        )
    if 0 in array.shape:
        raise InvalidInputError(f"{name} needs at least one sample and one feature; got shape {array.shape}")
    if not by_row_blocks(lambda rows: np.isfinite(rows).all(axis=1), array).all():
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        raise InvalidInputError(
            f"{name} must be finite: drop or repair the rows with NaN or infinity; "
            f"got {len(bad)} such row(s), the first is row {bad[0]}"
        )
    return np.ascontiguousarray(array)


def _as_float32(features: ArrayLike) -> NDArray[np.float32]:
    """The numbers as float32; a large matrix of another type, such as a memory-mapped float16 one, is read in blocks."""
    if isinstance(features, np.ndarray) and features.ndim == 2 and features.dtype in (np.float16, np.float64):
        return rows_as(features, np.float32)
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinity, which is refused later
        return np.asarray(features, dtype=np.float32)


def check_sparse(features: Any, *, name: str = "features") -> Any:
    """Return a scipy sparse matrix as finite float32 in compressed rows, with at least one row and column."""
    import scipy.sparse as sp  # here, because importing it takes longer than printing a command's help

    if getattr(features, "ndim", 2) != 2 or features.dtype.kind not in "biuf" or 0 in features.shape:
        raise InvalidInputError(
            f"{name} must be a sparse numeric matrix with one row per sample; got {features.dtype} of shape {features.shape}"
        )
    if features.shape[1] >= 2**31:
        raise InvalidInputError(
            f"{name} must have fewer than {2**31} columns: leave out those without entries; got {features.shape[1]}"
        )
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinity, refused below
        matrix = sp.csr_matrix(features, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        bad = int((~np.isfinite(matrix.data)).sum())
        raise InvalidInputError(
            f"{name} must be finite: drop or repair the rows with NaN or infinity; got {bad} such entries"
        )
    return matrix


def is_unlabelled(labels: ArrayLike) -> NDArray[np.bool_]:
    """Mark the samples without a label: ``-1``, ``None``, ``NaN`` or ``""``."""
    array = _of_known_kind(np.asarray(labels))
    if array.dtype.kind in "iu":
        return array == UNLABELLED
    if array.dtype.kind == "f":
        return np.isnan(array) | (array == UNLABELLED)
    if array.dtype.kind == "U":
        return np.char.strip(array) == ""
    return np.array([_is_missing(label) for label in array.ravel()], dtype=bool).reshape(array.shape)


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    if isinstance(label, (str, bytes)):
        return not label.strip()
    if isinstance(label, (bool, np.bool_)):
        return False
    if isinstance(label, numbers.Real):
        return math.isnan(label) or label == UNLABELLED
    if isinstance(label, Decimal):
        return label.is_nan()  # comparing a signalling NaN raises
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True
    except Exception:  # an object that cannot be compared is no class; it is refused by its type
        return False


def _of_known_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Refuse dtypes that name no classes: bytes, dates, complex numbers and structures."""
    if labels.dtype.kind not in "biufUO":
        hint = "decode bytes first" if labels.dtype.kind == "S" else "convert them to one of these"
        raise InvalidInputError(f"labels must be strings, numbers or flags: {hint}; got dtype {labels.dtype}")
    return labels


def encode_labels(labels: ArrayLike, n_samples: int | None = None) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Split labels into integer codes (``-1`` = unlabelled) and the sorted class names.

    >>> codes, classes = encode_labels(["cat", "", "dog", None])
    >>> codes.tolist(), classes.tolist()
    ([0, -1, 1, -1], ['cat', 'dog'])
    """
    array = _of_known_kind(as_label_array(labels))
    if array.ndim != 1:
        raise InvalidInputError(f"labels must be one value per sample; got shape {array.shape}")
    if n_samples is not None and len(array) != n_samples:
        raise InvalidInputError(
            f"there must be one label per sample: {n_samples} samples; got {len(array)} labels"
        )
    missing = is_unlabelled(array)
    if missing.all():
        raise InvalidInputError(
            "at least one sample must be labelled: nothing can be learned from none; "
            f"got {len(array)} samples, all marked unlabelled (-1, None, NaN or an empty string)"
        )
    known = array[~missing]
    if known.dtype == object:
        known = _plain(known)
    classes, known_codes = np.unique(known, return_inverse=True)
    codes = np.full(len(array), UNLABELLED, dtype=np.int64)
    codes[~missing] = known_codes
    return codes, classes


def as_label_array(labels: Any) -> NDArray[Any]:
    """Turn labels into an array without letting numpy spell ``None`` or ``NaN`` as a class name."""
    if not isinstance(labels, (list, tuple)):
        # Types of pandas may hold missing values beside integers, which numpy would make floats.
        is_pandas = hasattr(labels, "isna") and not isinstance(getattr(labels, "dtype", None), np.dtype)
        return np.asarray(labels, dtype=object if is_pandas else None)
    values = list(labels)
    if any(label is None or isinstance(label, str) for label in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _plain(known: NDArray[Any]) -> NDArray[Any]:
    """Give object labels a sortable type: all strings, or all numbers."""
    if all(isinstance(label, str) for label in known):
        return known.astype(str)
    if all(isinstance(label, (numbers.Real, np.bool_)) for label in known):
        return np.array(known.tolist())
    kinds = sorted({type(label).__name__ for label in known})
    raise InvalidInputError(f"labels must be all strings or all numbers; got a mixture of {', '.join(kinds)}")


def check_choice(value: Any, choices: Iterable[str], *, name: str) -> str:
    """Return ``value`` if it is one of ``choices``."""
    options = list(choices)
    if not isinstance(value, str) or value not in options:
        raise InvalidInputError(f"{name} must be one of {', '.join(options)}; got {repr(value)[:200]}")
    return value


def check_real(
    value: Any, *, name: str, low: float = -math.inf, high: float = math.inf, open_low: bool = False
) -> float:
    """Return ``value`` as a float inside ``[low, high]`` (``(low, high]`` with ``open_low``)."""
    number = _as_float(value)
    if not math.isfinite(number) or number > high or number < low or (open_low and number <= low):
        opening = "(" if open_low else "["
        raise InvalidInputError(f"{name} must be a number in {opening}{low:g}, {high:g}]; got {value!r}")
    return number


def check_integer(value: Any, *, name: str, low: int = 0) -> int:
    """Return ``value`` as an int that is at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)) or value < low:
        raise InvalidInputError(f"{name} must be an integer of at least {low}; got {value!r}")
    return int(value)


def check_sigma(sigma: Any) -> float:
    """Return σ as a positive, finite float."""
    number = _as_float(sigma)
    if not 0 < number < math.inf:
        raise InvalidInputError(
            f"sigma must be a positive number: it divides the squared distance (0.2 is the default); got {sigma!r}"
        )
    return number


def _as_float(value: Any) -> float:
    """The value as a float: NaN if it is not a number, infinity if it is too large."""
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_seed(seed: Any, *, name: str = "random_state") -> int:
    """A seed as NumPy and scikit-learn take it; one of 2³² or more is reduced modulo 2³²."""
    return check_integer(seed, name=name) % 2**32


def check_lists(lists: ArrayLike, n_samples: int | None = None) -> NDArray[np.int32]:
    """Return ranked lists as an int32 matrix: row i starts with i, entries are distinct samples."""
    array = np.asarray(lists)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape:
        raise InvalidInputError(
            "ranked lists must be an integer matrix, row i listing the neighbors of sample i, nearest first; "
            f"got shape {array.shape}, dtype {array.dtype}"
        )
    if n_samples is not None and len(array) != n_samples:
        raise InvalidInputError(
            f"ranked lists need one row per sample: {n_samples} samples; got {len(array)} rows"
        )
    if array.min() < 0 or array.max() >= len(array):
        raise InvalidInputError(
            f"ranked lists must name samples 0 to {len(array) - 1}; got entries from {array.min()} to {array.max()}"
        )
    if (array[:, 0] != np.arange(len(array))).any():
        row = int(np.flatnonzero(array[:, 0] != np.arange(len(array)))[0])
        raise InvalidInputError(
            f"row i of ranked lists must start with i itself; got {array[row, 0]} first in row {row}"
        )
    repeats = by_row_blocks(_has_repetition, array)
    if repeats.any():
        row = int(np.flatnonzero(repeats)[0])
        raise InvalidInputError(f"a ranked list must not name a sample twice; got a repetition in row {row}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _has_repetition(lists: NDArray[Any]) -> NDArray[np.bool_]:
    """For each list whether it names a sample twice."""
    ordered = np.sort(lists, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
