"""New parts from outside: a graph, a degree, a GNN, a section of the report and a baseline, each one class or function and
one registration in a module of its own; nothing else is touched. And the page that says where such parts go.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from grande_gnn import GrandeClassifier, evaluate
from grande_gnn.baselines import SYSTEMS
from grande_gnn.cli import main
from grande_gnn.engine.degrees import DEGREES
from grande_gnn.engine.models import MODELS
from grande_gnn.experiments.compare import compare_systems
from grande_gnn.graph import GRAPHS
from grande_gnn.internal.features_file import FeaturesFile
from grande_gnn.labelling import Labelling, LabelOptions, label_features
from grande_gnn.report.sections import SECTIONS

PROJECT = Path(__file__).parents[1]

GRAPH = """
import numpy as np
from grande_gnn.graph import Graph, GraphKind, register_graph


def nearest(lists, n_neighbors):
    "Each sample and its three nearest neighbors, whatever n_neighbors is."
    rows = np.repeat(np.arange(len(lists)), 3)
    return Graph.from_edges(rows, lists[:, 1:4].ravel(), len(lists))


register_graph(GraphKind("nearest", nearest, "each sample and its three nearest neighbors", list_length=4))
"""

DEGREE = """
from dataclasses import dataclass
import torch
from grande_gnn.degree import Degree
from grande_gnn.engine.degrees import register_degree


@dataclass(frozen=True)
class Manhattan(Degree):
    "The sum over the neighbors of 1 + σ·‖h_q − h_i‖₁."

    sigma: float = 0.2

    def __call__(self, h, graph):
        q, i = graph.edges(h.device)
        return torch.zeros_like(h[:, 0]).index_add(0, q, 1 + self.sigma * (h[q] - h[i]).abs().sum(-1))


register_degree("manhattan", Manhattan)
"""

MODEL = """
import torch
from torch import nn
from grande_gnn.engine.models import PlainModel, register_model


widths = set()  # of the features it has seen


class MeanOfNeighbors(nn.Module):
    "A linear layer on the mean over the neighbors, weighted by the degree."

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = nn.Linear(n_features, n_classes)
        nn.init.zeros_(self.linear.weight)

    def forward(self, X, graph, degree):
        widths.add(X.shape[1])
        q, i = graph.edges(X.device)
        h = self.linear(X)
        weight = degree(h, graph).rsqrt()
        return torch.zeros_like(h).index_add(0, q, (weight[q] * weight[i])[:, None] * h[i])


register_model(PlainModel("mean", MeanOfNeighbors))
"""

SECTION = """
from markupsafe import Markup
from grande_gnn.report.sections import Section, register_section


def folders(labelling, page):
    return Markup("<h2>Names</h2><p>{} files</p>").format(len(labelling.files))


register_section(Section("names", "Names of files", folders))
"""

BASELINE = """
import numpy as np
from grande_gnn.baselines import SystemEntry, register_system
from grande_gnn.baselines.base import System, Transduction


class Majority(System):
    "Every sample gets the most frequent label."

    def _transduce(self, X, codes):
        most = np.bincount(codes[codes >= 0]).argmax()
        return Transduction(np.full(len(codes), most), np.ones(len(codes), dtype=bool))


register_system(SystemEntry("majority", "the most frequent label", Majority))
"""


@pytest.fixture(autouse=True)
def _registrations_are_undone():
    registries = (GRAPHS, DEGREES, MODELS, SECTIONS, SYSTEMS)
    before = [dict(registry) for registry in registries]
    yield
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """Import source code as a module of its own."""

    def load(source):
        path = tmp_path / "own_part.py"
        path.write_text(source, "utf-8")
        spec = importlib.util.spec_from_file_location("own_part", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "own_part", module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def labelled(blobs, few):
    """Label the blobs with the given options, and require that most labels are right."""
    X, y = blobs
    names = np.array(["ash", "beech", "cedar"])
    given = np.where(few >= 0, names[y], "")

    def label(out=None, **options):
        wanted = {"paper": True, "device": "cpu", "model": "sgc"} | options
        result = label_features(X, given, out=out, options=LabelOptions(**wanted))
        assert np.mean(np.array(result.labels) == names[y]) > 0.6
        return result

    return label


FIXED = {"paper": False, "n_neighbors": 10, "normalize": "none", "sigma": 0.2, "graph": "reciprocal"}
FAST = {"folds": 3, "repeats": 1, "epochs": 30, "lr": 0.02, "device": "cpu"}


def test_a_new_graph(plug_in, labelled, blobs, tmp_path):
    plug_in(GRAPH)
    result = labelled(out=tmp_path / "out", **FIXED | {"graph": "nearest"})
    assert result.settings["graph"] == "nearest"
    again = Labelling.load(tmp_path / "out")
    assert again.labels == result.labels
    (own,) = evaluate(*blobs, model="sgc", graph="nearest", **FAST)
    (paper,) = evaluate(*blobs, model="sgc", **FAST)
    assert own.accuracies.mean() > 50
    assert not np.array_equal(own.accuracies, paper.accuracies)


def test_a_new_graph_that_is_chosen_by_its_name_predicts_new_samples(plug_in, blobs, few, tmp_path):
    plug_in(GRAPH)
    X, _ = blobs
    clf = GrandeClassifier("sgc", graph="nearest", epochs=20, device="cpu", random_state=0).fit(X, few)
    clf.save(tmp_path / "model")
    loaded = GrandeClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X[:9] + 0.1), clf.predict_proba(X[:9] + 0.1))


@pytest.mark.parametrize("model", ["sgc", "appnp"])
def test_a_new_degree(plug_in, labelled, blobs, few, tmp_path, model):
    own = plug_in(DEGREE)
    X, y = blobs
    result = labelled(out=tmp_path / "out", degree="manhattan", model=model, **FIXED)
    assert result.settings["degree"] == "manhattan"
    assert Labelling.load(tmp_path / "out").labels == result.labels
    rows = evaluate(X, y, model=model, degree="manhattan", sigma=[0.1, 0.4], **FAST)
    assert [row.degree for row in rows] == ["manhattan", "manhattan"]
    assert all(row.accuracies.mean() > 50 for row in rows)
    settings = {"model": model, "epochs": 20, "device": "cpu", "random_state": 0}
    by_name = GrandeClassifier(degree="manhattan", sigma=0.3, **settings).fit(X, few)
    by_object = GrandeClassifier(degree=own.Manhattan(0.3), **settings).fit(X, few)
    assert np.array_equal(by_name.label_distributions_, by_object.label_distributions_)
    by_name.save(tmp_path / "model")
    loaded = GrandeClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(X[:5] + 0.1), by_name.predict_proba(X[:5] + 0.1))


def test_a_new_network(plug_in, labelled, blobs, few, tmp_path):
    own = plug_in(MODEL)
    X, y = blobs
    result = labelled(out=tmp_path / "out", model="mean", **FIXED)
    assert result.settings["model"] == "mean"
    assert own.widths == {X.shape[1]}
    assert Labelling.load(tmp_path / "out").labels == result.labels
    (row,) = evaluate(X, y, model="mean", **FAST)
    assert row.accuracies.mean() > 50
    settings = {"epochs": 20, "lr": 0.02, "device": "cpu", "random_state": 0}
    by_name = GrandeClassifier("mean", **settings).fit(X, few)
    by_class = GrandeClassifier(own.MeanOfNeighbors, **settings).fit(X, few)
    assert np.array_equal(by_name.label_distributions_, by_class.label_distributions_)
    by_name.save(tmp_path / "model")
    loaded = GrandeClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(X[:5] + 0.1), by_name.predict_proba(X[:5] + 0.1))


def test_all_three_together(plug_in, labelled, blobs):
    plug_in(GRAPH)
    plug_in(DEGREE)
    plug_in(MODEL)
    own = {"graph": "nearest", "degree": "manhattan", "model": "mean"}
    assert labelled(**FIXED | own).settings.items() >= own.items()
    (row,) = evaluate(*blobs, **own, **FAST)
    assert (row.model, row.degree) == ("mean", "manhattan")


def test_the_commands_offer_what_was_registered(plug_in, blobs, tmp_path, monkeypatch):
    plug_in(GRAPH)
    plug_in(DEGREE)
    plug_in(MODEL)
    plug_in(BASELINE)
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))

    def grande(*arguments):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    parts = ("--graph", "nearest", "--degree", "manhattan", "--model", "mean", "--device", "cpu")
    photos = PROJECT / "tests" / "data" / "version_0_1" / "labelling" / "photos"
    grande("label", photos, "-o", tmp_path / "out", "--extractor", "pixels", "--workers", 0, *parts)
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert [settings[name] for name in ("graph", "degree", "model")] == ["nearest", "manhattan", "mean"]
    np.savez(tmp_path / "features.npz", features=blobs[0], labels=blobs[1])
    fast = ("--folds", 3, "--repeats", 1, "--device", "cpu")
    assert "manhattan" in grande("evaluate", tmp_path / "features.npz", *parts, *fast)
    assert "majority" in grande("compare", tmp_path / "features.npz", "--systems", "majority", *fast)


def test_automatic_settings_with_a_new_degree_and_a_new_network(plug_in, labelled):
    plug_in(DEGREE)
    plug_in(MODEL)
    result = labelled(degree="manhattan", model="mean", paper=False)
    assert result.accuracy is not None


def test_a_new_section_of_the_report(plug_in, labelled, tmp_path):
    plug_in(SECTION)
    result = labelled(out=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert f"<h2>Names</h2><p>{len(result.files)} files</p>" in page
    assert 'href="#names"' in page


def test_a_new_baseline(plug_in, blobs):
    plug_in(BASELINE)
    content = FeaturesFile(features=blobs[0], files=None, labels=blobs[1])
    results = list(compare_systems(content, ["majority", "knn"], folds=3, device="cpu"))
    assert {result.system for result in results} == {"majority", "knn"}
    by_name = {result.system: result for result in results}
    assert by_name["majority"].error is None
    assert by_name["majority"].accuracy_mean == pytest.approx(100 / 3, abs=2)
    assert by_name["knn"].accuracy_mean > 60


def test_what_was_added_is_gone():
    """The fixture above undoes registrations, so that the tests do not depend on their order."""
    assert not {"nearest", "manhattan", "mean", "names", "majority"} & {
        *GRAPHS, *DEGREES, *MODELS, *SECTIONS, *SYSTEMS,
    }  # fmt: skip


# -- CONTRIBUTING.md ------------------------------------------------------------------------------------

PACKAGE = PROJECT / "src" / "grande_gnn"
PAGE = (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
TABLE = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]
REGISTRY_OF = {
    "a graph": ("graph/kinds.py", "register_graph"),
    "a degree": ("engine/degrees.py", "register_degree"),
    "a model": ("engine/models.py", "register_model"),
    "a section": ("report/sections/section.py", "register_section"),
    "an export": ("labelling/exports/export.py", "register_export"),
    "a strategy": ("labelling/strategies/strategy.py", "register_strategy"),
    "a baseline": ("baselines/systems.py", "register_system"),
    "an extractor": ("images/networks/registry.py", "EXTRACTORS"),
    "a command": ("cli/main.py", "COMMANDS"),
}


def paths_in(text):
    return [quoted for quoted in re.findall(r"`([^`]+)`", text) if "/" in quoted or quoted.endswith(".py")]


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_every_path_of_the_table_exists(row):
    assert paths_in(row[1])
    assert not [path for path in paths_in(row[1]) if not (PACKAGE / path).exists()]


@pytest.mark.parametrize("what", REGISTRY_OF)
def test_each_part_that_can_be_added_names_its_registry(what):
    path, name = REGISTRY_OF[what]
    (row,) = [row for row in TABLE if row[0].startswith(what) and row[0].endswith("(add one)")]
    assert path in paths_in(row[1])
    assert name in (PACKAGE / path).read_text("utf-8")


def test_every_row_about_adding_is_checked():
    adding = [row[0] for row in TABLE if row[0].endswith("(add one)")]
    assert len(adding) == len(REGISTRY_OF)
    assert len(TABLE) >= 20
