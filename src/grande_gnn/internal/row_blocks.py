"""Functions of single rows, applied to very large matrices block by block: less memory, and all processors.

A block stays in the processor's cache and its temporary copies are small, whereas a chain of whole-matrix operations would
copy a million × 1,000 probabilities, 8 GB, at every step. The result is the same to the last bit, because no row depends
on another.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_BLOCK", "by_row_blocks", "for_row_blocks", "largest", "rows_as"]

LARGEST_BLOCK = 2**22
"""Entries up to which a matrix is one block."""

_BLOCK = 2**17
"""Entries of a block: about a megabyte in float64."""

_MOST_THREADS = 16


def by_row_blocks(function: Callable[..., NDArray[Any]], *arrays: NDArray[Any]) -> NDArray[Any]:
    """``function(*arrays)`` for a function whose row i of the result depends on row i of the arrays only.

    >>> by_row_blocks(lambda x, y: x.sum(axis=1) + y, np.ones((3, 2)), np.arange(3)).tolist()
    [2.0, 3.0, 4.0]
    """
    first = arrays[0]
    if first.size <= LARGEST_BLOCK:
        return function(*arrays)
    begin = function(*(array[:1] for array in arrays))
    out = np.empty((len(first), *begin.shape[1:]), dtype=begin.dtype)

    def fill(rows: slice) -> None:
        out[rows] = function(*(array[rows] for array in arrays))

    for_row_blocks(fill, first)
    return out


def for_row_blocks(fill: Callable[[slice], object], matrix: NDArray[Any]) -> None:
    """Call ``fill`` with the rows of each block, in several threads if the matrix is large."""
    if matrix.size <= LARGEST_BLOCK:
        fill(slice(0, len(matrix)))
        return
    step = max(1, _BLOCK // max(1, matrix.size // len(matrix)))
    blocks = [slice(start, start + step) for start in range(0, len(matrix), step)]
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
        for _ in pool.map(fill, blocks):  # raises what a block raised
            pass


def largest(matrix: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The place and the value of the largest entry of each row.

    >>> places, values = largest(np.array([[0.2, 0.8], [0.6, 0.4]]))
    >>> places.tolist(), values.tolist()
    ([1, 0], [0.8, 0.6])
    """
    places = by_row_blocks(lambda rows: rows.argmax(axis=1), matrix)
    return places, matrix[np.arange(len(matrix)), places]


def rows_as(matrix: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """A copy of the matrix with another type, such as that of a memory-mapped file.

    What is too large for the type becomes infinity, without a warning.
    """
    out = np.empty(matrix.shape, dtype=dtype)

    def fill(rows: slice) -> None:
        with np.errstate(over="ignore"):  # each thread has its own
            out[rows] = matrix[rows]

    for_row_blocks(fill, matrix)
    return out
