"""Sentences about decisions of a review that a labelling does not include, for users who would expect them there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from grande_gnn.errors import GrandeError
from grande_gnn.labelling.corrections import n_pending
from grande_gnn.labelling.decisions import Journal
from grande_gnn.labelling.steps import Progress, Step

__all__ = ["tell_if_model_is_older", "tell_if_review_is_kept"]


def tell_if_model_is_older(folder: Path, settings: Mapping[str, object], tell: Progress) -> None:
    """Before the model of a folder, which has these settings, labels new samples."""
    if n := n_pending(Journal(folder).decisions, settings):
        tell(Step("find", message=f"{_decisions(n)} not in that model yet: open `grande review {folder}` and end it with "
                  "Ctrl-C to train the model with them."))  # fmt: skip


def tell_if_review_is_kept(out: str | Path | None, tell: Progress) -> None:
    """Before the results of a folder are replaced by a new labelling, which keeps the decisions but does not read them."""
    if out is None:
        return
    with suppress(GrandeError, OSError):  # an unreadable journal stays as it is
        if n := n_pending(Journal(out).decisions, {}):
            tell(Step("find", message=f"{_decisions(n)} kept in {out}, but not among these labels: `grande review {out}` "
                      "applies them to the new result."))  # fmt: skip


def _decisions(n: int) -> str:
    return f"{n} decision{'s' if n > 1 else ''} of a review {'are' if n > 1 else 'is'}"
