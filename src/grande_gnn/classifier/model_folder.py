"""The two files of a saved model: written with checksums, and checked before anything uses them.

    model.json          everything that is not an array, and under ``checksums`` a checksum of each of the two files
    model.safetensors   the arrays

The checksum of ``model.json`` is the SHA-256 of its content without ``checksums``, serialized in one fixed way. That of the
arrays is ``sums:`` followed by a digest of :class:`~grande_gnn.internal.block_sums.BlockSums`, or a SHA-256 without prefix.
Checksums detect damage, but they are not signatures: whoever changes a file can compute a new one. So the contents are
checked as well, because compiled code uses the graph's numbers as addresses. Folders of formats 1 and 2 have no checksums
and load with a warning.

A model with several members stores the arrays of its first member under their plain names, and those of member i with the
prefix ``member.<i>.`` (see :func:`check_member`). The settings and weights of the members are a field of ``model.json``,
declared in :data:`FIELDS`. A member without a graph comes last and has the arrays
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
"""1: version 0.1, without ranked lists. 2: with ranked lists, and a model may be the user's own. 3: with checksums, and a
committee may have several members."""

ARRAYS = "model.safetensors"
"""The file of the arrays."""
REST = "model.json"
"""The file of everything else; while it is missing, the folder holds no model."""
PARAMETER = "parameter."
"""The prefix of the names of trained parameters among the arrays."""

_CHECKSUMS = "checksums"
_SUMS = "sums:"
"""The prefix of a checksum of :class:`BlockSums`; a SHA-256 has none."""
_PIECE = 1 << 20
"""Bytes read at a time: few enough to be in the processor's cache still when their checksum is computed."""
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
"""The classifier's parameters as they are saved; a missing one has its default value."""

_CHOICE: dict[str, Check] = {"graph": text(), "n_neighbors": _COUNT, "normalize": text(), "sigma": _SIGMA}
_WEIGHT = number(0, 1, open_low=True)

MEMBER = either(
    record({"graph": only(None), "weight": _WEIGHT}),
    record(
        {**_CHOICE, "weight": _WEIGHT, "temperature": number(1e-4, 1e6)}
    ),  # outside this range, logits / temperature could overflow
)
"""What ``model.json`` says about one member: one without a graph, or one with."""

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
    """The fields and the arrays of a model folder; checks the fields and checksums, but not the contents of the arrays."""
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
    """The bytes of a file and their checksum, of the same kind as ``expected``."""
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
    """The class labels with their saved type; each must occur once, in ascending order, as after fitting."""
    classes, dtype = rest["classes"], np.dtype(rest["classes_dtype"])
    if len(classes) * dtype.itemsize > _MAX_CLASS_BYTES:
        raise InvalidInputError(
            f"the classes must fit into {_MAX_CLASS_BYTES >> 20} MiB; got {len(classes)} of {dtype}"
        )
    if len({type(name) for name in classes}) > 1:
        raise InvalidInputError("the classes must all have the same type; got several types")
    array = np.array(classes, dtype=dtype)
    if array.ndim != 1 or array.tolist() != classes or not np.array_equal(np.unique(array), array):
        raise InvalidInputError(
            f"the classes must be distinct and in ascending order, of type {dtype}; got others"
        )
    return array


def check_arrays(
    arrays: Mapping[str, NDArray[Any]],
    n_classes: int,
    shapes: dict[str, tuple[int, ...]],
    members: Sequence[Mapping[str, Any]] = ({"graph": "", "weight": 1.0},),
) -> None:
    """Refuse arrays that do not fit together or hold numbers that no training produces.

    ``shapes`` are those of the model's parameters; ``members`` is what ``model.json`` says about them, by default one.
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
    if "neighbors.lists" in arrays:  # their order is checked by Neighbors.from_lists
        check_array(arrays["neighbors.lists"], "neighbors.lists", "i", (n, None), 0, n - 1)
    graphs = [about for about in members if about["graph"] is not None]
    if not graphs or list(members[: len(graphs)]) != graphs or len(members) > len(graphs) + 1:
        raise InvalidInputError("members must be graphs, followed by at most one without a graph; got others")
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
    """Refuse arrays that no training on n samples produces: of its graph, degrees, reached samples and parameters."""
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
    """Refuse arrays that are not the rows of a graph: compiled code uses them as addresses, unchecked."""
    check_array(indices, "graph.indices", "i", (None,), 0, n - 1)
    check_array(pointers, "graph.indptr", "i", (n + 1,), 0, len(indices))
    if pointers[0] != 0 or pointers[-1] != len(indices) or not (np.diff(pointers) > 0).all():
        raise InvalidInputError("graph.indptr must ascend from 0 to the number of entries; got another order")
    # The nodes of each row ascend; between the last of a row and the first of the next they may descend.
    ascends = np.diff(indices) > 0
    ascends[pointers[1:-1] - 1] = True
    rows = np.repeat(np.arange(n), np.diff(pointers))
    if not ascends.all() or (indices == rows).sum() != n:
        raise InvalidInputError("each row of the graph must ascend and name its own node; got another row")


def _named(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise InvalidInputError(f"the array {name!r} is missing; got {', '.join(arrays)[:200]}")
    return arrays[name]
