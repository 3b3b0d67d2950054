"""A labelling trained again with corrected labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.earlier_network import with_doubt
from grande_gnn.labelling.model_settings import model_settings
from grande_gnn.labelling.result import Labelling

__all__ = ["relabel"]


def relabel(labelling: Labelling, corrections: Mapping[str, str]) -> Labelling:
    """See :meth:`Labelling.corrected`; labels are used as they are, because classes may have spaces around their names."""
    clf = labelling.classifier
    if clf is None or not any(labelling.given):
        raise InvalidInputError(
            "only a labelling whose images trained its model can be corrected: label them with label_images; "
            f"got {'one without a model' if clf is None else 'one without given labels'}"
        )
    row_of = {file: row for row, file in enumerate(labelling.files)}
    labels = list(labelling.given)
    for file, label in corrections.items():
        if file not in row_of:
            raise InvalidInputError(
                f"corrections must name files of the labelling, such as {labelling.files[0]!r}; got {file!r}"
            )
        labels[row_of[file]] = label
    coverage = None if labelling.sets_made is None else labelling.sets_made.coverage
    result = assess(clf.refit(labels), labels, labelling.files, coverage=coverage)
    result = with_doubt(result, labelling.settings)
    names = ("root", "problems", "texts", "thumbnails", "adapted_weights")
    kept = {name: getattr(labelling, name) for name in names}
    return replace(result, **kept, settings=labelling.settings | model_settings(result))
