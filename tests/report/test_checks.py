"""The door of the report: lengths, ranges, rows."""

from __future__ import annotations

import numpy as np
import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.labelling.result import Suspicion
from grande_gnn.report import render_report
from grande_gnn.report.checks import check_labelling


def test_the_columns_alone_are_enough(make_bare_labelling):
    check_labelling(make_bare_labelling())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": []}, "at least one image; got none"),
        ({"labels": ["a"]}, "labels needs one entry per image: 60 images; got 1 entries"),
        ({"confidence": np.full(60, 1.5)}, r"confidence must lie in \[0, 1\].*got 1.5 for image 0"),
        ({"confidence": np.full(60, -0.5)}, r"confidence must lie in \[0, 1\].*got -0.5"),
        ({"margin": np.full(60, np.nan)}, r"margin must lie in \[-1, 1\].*got nan"),
        ({"neighbors": Neighbors(np.zeros((59, 2)))}, "neighbors.features needs one entry.*got 59 entries"),
        ({"unreached": np.array([True])}, "unreached needs one entry per image"),
        ({"suspicions": [Suspicion(60, "x", 0.9)]}, "from 0 to 59; got 60"),
        ({"suspicions": [Suspicion(-1, "x", 0.9)]}, "from 0 to 59; got -1"),
    ],
)
def test_a_labelling_that_cannot_be_shown_is_refused_with_what_was_got(make_labelling, changes, message):
    with pytest.raises(InvalidInputError, match=message):
        render_report(make_labelling(**changes))


def test_a_contradicted_label_has_a_margin_below_zero(make_labelling):
    check_labelling(make_labelling(margin=np.full(60, -0.9)))
