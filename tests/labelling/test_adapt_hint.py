"""When the command tells that adapting would pay."""

from dataclasses import replace

import pytest

from grande_gnn import LabelOptions
from grande_gnn.labelling import label_features
from grande_gnn.labelling.adapt_hint import SHORT_S, adapt_hint, adapt_seconds

OPTIONS = LabelOptions(
    model="sgc", sigma=0.2, graph="knn", n_neighbors=6, normalize="center-l2", device="cpu", extractor="lite0"
)


@pytest.fixture
def result(groups):
    X, _, given = groups(60, 18)
    labelling = label_features(X, given, options=OPTIONS)
    return replace(labelling, settings=labelling.settings | {"extractor": "lite0"})


def test_it_says_how_long_it_takes(result):
    said = adapt_hint(result, OPTIONS)
    assert said.startswith("--adapt would fine-tune the network")
    assert f"about {round(adapt_seconds(60, 'cpu') / 60)} min here" in said


def test_it_is_silent_where_it_would_not_help(result):
    assert adapt_hint(result, replace(OPTIONS, adapt="last")) == ""
    assert adapt_hint(replace(result, settings=result.settings | {"extractor": "pixels"}), OPTIONS) == ""
    single = [label if i < 3 else "" for i, label in enumerate(result.given)]
    assert adapt_hint(replace(result, given=single), OPTIONS) == ""
    many = int(SHORT_S / 0.02)
    assert adapt_seconds(many, "cpu") > SHORT_S
    assert adapt_hint(replace(result, files=["x"] * many), OPTIONS) == ""
    assert adapt_hint(replace(result, given=result.labels), OPTIONS) == ""
