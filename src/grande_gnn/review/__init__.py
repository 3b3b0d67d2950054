"""The local page on which labels are corrected: a server for one user, a journal of decisions, and background trainings.

>>> from grande_gnn.review import review_labels
>>> review_labels("labelled/")                                                # doctest: +SKIP

Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.review.opening import open_session
    from grande_gnn.review.queues import QUEUES, Queue, View, register_queue
    from grande_gnn.review.reviewing import review_labels
    from grande_gnn.review.rewriting import reviewed_labelling, write_reviewed
    from grande_gnn.review.session import Session

__all__ = [
    "QUEUES",
    "Queue",
    "Session",
    "View",
    "open_session",
    "register_queue",
    "review_labels",
    "reviewed_labelling",
    "write_reviewed",
]

_HOMES = {
    "QUEUES": "queues", "Queue": "queues", "View": "queues", "register_queue": "queues", "Session": "session",
    "open_session": "opening", "review_labels": "reviewing", "reviewed_labelling": "rewriting",
    "write_reviewed": "rewriting",
}  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
