"""Review labels in the browser: whatever ``grande review`` does, this function does."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from grande_gnn.errors import MissingDependencyError
from grande_gnn.labelling.label_options import DEFAULT, LabelOptions
from grande_gnn.labelling.steps import Progress, Step, counted

__all__ = ["check_dependencies", "review_labels"]


def check_dependencies() -> None:
    """Refuse, before any work, to open a page without the packages that its server needs."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f'the review page needs packages of its own: pip install "grande-gnn[review]"; got no {missing[0]}'
        )


def review_labels(
    out: str | Path,
    images: str | Path | None = None,
    options: LabelOptions = DEFAULT,
    *,
    port: int = 0,
    open_browser: bool = True,
    progress: Progress | None = None,
    tell: Callable[[str], object] | None = None,
) -> None:
    """Open the labelling in ``out`` in the browser, until the process is interrupted.

    Parameters
    ----------
    out, images, options, progress : as for :func:`~grande_gnn.review.opening.open_session`.
    port : where the page is, on this machine only; 0 takes any free port.
    open_browser : open the page in a browser.
    tell : called with the link of the page, whether or not it is opened.
    """
    check_dependencies()
    from grande_gnn.review.opening import open_session
    from grande_gnn.review.rewriting import write_reviewed
    from grande_gnn.review.server import serve

    session = open_session(out, images, options, progress)
    serve(session, port=port, open_browser=open_browser, tell=tell)
    last = max((decision.id for decision in session.journal.decisions), default=0)
    if session.written < last:
        if progress is not None:
            progress(Step("write", message="Training with all decisions and writing the results…"))
        with counted(progress):
            write_reviewed(session)
