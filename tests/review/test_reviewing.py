"""The function behind the command: it needs its packages, serves until interrupted, and writes what was decided."""

import pytest

from grande_gnn.errors import MissingDependencyError
from grande_gnn.labelling.result import Labelling
from grande_gnn.review import reviewing, server
from grande_gnn.review.reviewing import review_labels


def test_missing_packages_are_named_with_the_pip_line(monkeypatch):
    monkeypatch.setattr(reviewing, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r'pip install "grande-gnn\[review\]"'):
        review_labels("anywhere")


def test_decisions_are_written_when_the_page_is_closed(out, monkeypatch):
    def serve(session, *, port, open_browser, tell):
        assert (port, open_browser) == (4321, False)
        session.decide("label", [20], "red")

    monkeypatch.setattr(server, "serve", serve)
    review_labels(out, port=4321, open_browser=False)
    assert Labelling.load(out).provenance[20] == "corrected"


def test_nothing_is_written_when_nothing_was_decided(out, monkeypatch):
    monkeypatch.setattr(server, "serve", lambda session, **options: None)
    before = (out / "predictions.csv").stat().st_mtime_ns
    review_labels(out)
    assert (out / "predictions.csv").stat().st_mtime_ns == before
