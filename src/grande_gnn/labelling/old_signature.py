"""``label_features`` as version 0.1 had it: it works for one more version, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.result import Labelling

__all__ = ["accepts_old_signature"]

P = ParamSpec("P")


def accepts_old_signature(new: Callable[P, Labelling]) -> Callable[P, Labelling]:
    """Let ``label_features`` also be called with (features, files, given, clf), where clf is not yet fitted."""

    @wraps(new)
    def label_features(*arguments: Any, **options: Any) -> Labelling:
        if len(arguments) < 3 and not {"given", "clf"} & set(options):
            return new(*arguments, **options)
        warnings.warn(
            "label_features(features, files, given, clf) will not work in version 0.3: use "
            "label_features(features, labels, files=files, options=LabelOptions(...))",
            DeprecationWarning,
            stacklevel=2,
        )
        return _label_features(*arguments, **options)

    return label_features


def _label_features(features: Any, files: Any, given: Any, clf: Any) -> Labelling:
    return assess(clf.fit(features, list(given)), list(given), files)
