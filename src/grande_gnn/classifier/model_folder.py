"""The two files of a saved model: written with checksums, and checked before anything uses them.

    model.json          what is not an array, and under ``checksums`` a checksum of both files
    model.safetensors   the arrays

The checksum of ``model.json`` is the SHA-256 of its content without ``checksums``, spelled in one fixed way; that of the
arrays is ``sums:`` and :class:`~grande_gnn.internal.block_sums.BlockSums`, or a SHA-256 without such a word. Checksums find
damage; they are no signature, because whoever changes a file can compute a new one. So everything is checked all the
same: compiled code uses the graph's numbers as addresses. Folders of formats 1 and 2 have no checksums and load with a
warning.

A model of several members keeps the arrays of its first member under the names below and those of member i under
``member.<i>.`` and the same names (:func:`check_member` checks them by that prefix); what else is known about the
members is a field of ``model.json``, declared in :data:`FIELDS`. A member without a graph is the last one and has the arrays
``graph_free.coefficients`` and ``graph_free.intercept``.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.internal.block_sums import BlockSums
from grande_gnn.internal.json_file import read_json
from grande_gnn.internal.safetensors_file import read_safetensors, write_safetensors
from grande_gnn.internal.schema import (
    Check,
    check_array,
    either,
    flag,
    integer,
    list_of,
    number,
    only,
    optional,
    record,
    text,
)

__all__ = [
    "ARRAYS", "FIELDS", "FORMAT", "PARAMETER", "REST", "check_arrays", "check_member", "class_array", "fill_model_folder",
    "member_prefix", "read_model_folder",
]  # fmt: skip

FORMAT = 3
"""1: version 0.1, without ranked lists. 2: the ranked lists are kept, and a model may be the user's own. 3: checksums, and
a committee may have several members."""

ARRAYS = "model.safetensors"
"""The file of the arrays."""
REST = "model.json"
"""The file of everything else; while it is missing, the folder holds no model."""
PARAMETER = "parameter."
"""How the names of trained parameters begin among the arrays."""

_CHECKSUMS = "checksums"
_SUMS = "sums:"
"""How a checksum of :class:`BlockSums` begins; one of SHA-256, which takes ten times as long, has no such word."""
_PIECE = 1 << 20
"""Bytes read at a time, so that they are still near when they are summed."""
_MAX_CLASS_BYTES = 1 << 28
_FLOAT32 = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
_COUNT = integer(1, 2**31 - 1)
_SIGMA = number(0, open_low=True)

PARAMETERS: dict[str, Check] = {
    "model": text(), "degree": text(), "sigma": either(only("auto"), _SIGMA), "graph": text(),
    "n_neighbors": either(only("auto"), _COUNT), "normalize": text(), "hidden": optional(integer(1, 65536)),
    "n_hops": optional(integer(0, 10_000)), "alpha": number(0, 1), "dropout": number(0, 1), "weight_decay": number(0),
    "epochs": integer(0, 2**31 - 1), "lr": _SIGMA, "detach": flag, "device": text(r"auto|cpu|cuda(:\d{1,3})?"),
    "precision": text(), "memory_limit": optional(integer(1, 2**63)), "context": only(None),
    "random_state": optional(integer(0, 2**63)),
}  # fmt: skip
"""The classifier's parameters as they are saved; one that is missing has its default."""

_CHOICE: dict[str, Check] = {"graph": text(), "n_neighbors": _COUNT, "normalize": text(), "sigma": _SIGMA}
_WEIGHT = number(0, 1, open_low=True)

MEMBER = either(
    record({"graph": only(None), "weight": _WEIGHT}),
    record(
        {**_CHOICE, "weight": _WEIGHT, "temperature": number(1e-4, 1e6)}
    ),  # beyond, answers would overflow
)
"""What is known about one member, besides its arrays."""

FIELDS: dict[str, Check] = {
    "format": integer(1, FORMAT),
    "version": text(),
    "parameters": record(PARAMETERS, optional=PARAMETERS),
    "choice": record(_CHOICE),
    "automatic": flag,
    "members": list_of(MEMBER, low=1),
    "classes": list_of(either(flag, number(), text(surrogates=True)), low=1),
    "classes_dtype": text(r"[<>|][biufU]\d{1,8}"),
    "normalizer_length": number(0),
    "feature_names": optional(list_of(text(surrogates=True))),
    _CHECKSUMS: record({REST: text("[0-9a-f]{64}"), ARRAYS: text(f"({_SUMS})?[0-9a-f]{{64}}")}),
}
"""The fields of ``model.json``."""


_SINCE_3 = (_CHECKSUMS, "automatic", "members")


def member_prefix(position: int) -> str:
    """What the names of a member's arrays begin with; those of the first are as in earlier formats."""
    return f"member.{position}." if position else ""


def fill_model_folder(part: Path, rest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the two files of a model into an empty folder."""
    content = {"format": FORMAT, **rest}
    with open(part / ARRAYS, "wb") as file:
        digest = write_safetensors(file, arrays)
    content[_CHECKSUMS] = {REST: _digest_of_json(content), ARRAYS: _SUMS + digest}
    (part / REST).write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")


def read_model_folder(source: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The fields and the arrays of a model folder, each file read once; what they say is checked, their arrays are not."""
    try:
        rest = read_json(source / REST)
    except FileFormatError as error:
        raise InvalidInputError(str(error)) from None  # the caller names the folder
    written = rest.get("format") if isinstance(rest, dict) else None
    if isinstance(written, int) and not isinstance(written, bool) and written > FORMAT:
        raise FileFormatError(
            f"{source} was written by a newer version ({str(rest.get('version'))[:40]}): upgrade grande-gnn; "
            f"got format {written}, and this version reads up to {FORMAT}"
        )
    record(FIELDS, optional=() if written == FORMAT else _SINCE_3)(rest, REST)
    expected = rest.pop(_CHECKSUMS, None)
    data, found = _read(source / ARRAYS, expected[ARRAYS] if expected else None)
    if expected is None:
        warnings.warn(
            f"{source} has no checksums, because an earlier version wrote it: damage to its numbers is not noticed; "
            "save the model again",
            UserWarning,
            stacklevel=5,
        )
    elif expected != {REST: _digest_of_json(rest), ARRAYS: found}:
        raise FileFormatError(
            f"{source} is damaged: copy it again or save the model again; got files that do not match their checksums"
        )
    return rest, read_safetensors(data)


def _digest_of_json(content: Mapping[str, Any]) -> str:
    spelled = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(spelled.encode()).hexdigest()


def _read(path: Path, expected: str | None) -> tuple[memoryview, str]:
    """The bytes of a file and their checksum, of the kind that is expected."""
    with open(path, "rb", buffering=0) as file:
        data = np.empty(os.fstat(file.fileno()).st_size, dtype=np.uint8).data
        is_summed, sums = expected is not None and expected.startswith(_SUMS), BlockSums()
        end = 0
        while got := file.readinto(data[end : end + _PIECE]):
            if is_summed:
                sums.update(data[end : end + got])
            end += got
        if end != len(data):
            raise FileFormatError(f"{path} changed while it was read: try again; got fewer bytes than before")
    return data, _SUMS + sums.hexdigest() if is_summed else hashlib.sha256(data).hexdigest()


def class_array(rest: Mapping[str, Any]) -> NDArray[Any]:
    """The class labels with the type they had; they must be in ascending order, each once, as fitting leaves them."""
    classes, dtype = rest["classes"], np.dtype(rest["classes_dtype"])
    if len(classes) * dtype.itemsize > _MAX_CLASS_BYTES:
        raise InvalidInputError(
            f"the classes must fit into {_MAX_CLASS_BYTES >> 20} MiB; got {len(classes)} of {dtype}"
        )
    if len({type(name) for name in classes}) > 1:
        raise InvalidInputError("the classes must be of one kind; got a mixture")
    array = np.array(classes, dtype=dtype)
    if array.ndim != 1 or array.tolist() != classes or not np.array_equal(np.unique(array), array):
        raise InvalidInputError(f"the classes must be different and in order, of type {dtype}; got others")
    return array


def check_arrays(
    arrays: Mapping[str, NDArray[Any]],
    n_classes: int,
    shapes: dict[str, tuple[int, ...]],
    members: Sequence[Mapping[str, Any]] = ({"graph": "", "weight": 1.0},),
) -> None:
    """Refuse arrays that do not belong together or hold numbers that no training gives.

    ``shapes`` are those of the model's parameters, ``members`` what ``model.json`` says about them; by default one.
    """
    features = _named(arrays, "features")
    check_array(features, "features", "f", (None, None))
    n, d = features.shape
    check_array(_named(arrays, "normalizer.center"), "normalizer.center", "f", (d,))
    shares = _named(arrays, "label_distributions")
    check_array(shares, "label_distributions", "f", (n, n_classes), 0, 1)
    if not np.allclose(shares.sum(axis=1), 1):
        raise InvalidInputError("label_distributions must sum to one in each row; got other sums")
    if "reduction.components" in arrays:
        check_array(arrays["reduction.components"], "reduction.components", "f", (d, None))
    if "neighbors.lists" in arrays:  # what it names is checked where it is used
        check_array(arrays["neighbors.lists"], "neighbors.lists", "i", (n, None), 0, n - 1)
    graphs = [about for about in members if about["graph"] is not None]
    if not graphs or list(members[: len(graphs)]) != graphs or len(members) > len(graphs) + 1:
        raise InvalidInputError("members must be graphs, and at most one last member without; got others")
    if not np.isclose(sum(about["weight"] for about in members), 1):
        raise InvalidInputError("the weights of the members must sum to one; got another sum")
    for position in range(len(graphs)):
        check_member(arrays, member_prefix(position), n, shapes)
    if len(members) > len(graphs):
        check_array(_named(arrays, "graph_free.coefficients"), "graph_free.coefficients", "f", (d, n_classes))
        check_array(_named(arrays, "graph_free.intercept"), "graph_free.intercept", "f", (n_classes,))


def check_member(
    arrays: Mapping[str, NDArray[Any]], prefix: str, n: int, shapes: dict[str, tuple[int, ...]]
) -> None:
    """Refuse the arrays of one training on n samples: its graph, degrees, reached samples and parameters."""
    check_array(_named(arrays, f"{prefix}degree"), f"{prefix}degree", "f", (n,), *_FLOAT32)
    check_array(_named(arrays, f"{prefix}reached"), f"{prefix}reached", "b", (n,))
    _check_graph(_named(arrays, f"{prefix}graph.indptr"), _named(arrays, f"{prefix}graph.indices"), n)
    begin = prefix + PARAMETER
    parameters = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
    if parameters.keys() != shapes.keys():
        raise InvalidInputError(
            f"the model has the parameters {', '.join(shapes)}; got {', '.join(parameters)[:200] or 'none'}"
        )
    for name, array in parameters.items():
        check_array(array, begin + name, "fiub", shapes[name])


def _check_graph(pointers: NDArray[Any], indices: NDArray[Any], n: int) -> None:
    """Refuse arrays that are not the rows of a graph; compiled code uses them as addresses without a check."""
    check_array(indices, "graph.indices", "i", (None,), 0, n - 1)
    check_array(pointers, "graph.indptr", "i", (n + 1,), 0, len(indices))
    if pointers[0] != 0 or pointers[-1] != len(indices) or not (np.diff(pointers) > 0).all():
        raise InvalidInputError("graph.indptr must ascend from 0 to the number of entries; got another order")
    # Inside each row the nodes ascend; where the next row begins they may descend.
    ascends = np.diff(indices) > 0
    ascends[pointers[1:-1] - 1] = True
    rows = np.repeat(np.arange(n), np.diff(pointers))
    if not ascends.all() or (indices == rows).sum() != n:
        raise InvalidInputError("each row of the graph must ascend and name its own node; got another row")


def _named(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise InvalidInputError(f"the array {name!r} is missing; got {', '.join(arrays)[:200]}")
    return arrays[name]
