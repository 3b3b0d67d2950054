"""The door of the report: lengths, ranges, order of classes."""

from __future__ import annotations

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.report import ReportContent, Suspicion


def test_five_fields_are_enough():
    content = ReportContent(["a"], ["x"], [1.0], [""], [1.0])
    assert content.n_images == 1
    assert not content.given.any()
    assert not content.unreached.any()
    assert content.neighbors.shape == (1, 0)


def test_arrays_of_texts_do_as_well_as_lists(make_content):
    lists = make_content()
    fields = ("files", "labels", "runner_up", "given_labels")
    arrays = make_content(**{name: np.array(getattr(lists, name)) for name in fields})
    assert all(getattr(arrays, name) == getattr(lists, name) for name in fields)


def test_classes_are_sorted_as_people_count():
    names = ["10", "9", "b2", "b10", "a", ""]
    content = ReportContent([f"{i}" for i in range(6)], names, np.ones(6), ["c"] * 6, np.ones(6))
    assert content.classes == ["9", "10", "a", "b2", "b10", "c"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": []}, "at least one image"),
        ({"labels": ["a"]}, "labels needs one entry an image: 60 images; got 1"),
        ({"confidence": np.full(60, 1.5)}, r"confidence must lie in \[0, 1\].*got 1.5 for image 0"),
        ({"margin": np.full(60, np.nan)}, r"margin must lie in \[-1, 1\].*got nan"),
        ({"neighbors": np.full((60, 2), 60)}, "name images 0 to 59"),
        ({"neighbors": np.zeros((60, 2))}, "integer matrix"),
        ({"neighbors": np.zeros((59, 2), int)}, "got 59 entries"),
        ({"features": np.full((60, 3), np.inf)}, "finite"),
        ({"coordinates": np.zeros((60, 3)), "map_method": "m"}, "two numbers an image"),
        ({"coordinates": np.zeros((60, 2))}, "map_method"),
        ({"unreached": [True]}, "unreached needs one entry an image"),
        ({"suspicions": [Suspicion(60, "x", 0.9)]}, "got 60"),
    ],
)
def test_bad_input_is_refused_with_what_was_got(make_content, changes, message):
    with pytest.raises(InvalidInputError, match=message):
        make_content(**changes)
