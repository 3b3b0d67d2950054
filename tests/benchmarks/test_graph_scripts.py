"""The benchmarks of graphs, GNNs and texts run at small sizes, go on where they stopped, and print what the rows say."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """Imports a script of the benchmarks."""
    monkeypatch.syspath_prepend(FOLDER)
    return __import__


def run(name, *arguments):
    command = [sys.executable, str(FOLDER / name), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def groups(tmp_path):
    """Features of three groups, in file order as images of one class lie side by side."""
    labels = np.arange(60) // 20
    X = 3 * np.eye(3, 6)[labels] + np.random.default_rng(0).normal(size=(60, 6))
    path = tmp_path / "groups.npz"
    np.savez(path, features=X.astype(np.float32), labels=labels, files=[f"{i}.jpg" for i in range(60)])
    return path


@pytest.fixture
def citations(tmp_path):
    """A folder with a small graph of two groups that has a split."""
    words = sp.csr_matrix(np.eye(2, 6)[np.arange(40) % 2] + np.eye(6)[np.arange(40) % 6])
    edges = [(a, (a + 2 * b) % 40) for a in range(40) for b in (1, 2)]
    np.savez(
        tmp_path / "groups.npz", data=words.data, indices=words.indices, indptr=words.indptr, shape=words.shape,
        labels=np.arange(40) % 2, edges=edges, split=np.arange(40) // 10 - 1,
    )  # fmt: skip
    return tmp_path


@pytest.mark.slow
def test_citation_graphs_are_measured_seed_by_seed_and_resumed(citations):
    out = citations / "rows.csv"
    options = (citations, "--csv", out, "--graphs", "groups", "--models", "sgc", "--seeds", 1)
    run("citation.py", *options)
    first = rows_of(out)
    assert len(first) == 5  # four σ and degree centrality; the σ that was chosen is one of the four
    assert run("citation.py", *options)
    assert rows_of(out) == first
    said = run("citation.py", *options, "--maximum")
    assert "| groups | sgc |" in said
    assert {row["degree"] for row in rows_of(out)} == {"grande", "centrality", "grande-maximum"}


def test_sigma_is_chosen_on_the_validation_nodes_of_the_first_seeds(script, capsys):
    citation = script("citation")
    measured = [("grande", "0.2", "70", "90"), ("grande", "1", "80", "60"), ("centrality", "", "75", "55")]
    names = ("graph", "model", "degree", "sigma", "validation", "test", "seed")
    rows = [
        dict(zip(names, ("cora", "gcn", *values, str(seed)), strict=True))
        for values in measured
        for seed in range(2)
    ]
    late = [{**rows[0], "seed": "9", "validation": "99"}]
    assert citation.best_sigma(rows + late, "cora", "gcn") == "1"
    citation.print_tables(rows)
    assert (
        "| cora | gcn | 81.5 | 55.00 ± 0.00 | 60.00 ± 0.00 | 1 | +5.00 [+5.00, +5.00] | 2 |"
        in capsys.readouterr().out
    )


def test_the_degree_through_the_maximum_is_grande_s_and_has_no_gradient_along_the_scale(script):
    import torch

    from grande_gnn import Graph, grande_degree

    degree = script("citation").degree_through_maximum
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], n_nodes=6)
    h = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    along = []
    for function in (degree, grande_degree):
        scale = torch.ones((), dtype=torch.float64, requires_grad=True)
        delta = function(scale * h, graph, sigma=0.3)
        torch.testing.assert_close(delta, grande_degree(h, graph, 0.3))
        along.append(torch.autograd.grad(delta.sum(), scale)[0].abs().item())
    assert along[0] < 1e-10 < 0.1 < along[1]


@pytest.mark.slow
def test_networks_are_measured_fold_by_fold_and_resumed(groups):
    out = groups.with_name("rows.csv")
    options = (f"made={groups}", "--csv", out, "--models", "sgc,heat", "--epochs", 3, "--device", "cpu")
    run("gnns.py", *options, "--seeds", 1)
    first = rows_of(out)
    assert len(first) == 2 * 2 * 10
    assert "| made | heat |" in run("gnns.py", *options, "--seeds", 1)
    assert rows_of(out) == first


def test_networks_are_compared_on_the_seeds_that_both_have(script, capsys):
    gnns = script("gnns")
    rows = [
        {"dataset": "made", "model": model, "degree": degree, "seed": str(seed), "fold": str(fold),
         "accuracy": str(50 + 10 * (degree == "grande") + 5 * (model == "sage") + seed), "seconds": "2"}
        for model in ("appnp", "sage") for degree in ("centrality", "grande") for seed in range(2) for fold in range(10)
    ]  # fmt: skip
    extra = [{**row, "seed": "7", "accuracy": "0"} for row in rows[:10]]  # of one degree only
    gnns.print_table(rows + extra)
    said = capsys.readouterr().out
    assert "| made | appnp | 50.50 ± 0.71 | 60.50 ± 0.71 | +10.00 [+10.00, +10.00] | – | 0.20 |" in said
    assert (
        "| made | sage | 55.50 ± 0.71 | 65.50 ± 0.71 | +10.00 [+10.00, +10.00] | +5.00 [+5.00, +5.00] | 0.20 |"
        in said
    )


@pytest.mark.slow
def test_texts_are_labelled_by_every_method_and_resumed(tmp_path):
    words = {"1": "goal match team", "2": "market shares bank"}
    texts, out = tmp_path / "news.csv", tmp_path / "rows.csv"
    with texts.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            (name, words[name], f"{words[name]} number {i % 7}") for i in range(40) for name in words
        )
    options = (texts, "--csv", out, "--labels", 3, "--methods", "grande,centrality,logistic,spreading")
    run("agnews.py", *options, "--draws", 1)
    said = run("agnews.py", *options, "--draws", 2)
    rows = rows_of(out)
    assert len(rows) == 2 * 4
    assert all(float(row["accuracy"]) > 90 for row in rows)
    assert "| 3 | grande |" in said


def test_a_draw_has_so_many_labels_of_each_class_and_is_repeated_by_its_number(script):
    draw = script("agnews").draw_labels
    y = np.array(["a", "b"] * 20)
    few = draw(y, 3, 5)
    assert sorted(few[few != ""]) == ["a"] * 3 + ["b"] * 3
    assert (few[few != ""] == y[few != ""]).all()
    np.testing.assert_array_equal(few, draw(y, 3, 5))
    assert (few != draw(y, 3, 6)).any()


@pytest.mark.slow
def test_the_plain_path_is_timed_in_pairs(groups):
    pytest.importorskip("torch_geometric", reason="needs the extra pyg")
    out = groups.with_name("rows.csv")
    said = run("plain_speed.py", groups, "--csv", out, "--pairs", 2, "--epochs", 2)
    rows = rows_of(out)
    assert [row["model"] for row in rows] == ["gcn", "gcn", "gprgnn", "gprgnn"]
    for row in rows:
        assert float(row["ratio"]) == pytest.approx(
            float(row["ours_seconds"]) / float(row["pyg_seconds"]), rel=0.05
        )
    assert "gcn: ours takes" in said
