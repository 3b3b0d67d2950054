"""The settings that a training decides are read from its classifier."""

from dataclasses import asdict, replace

from grande_gnn.graph.neighbors import BACKENDS
from grande_gnn.labelling import LabelOptions, label_features
from grande_gnn.labelling.model_settings import RECALL, model_settings

FAST = LabelOptions(
    model="sgc", sigma=0.2, graph="knn", n_neighbors=8, normalize="center-l2", device="cpu", seed=5
)


def test_they_are_what_was_chosen_trained_and_measured(groups):
    X, _, given = groups()
    result = label_features(X, given, options=replace(FAST, graph="auto"))
    found, clf = model_settings(result), result.classifier
    assert {name: found[name] for name in asdict(clf.choice_)} == asdict(clf.choice_)
    assert (found["model"], found["degree"]) == ("sgc", "grande")
    assert found["members"] == clf.committee_.described()
    assert {name: found[name] for name in asdict(result.calibration)} == asdict(result.calibration)
    assert found.items() <= result.settings.items()
    assert RECALL not in found


def test_the_recall_of_an_approximate_search_is_one_of_them(groups, monkeypatch):
    X, _, given = groups()
    monkeypatch.setitem(BACKENDS, "auto", BACKENDS["approximate"])
    result = label_features(X, given, options=FAST)
    assert model_settings(result)[RECALL] == str(result.neighbors.recall)
