"""``grande evaluate``: the numbers of evaluate(), as sentences or as one JSON object per line."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from grande_gnn import evaluate, ranked_lists, reciprocal_knn_graph
from grande_gnn.experiments.split_graphs import evaluate_split, load_split_graph
from grande_gnn.graph.graph_files import save_graph, save_lists

QUICK = ["--folds", 3, "--repeats", 2, "--hidden", 8, "--neighbors", 10, "--device", "cpu"]
FIELDS = {"model", "degree", "sigma", "folds", "repeats", "accuracy_mean", "accuracy_std", "seconds"}


def rows(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_json_has_one_object_per_sigma_with_full_precision(grande, features, blobs):
    got = rows(grande("evaluate", features, "--sigma", 0.1, "--sigma", 0.5, "--json", *QUICK))
    expected = evaluate(*blobs, sigma=[0.1, 0.5], folds=3, repeats=2, hidden=8, n_neighbors=10, device="cpu")
    assert [row["sigma"] for row in got] == [0.1, 0.5]
    for row, result in zip(got, expected, strict=True):
        assert row.keys() >= FIELDS
        assert row["accuracy_mean"] == result.accuracies.mean()  # every digit
        assert row["accuracy_std"] == pytest.approx(result.accuracies.mean(1).std(ddof=1), abs=0)
        assert (row["model"], row["degree"], row["folds"], row["repeats"]) == ("appnp", "grande", 3, 2)
        assert 50 < row["accuracy_mean"] <= 100  # percent
        assert row["seconds"] > 0


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_centrality_is_one_row_without_sigma(grande, features, model):
    chosen = ["--model", model, "--degree", "centrality", "--sigma", 0.1, "--sigma", 1]
    (row,) = rows(grande("evaluate", features, "--json", *chosen, *QUICK))
    assert row["sigma"] is None
    assert (row["model"], row["degree"]) == (model, "centrality")


def test_seeds_reproduce(grande, features):
    runs = []
    for seed in (0, 0, 1):
        (row,) = rows(grande("evaluate", features, "--json", "--seed", seed, *QUICK))
        runs.append({k: v for k, v in row.items() if k != "seconds"})
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        (["--graph", "knn"], {"graph": "knn"}),
        (["--graph", "dgcg"], {"graph": "dgcg"}),
        (["--normalize", "center-l2"], {"normalize": "center-l2"}),
        (["--neighbors", 5], {"n_neighbors": 5}),
        (["--hidden", 0], {"hidden": None}),
        (["--lr", 0.05], {"lr": 0.05}),
        (["--model", "sgc"], {"model": "sgc"}),
    ],
)
def test_every_option_reaches_the_evaluation(grande, features, blobs, option, argument):
    (row,) = rows(grande("evaluate", features, "--json", *QUICK, *option))
    base = {"folds": 3, "repeats": 2, "hidden": 8, "n_neighbors": 10, "device": "cpu"}
    (expected,) = evaluate(*blobs, **(base | argument))
    assert row["accuracy_mean"] == expected.accuracy_mean


def test_graphs_and_lists_from_files_give_the_same_numbers(grande, features, blobs, tmp_path):
    save_graph(tmp_path / "graph.npz", reciprocal_knn_graph(blobs[0], 10))
    save_lists(tmp_path / "lists.npz", ranked_lists(blobs[0], 10))
    seen = []
    for option in ([], ["--graph-file", tmp_path / "graph.npz"], ["--lists-file", tmp_path / "lists.npz"]):
        (row,) = rows(grande("evaluate", features, "--json", *QUICK, *option))
        seen.append({k: v for k, v in row.items() if k != "seconds"})
    assert seen[0] == seen[1] == seen[2]


def test_sentences_for_people(grande, features):
    grande_line = grande("evaluate", features, *QUICK)
    assert grande_line.stdout.startswith("APPNP with GRaNDe σ=0.2: ")
    assert " ± " in grande_line.stdout
    assert grande_line.stderr == ""  # the progress bar is for terminals
    plain = grande("evaluate", features, "--degree", "centrality", *QUICK[:2], "--repeats", 1, *QUICK[4:])
    assert plain.stdout.startswith("APPNP with degree centrality: ")
    assert "±" not in plain.stdout  # one repetition has none
    assert "nan" not in plain.stdout.lower()


# -- bad input ----------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"features": np.where(X > 1, np.nan, X), "labels": Y}, "must be finite"),
        ({"features": np.where(X > 1, np.inf, X), "labels": Y}, "must be finite"),
        ({"features": X[0], "labels": Y}, "must be a matrix"),
        ({"features": X, "labels": Y[:5]}, "'labels' must have one entry per row"),
        ({"features": X}, "has no array 'labels'"),
        ({"labels": Y}, "has no array 'features'"),
        ({"features": X, "labels": np.full(12, -1)}, "at least one sample must be labelled"),
        ({"features": X, "labels": np.full(12, "")}, "at least one sample must be labelled"),
        ({"features": X, "labels": np.arange(12)}, "every fold needs labelled samples"),
        ({"features": X, "labels": np.array([None] * 12)}, "integers or real numbers or texts"),
    ],
)
def test_refuses_files(refused, tmp_path, arrays, words):
    np.savez(tmp_path / "f.npz", **arrays)
    assert words in refused("evaluate", tmp_path / "f.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["f.npz"]


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 no archive"])
def test_refuses_what_is_no_npz(refused, tmp_path, content):
    (tmp_path / "f.npz").write_bytes(content)
    assert "not a .npz features file" in refused("evaluate", tmp_path / "f.npz")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sigma", 0], "sigma must be a positive number"),
        (["--sigma", -0.2], "sigma must be a positive number"),
        (["--sigma", "nan"], "sigma must be a positive number"),
        (["--sigma", "small"], "--sigma"),
        (["--model", "gin"], "'gin'"),
        (["--degree", "pagerank"], "'pagerank'"),
        (["--graph", "full"], "'full'"),
        (["--normalize", "z"], "'z'"),
        (["--device", "tpu"], "'tpu'"),
        (["--folds", 1], "--folds"),
        (["--folds", 99], "got folds=99"),
        (["--repeats", 0], "--repeats"),
        (["--neighbors", 0], "--neighbors"),
        (["--hidden", -1], "--hidden"),
        (["--lr", 0], "lr must be a number"),
        (["--lr", "inf"], "lr must be a number"),
        (["--seed", -1], "--seed"),
        (["--epochz", 3], "--epochz"),
    ],
)
def test_refuses_options(refused, features, options, words):
    assert words in refused("evaluate", features, *options)


# -- graphs with a split of their own -----------------------------------------------------------------


@pytest.fixture
def split_graph(tmp_path):
    """Two groups joined inside, with words of their own, as sparse features."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    words = sp.csr_matrix(
        (rng.random((40, 8)) < np.where(np.arange(8) % 2 == labels[:, None], 0.8, 0.1)) * 1.0
    )
    edges = np.array([(a, (a + 2 * b) % 40) for a in range(40) for b in (1, 2, 3)])
    split = np.arange(40) // 10 - 1
    path = tmp_path / "groups.npz"
    np.savez(
        path, data=words.data, indices=words.indices, indptr=words.indptr, shape=words.shape, labels=labels,
        edges=edges, split=split,
    )  # fmt: skip
    return path


def test_a_split_is_used_with_the_published_settings(grande, split_graph):
    call = ["evaluate", split_graph, "--split", "public", "--model", "gcn", "--repeats", 2, "--device", "cpu"]
    (row,) = rows(grande(*call, "--json"))
    expected = evaluate_split(load_split_graph(split_graph), "gcn", seeds=2, device="cpu")
    assert row["accuracy_mean"] == expected.test.mean()
    assert (row["graph"], row["model"], row["degree"], row["seeds"]) == ("groups", "gcn", "grande", 2)
    (narrow,) = rows(grande(*call, "--json", "--hidden", 2, "--lr", 1e-9))
    own = evaluate_split(load_split_graph(split_graph), "gcn", seeds=2, device="cpu", hidden=2, lr=1e-9)
    assert narrow["accuracy_mean"] == own.test.mean() != expected.test.mean()
    sentence = grande(*call).stdout
    assert sentence.startswith("GCN with GRaNDe σ=0.2 on the test nodes: ")
    assert "95 % over 2 seeds" in sentence


def test_a_known_graph_is_compared_with_what_was_published(
    grande, refused, split_graph, monkeypatch, tmp_path
):
    from grande_gnn.experiments import citation_graphs

    made = citation_graphs.CitationGraph("cora", "Cora", 40, 8, 2, (10, 10, 10))
    monkeypatch.setattr(citation_graphs, "CITATION_GRAPHS", {"cora": made})
    path = split_graph.rename(tmp_path / "cora.npz")
    call = ["evaluate", path, "--split", "public", "--model", "gcn", "--repeats", 1, "--device", "cpu"]
    said = grande(*call)
    assert "on the test nodes of Cora" in said.stdout
    assert "Published with degree centrality: 81.5 % (Kipf and Welling" in said.stdout
    assert rows(grande(*call, "--json"))[0]["published"] == 81.5
    monkeypatch.setattr(citation_graphs, "CITATION_GRAPHS", {"cora": replace(made, nodes=41)})
    other = grande(*call)
    assert "note: cora: 40 nodes" in other.stderr
    assert "Published" not in other.stdout
    assert "Cora comes from" in refused("evaluate", "cora", "--split", "public")


@pytest.mark.parametrize(
    "option", [("--graph", "dgcg"), ("--folds", 3), ("--graph-file", "g.csv"), ("--normalize", "l2")]
)
def test_options_that_a_split_has_no_use_for_are_refused(refused, split_graph, option):
    said = refused("evaluate", split_graph, "--split", "public", *option)
    assert f"--split trains on the edges and the split of the file: leave out {option[0]}; got both" in said


def test_a_split_that_is_not_used_is_pointed_out(grande, split_graph):
    call = ("--model", "sgc", "--repeats", 1, "--folds", 2, "--neighbors", 5, "--device", "cpu")
    said = grande("evaluate", split_graph, *call)
    assert "edges and a split of its own, which --split public would use" in said.stderr


def test_a_file_without_a_split_is_refused(refused, features):
    assert "graph with a split" in refused("evaluate", features, "--split", "public")
