"""The registry: names, how systems are made from it, and a new system in one line."""

import subprocess
import sys

import numpy as np
import pytest

from grande_gnn.baselines import SYSTEMS, SystemEntry, find_system, register_system
from grande_gnn.baselines.base import System, Transduction
from grande_gnn.baselines.graph_networks import GraphNetwork
from grande_gnn.errors import InvalidInputError
from grande_gnn.experiments.compare import compare_systems
from grande_gnn.internal.features_file import FeaturesFile


def test_registry_names_the_paper_columns():
    assert list(SYSTEMS) == [
        "svm", "opf", "ml-perc", "pl+sgd", "ls+knn", "ls+svm", "ls+opf", "ls+ml-perc", "gnn-lds", "wsef",
        "mgcn", "dgcg", "grande", "d-grande", "logreg", "knn", "opf-semi", "comatch", "grande-adapt",
    ]  # fmt: skip
    assert sum(entry.paper_column is not None for entry in SYSTEMS.values()) == 14
    with pytest.raises(InvalidInputError, match="got 'vgg'"):
        find_system("vgg")


def test_reading_the_registry_imports_no_torch():
    script = "import sys, grande_gnn.baselines; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_system_is_made_with_the_parameters_it_has():
    assert SYSTEMS["knn"].make_known(n_neighbors=3, device="cpu", random_state=1).n_neighbors == 3
    assert SYSTEMS["grande"].make(random_state=4).random_state == 4
    assert (
        "random_state" not in SYSTEMS["svm"].make(random_state=4).get_params()
    )  # it draws no random numbers
    with pytest.raises(TypeError, match="device"):
        SYSTEMS["knn"].make(device="cpu")


def test_what_an_entry_knows_of_its_system():
    assert [name for name, entry in SYSTEMS.items() if not entry.is_random] == [
        "svm", "opf", "wsef", "logreg", "knn", "opf-semi"
    ]  # fmt: skip
    assert SYSTEMS["knn"].changed({"n_neighbors": 5, "device": "cpu"}) == {}
    assert SYSTEMS["knn"].changed({"n_neighbors": 6, "device": "cpu"}) == {"n_neighbors": 6}
    assert (SYSTEMS["grande"].title, SYSTEMS["knn"].title) == ("GRaNDe (ours)", "knn")
    assert (SYSTEMS["dgcg"].graph, SYSTEMS["dgcg"].degree) == ("dgcg", "centrality")
    assert SYSTEMS["grande"].graph is None  # an experiment on another graph runs it on that one
    assert SYSTEMS["d-grande"].graph == "dgcg-self"
    assert SYSTEMS["mgcn"].models == ("sgc", "appnp")


def test_the_graph_systems_have_their_degree():
    """DGCG and MGCN are graphs with plain degree centrality; the GRaNDe degree is ours."""
    degrees = {name: entry.degree for name, entry in SYSTEMS.items() if entry.models}
    assert degrees == {
        "mgcn": "centrality", "dgcg": "centrality", "grande": "grande", "d-grande": "grande"
    }  # fmt: skip


class First(System):
    """Gives every sample the first class."""

    def _transduce(self, X, codes):
        return Transduction(np.zeros(len(X), dtype=np.int64), np.ones(len(X), dtype=bool))


@pytest.fixture
def registered():
    """Registers systems for one test."""
    before = dict(SYSTEMS)
    yield register_system
    SYSTEMS.clear()
    SYSTEMS.update(before)


def test_a_new_system_is_one_class_and_one_registration(registered):
    registered(SystemEntry("first", "the first class", First))
    registered(
        SystemEntry(
            "wide", "a wider graph", GraphNetwork, {"graph": "knn", "degree": "grande"}, models=("sgc",)
        )
    )
    rng = np.random.default_rng(0)
    content = FeaturesFile(rng.normal(size=(30, 3)), np.arange(30).astype(str), np.arange(30) % 3)
    first, wide = compare_systems(content, ["first", "wide"], folds=2, epochs=3, n_neighbors=5)
    assert first.accuracy_mean == pytest.approx(100 / 3)
    assert (wide.model, wide.error) == ("sgc", None)
