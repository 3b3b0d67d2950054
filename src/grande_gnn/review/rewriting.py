"""Write all files of the labelling again, with the decisions of the review."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grande_gnn.errors import GrandeError
from grande_gnn.labelling.corrections import MARK
from grande_gnn.labelling.exports.among_results import exports_in
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.session import Session

__all__ = ["reviewed_labelling", "write_reviewed"]

PATIENCE = 300.0
"""Seconds to wait for the training in the background; after that, the labels are trained on here."""


def reviewed_labelling(session: Session) -> Labelling:
    """The labelling with all decisions, trained in full, and where each label comes from."""
    with session.lock:
        state, labels, full = session.state, session.labels_to_train(), session.full
        last = max((d.id for d in session.journal.decisions), default=0)
    trained = {file: label for file, label in zip(full.files, full.given, strict=True) if label}
    if labels != trained:
        if len(set(labels.values())) > 1:
            full = full_fit(full, labels)
        else:
            full = _untrained(full, labels)
    origin = [state.provenance(file) for file in full.files]
    rejected = np.array([file in state.rejected for file in full.files])
    return replace(
        full,
        labels=["" if no else label for no, label in zip(rejected, full.labels, strict=True)],
        runner_up=["" if no else label for no, label in zip(rejected, full.runner_up, strict=True)],
        confidence=np.where(rejected, 0.0, full.confidence),
        margin=np.where(rejected, 0.0, full.margin),
        provenance=[provenance for provenance, _ in origin],
        decided=[when for _, when in origin],
        settings=full.settings | {MARK: last},
    )


def _untrained(full: Labelling, labels: dict[str, str]) -> Labelling:
    """The given labels alone: there is nothing to learn from fewer than two classes.

    Whatever the earlier model said about images goes with it.
    """
    given = [labels.get(file, "") for file in full.files]
    sure = np.array([1.0 if label else 0.0 for label in given])
    nothing = [""] * len(given)
    return replace(
        full, labels=given, given=given, confidence=sure, margin=sure, runner_up=nothing, suspicions=[],
        accuracy=None, class_accuracy={}, bins=[], doubts=[], unfamiliar=None, is_unfamiliar=None, label_sets=None,
        sets_made=None, unreached=np.zeros(len(given), dtype=bool),
        note="Label images of at least two classes to have the others labelled.",
    )  # fmt: skip


def write_reviewed(session: Session, export: str | None = None) -> Labelling:
    """Rewrite predictions, report, problems, settings and model of the session's folder: all of them, or nothing.

    Exports that are there already are written again too, so that they hold the same labels as the rest.
    """
    with session.writing:
        # A running training may include all decisions; then nothing is trained twice.
        session.retraining.wait(PATIENCE)
        result = reviewed_labelling(session)
        wanted = [export] if export else []
        earlier = [name for name in exports_in(session.folder) if name not in wanted]
        try:
            result.save(session.folder, overwrite=True, export=[*earlier, *wanted])
        except (GrandeError, OSError):
            if not earlier:
                raise
            # An export that copies images fails if one of them is gone; that must not keep decisions out of the files.
            result.save(session.folder, overwrite=True, export=wanted)
    with session.lock:
        session.written = int(str(result.settings[MARK]))
        session.version += 1
    return result
