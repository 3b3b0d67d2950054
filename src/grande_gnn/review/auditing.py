"""The audit: a random sample, drawn before anybody looks, judged blind, and the accuracy that follows from it.

The sample and every judgment are decisions in the journal. Judged images stay out of training until the audit ends, and the
whole sample is scored again whenever labels change (:mod:`grande_gnn.labelling.audit`).
"""

from __future__ import annotations

import secrets
from collections import Counter
from itertools import islice
from typing import Any

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.audit import audit_classes, audit_interval, audit_order
from grande_gnn.labelling.corrections import Audit
from grande_gnn.labelling.decisions import Decision
from grande_gnn.review.session import Session

__all__ = ["MAX_SAMPLE", "audit_state", "end_audit", "judge", "start_audit"]

MAX_SAMPLE = 2000
"""Images drawn for one audit; more are hardly ever judged."""

AHEAD = 4
"""Images of the sample that the page fetches before they are shown, the present one included."""

METHOD = (
    "The interval is a 95 % confidence sequence for sampling without replacement: it holds however often you look and "
    "whenever you stop."
)


def start_audit(session: Session) -> None:
    """Draw the sample: images of no earlier audit, in random order."""
    with session.lock:
        session.refresh()
        if _running(session) is not None:
            raise InvalidInputError("an audit is running: end it before you start another; got a second one")
        left = [file for file in session.files if file not in session.state.audited]
        if not left:
            raise InvalidInputError("every sample has been audited, so there is nothing to draw; got none")
        order = audit_order(len(left), secrets.randbits(32))
        files = tuple(left[place] for place in order[:MAX_SAMPLE])
        expected = _expected(session, left)
        session.write(Decision("audit-start", files, population=len(left), expected=expected))


def _expected(session: Session, files: list[str]) -> float | None:
    """The accuracy that is expected of these files: labels that people gave count as right, the others as estimated.

    It is noted before anything is judged. A good guess makes the interval narrower; a bad one does not make it wrong.
    """
    if session.full.accuracy is None:
        return None
    labelled = session.labels_to_train()
    share = sum(file in labelled for file in files) / len(files)
    return round(share + (1 - share) * session.full.accuracy.value, 4)


def judge(session: Session, row: object, label: str) -> None:
    """Write down what the next image of the sample shows; ``""`` means none of the classes."""
    with session.lock:
        session.refresh()
        (number,) = session.check_rows([row])
        if number != _next(session):
            raise InvalidInputError(
                "the samples of an audit are judged in the order in which they were drawn: judge the one on the page; "
                f"got number {number}"
            )
        session.write(
            Decision("audit", (session.files[number],), session.check_label(label) if label else "")
        )


def end_audit(session: Session) -> None:
    """End the audit: the judged images are labels like all others from now on."""
    with session.lock:
        session.refresh()
        audit = _running(session)
        if audit is None:
            raise InvalidInputError("no audit is running; got a request to end one")
        session.write(
            Decision("audit-end", tuple(f for f, ours, yours in _judged(session, audit) if ours == yours))
        )


def audit_state(session: Session) -> dict[str, Any]:
    """The progress and the result of the latest audit; never the predicted label of an image that is not judged yet."""
    with session.lock:
        audit = session.state.audit
        if audit is None:
            return {"running": False, "judged": 0, "method": METHOD}
        judged = _judged(session, audit)
        outcomes = [file in audit.right if audit.is_over else ours == yours for file, ours, yours in judged]
        estimate = audit_interval(outcomes, audit.population, expected=audit.expected)
        state: dict[str, Any] = {
            "running": not audit.is_over,
            "row": _next(session),
            "ahead": _waiting(session, AHEAD)[1:],
            "judged": len(judged),
            "sample": len(audit.files),
            "population": audit.population,
            "estimate": [estimate.value, estimate.low, estimate.high] if judged else None,
            "more": estimate.more_for(0.03) if judged else None,
            "method": METHOD,
        }
        if judged and not audit.is_over:
            classes = audit_classes(outcomes, [ours for _, ours, _ in judged], _class_counts(session, audit))
            state["classes"] = [[name, e.value, e.low, e.high, e.n] for name, e in classes.items()]
            state["last"] = [judged[-1][2], judged[-1][1]]
            wrong = [(session.row_of[f], ours, yours) for f, ours, yours in judged if ours != yours]
            state["wrong"] = wrong[-60:]
        return state


def _class_counts(session: Session, audit: Audit) -> Counter[str]:
    """How many images of the draw have each label.

    Images of earlier audits were not in the draw, and neither were images that joined the labelling since. The latter are
    known only if all images of the draw are in the sample.
    """
    sample = set(audit.files) if len(audit.files) == audit.population else None
    earlier = session.state.audited
    return Counter(
        label
        for file, label in zip(session.files, session.labels(), strict=True)
        if label and (file not in earlier if sample is None else file in sample)
    )


def _judged(session: Session, audit: Audit) -> list[tuple[str, str, str]]:
    """(file, present label, judged label) of the judged images in the order of the draw."""
    labels = session.labels()
    return [
        (file, labels[session.row_of[file]], audit.judged[file])
        for file in audit.files
        if file in audit.judged and file in session.row_of
    ]


def _running(session: Session) -> Audit | None:
    audit = session.state.audit
    return None if audit is None or audit.is_over else audit


def _next(session: Session) -> int | None:
    """The row that is judged next; None if there is none."""
    return next(iter(_waiting(session, 1)), None)


def _waiting(session: Session, n: int) -> list[int]:
    """The rows that are judged next, at most ``n``."""
    audit = _running(session)
    if audit is None:
        return []
    files = (file for file in audit.files if file not in audit.judged and file in session.row_of)
    return [session.row_of[file] for file in islice(files, n)]
