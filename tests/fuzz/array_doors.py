"""Doors for arrays: features, ranked lists, graphs and the weights of networks."""

from __future__ import annotations

import io
import math
import zipfile
from itertools import pairwise

import mutators
import numpy as np
import safetensors.numpy
import scipy.sparse as sp
import torch
from door import Door, X, require, slow_npz, written
from torch import nn

from grande_gnn.experiments.split_graphs import load_split_graph
from grande_gnn.graph import knn_graph, ranked_lists
from grande_gnn.graph.graph_files import load_graph, load_lists, save_graph, save_lists
from grande_gnn.images.networks.weights import load_weights
from grande_gnn.images.training_state import TrainingState
from grande_gnn.internal.features_file import FeaturesFile, load_features, save_features


class Features(Door):
    name = "features"
    ways = (mutators.blind, mutators.npz_member, mutators.npz_member)

    def make(self):
        files = np.array([f"d/é{i}.jpg" for i in range(12)])
        named = FeaturesFile(X, files, np.array(["a", "", "b"] * 4))
        extra = {
            "features": X.astype(np.float16),
            "labels": np.arange(12) % 3 - 1,
            "classes": np.array(["a", "b"]),
        }
        return [
            written(lambda path: save_features(path, named), "f.npz"),
            written(
                lambda path: np.savez_compressed(path, **extra, files=np.char.encode(files, "utf-8")), "f.npz"
            ),
        ]

    def read(self, folder, files):
        got = load_features(folder / "f.npz")
        slow = slow_npz(files["f.npz"], "features", "files", "labels", "classes")
        np.testing.assert_array_equal(got.features, slow["features"].astype(np.float32))
        require(np.isfinite(got.features).all(), "features that are not finite")
        if "files" in slow:
            names = slow["files"]
            names = np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names
            np.testing.assert_array_equal(got.files, names)
        if "labels" in slow and "classes" in slow and slow["labels"].dtype.kind in "iu":
            classes = [
                one.decode() if isinstance(one, bytes) else str(one) for one in slow["classes"].tolist()
            ]
            require(
                got.labels.tolist() == [classes[i] if i >= 0 else "" for i in slow["labels"].tolist()],
                "other labels",
            )
        elif "labels" in slow:
            labels = slow["labels"]
            labels = np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels
            np.testing.assert_array_equal(got.labels, labels)


class Lists(Door):
    name = "lists"
    ways = Features.ways

    def make(self):
        lists = ranked_lists(X, 5)
        return [
            written(lambda path: save_lists(path, lists), "l.npz"),
            written(lambda path: np.savez_compressed(path, lists=lists.astype(np.uint8)), "l.npz"),
        ]

    def read(self, folder, files):
        got = load_lists(folder / "l.npz")
        np.testing.assert_array_equal(got, slow_npz(files["l.npz"], "lists")["lists"])
        for number, row in enumerate(got.tolist()):
            require(
                row[0] == number and len(set(row)) == len(row) and max(row) < len(got), "not ranked lists"
            )


class Graphs(Door):
    name = "graph"
    ways = Features.ways

    def make(self):
        graph = knn_graph(X, 3)
        return [
            written(lambda path: save_graph(path, graph), "g.npz"),
            written(lambda path: np.savez_compressed(path, indptr=[0, 1, 1, 2], indices=[2, 0]), "g.npz"),
        ]

    def read(self, folder, files):
        got = load_graph(folder / "g.npz").to_scipy(int).toarray()
        slow = slow_npz(files["g.npz"], "indptr", "indices")  # no weights: see EdgeTables
        pointers, n = slow["indptr"].tolist(), len(slow["indptr"]) - 1
        dense = np.eye(n, dtype=int)
        for row in range(n):
            for column in slow["indices"].tolist()[pointers[row] : pointers[row + 1]]:
                dense[row, column] = dense[column, row] = 1
        np.testing.assert_array_equal(got, dense)


def slow_sparse(content: bytes) -> dict[tuple[int, int], float]:
    """The entries of compressed rows, or columns, that are not 0."""
    slow = slow_npz(content, "data", "indices", "indptr", "shape", "format")
    kind = slow["format"].tolist() if "format" in slow else "csr"
    entries: dict[tuple[int, int], float] = {}
    for major, (start, stop) in enumerate(pairwise(slow["indptr"].tolist())):
        for minor, value in zip(slow["indices"][start:stop], slow["data"][start:stop], strict=True):
            place = (int(minor), major) if kind in (b"csc", "csc") else (major, int(minor))
            entries[place] = entries.get(place, 0.0) + float(np.float32(value))
    return {place: value for place, value in entries.items() if value}


def entries_of(matrix: sp.csr_matrix) -> dict[tuple[int, int], float]:
    """The same of a matrix that the package has read."""
    found = matrix.tocoo()
    return {
        (int(row), int(column)): float(value)
        for row, column, value in zip(found.row, found.col, found.data, strict=True)
        if value
    }


def same_entries(got: dict[tuple[int, int], float], expected: dict[tuple[int, int], float]) -> bool:
    """Equal to the rounding of float32."""
    size = max(map(abs, expected.values()), default=0.0)
    return all(
        abs(got.get(place, 0) - expected.get(place, 0)) <= 1e-5 * size + 1e-40 for place in {*got, *expected}
    )


SPARSE = sp.csr_matrix(np.where(X > 0.2, X, 0))


class SparseFeatures(Door):
    name = "sparse-features"
    ways = Features.ways

    def make(self):
        square = SPARSE[:3].tocsc()  # as many rows as columns: rows and columns can be confused
        labelled = {
            "data": SPARSE.data, "indices": SPARSE.indices, "indptr": SPARSE.indptr, "shape": SPARSE.shape,
            "labels": np.array(["a", "", "b"] * 4), "files": np.array([f"{i}.txt" for i in range(12)]),
        }  # fmt: skip
        return [
            written(lambda path: sp.save_npz(path, SPARSE), "f.npz"),
            written(lambda path: sp.save_npz(path, square), "f.npz"),
            written(lambda path: np.savez_compressed(path, **labelled), "f.npz"),
        ]

    def read(self, folder, files):
        got = load_features(folder / "f.npz", sparse=True)
        with np.errstate(over="ignore"):
            require(same_entries(entries_of(got.features), slow_sparse(files["f.npz"])), "other features")
        require(np.isfinite(got.features.data).all(), "features that are not finite")
        shape = slow_npz(files["f.npz"], "shape")["shape"].tolist()
        require(list(got.features.shape) == shape and shape[1] < 2**31, "another shape")
        dense = load_features(folder / "f.npz").features
        if dense.size <= 1 << 20:  # the comparison takes memory, too
            np.testing.assert_array_equal(dense, got.features.toarray())


class SplitGraphs(Door):
    name = "split-graph"
    ways = Features.ways

    def make(self):
        arrays = {
            "data": SPARSE.data, "indices": SPARSE.indices, "indptr": SPARSE.indptr, "shape": SPARSE.shape,
            "labels": np.arange(12) % 3, "edges": np.array([[i, (i * 5 + 1) % 12] for i in range(12)]),
            "split": np.arange(12) // 3 - 1,
        }  # fmt: skip
        return [written(lambda path: np.savez_compressed(path, **arrays), "g.npz")]

    def read(self, folder, files):
        got = load_split_graph(folder / "g.npz")
        slow = slow_npz(files["g.npz"], "labels", "edges", "split")
        np.testing.assert_array_equal(got.labels, slow["labels"])
        np.testing.assert_array_equal(got.split, slow["split"])
        dense = np.eye(len(got.labels), dtype=int)
        for q, i in slow["edges"].tolist():
            dense[q, i] = dense[i, q] = 1
        np.testing.assert_array_equal(got.graph.to_scipy(int).toarray(), dense)
        expected = slow_sparse(files["g.npz"])
        sums = [
            math.fsum(value for (r, _), value in expected.items() if r == row)
            for row in range(len(got.labels))
        ]
        expected = {
            (row, column): value / (sums[row] if sums[row] > 0 else 1.0)
            for (row, column), value in expected.items()
        }
        sizes = [
            max((abs(v) for (r, _), v in expected.items() if r == row), default=0) for row in range(len(sums))
        ]
        if max(sizes) < 100:  # a sum near 0 is the difference of large numbers, which float32 rounds
            found = entries_of(got.features)
            near = (abs(found.get(place, 0) - expected.get(place, 0)) < 1e-3 for place in {*found, *expected})
            require(all(near), "other features")
        require(np.isfinite(got.features.data).all(), "features that are not finite")
        require(got.labels.max() < 1_000_000, "so many classes that no training has memory for them")


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def slow_weights(name: str, content: bytes) -> dict[str, np.ndarray]:
    """The arrays of a file of weights; zipfile tells whether one in torch's own format is intact."""
    if name.endswith(".safetensors"):
        return safetensors.numpy.load(content)
    clean = io.BytesIO()  # torch refuses some lists of members that Python reads, and the other way round
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(clean, "w") as new:
        require(archive.testzip() is None, "damage was not noticed")
        for entry in archive.infolist():
            new.writestr(entry.filename, archive.read(entry))
    clean.seek(0)
    state = torch.load(clean, weights_only=True)
    state = state.get("state_dict", state)
    return {key: value.numpy() for key, value in state.items()}


class Weights(Door):
    """The weights of a network: a user's own, or adapted.safetensors."""

    name = "weights"

    def make(self):
        state = small_network().state_dict()
        plain = {key: value.numpy() for key, value in state.items()}
        inner = {f"network.{key}": value for key, value in plain.items()}
        return [
            {"w.safetensors": safetensors.numpy.save(plain)},
            {"w.safetensors": safetensors.numpy.save(inner, {"extractor": "lite0", "steps": "3"})},
            written(lambda path: torch.save(state, path), "w.pt"),
            written(lambda path: torch.save({"state_dict": state, "epoch": 3}, path), "w.pt"),
        ]

    def mutate(self, random):
        files = self.start(random)
        (name,) = files
        ways = (
            mutators.blind,
            mutators.safetensors_header if name == "w.safetensors" else mutators.zip_member,
        )
        files[name] = random.choice(ways)(random, files[name])
        return files

    def read(self, folder, files):
        (name,) = files
        network = small_network()
        load_weights(network, folder / name)
        slow = slow_weights(name, files[name])
        slow = {key.removeprefix("module.").removeprefix("network."): value for key, value in slow.items()}
        for key, value in network.state_dict().items():
            if not key.endswith("num_batches_tracked"):
                np.testing.assert_array_equal(value.numpy(), slow[key].astype(np.float32))
                require(np.isfinite(value.numpy()).all(), "weights that are not finite")


class Checkpoints(Door):
    """What a killed adaptation has left: nothing but what was saved may come back."""

    name = "checkpoint"
    labels = np.arange(4)

    @property
    def content(self):
        return {"number": 3, "bank": [torch.arange(40.0)], "network": small_network().state_dict()}

    def make(self):
        return [written(lambda path: TrainingState(path, "net", self.labels, 1).save(self.content), "s.pt")]

    def read(self, folder, files):
        got = TrainingState(folder / "s.pt", "net", self.labels, 1).load(torch.device("cpu"))
        if got is None:
            return  # the training begins anew
        require(got["number"] == 3 and (got["bank"][0] == torch.arange(40.0)).all(), "another state")
        for key, value in small_network().state_dict().items():
            np.testing.assert_array_equal(got["network"][key].numpy(), value.numpy())
