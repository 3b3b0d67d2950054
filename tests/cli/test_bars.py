"""Bars show stage, rate and time left on a terminal, one at a time, and nothing elsewhere."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from grande_gnn.cli import bars
from grande_gnn.cli.bars import STAGES, StageBars


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A standard error that is a terminal, on which bars appear at once."""
    screen = Terminal()
    monkeypatch.setattr(bars, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(bars, "SHORT", 0)
    return screen


def test_a_bar_has_its_stage_rate_and_time_left(terminal):
    with StageBars() as show:
        show("train", 0, 200)
        for done in range(1, 200):
            show("train", done, 200)
            show._bar.refresh()
    last = terminal.getvalue().split("\r")
    shown = next(line for line in reversed(last) if "199/200" in line)
    assert shown.startswith("Training: ")
    assert "left" in shown
    assert "epoch" in shown


def test_a_new_stage_replaces_the_bar_and_a_finished_one_is_closed(terminal):
    show = StageBars()
    show("neighbors", 0, 5)
    first = show._bar
    show("graph", 0, 5)
    assert first.disable  # closed
    assert show._bar.desc == "Comparing ranked lists"
    show("graph", 5, 5)
    assert show._bar is None


def test_the_same_stage_begins_again(terminal):
    show = StageBars()
    show("graph", 4, 5)
    first = show._bar
    show("graph", 0, 5)
    assert show._bar is not first
    show("graph", 1, 7)
    assert show._bar.total == 7
    show.close()


def test_a_stage_without_a_count_has_no_bar(terminal):
    show = StageBars()
    show("find", 0, 0)
    assert show._bar is None


def test_logs_show_nothing(capsys, monkeypatch):
    monkeypatch.setattr(bars, "SHORT", 0)
    with StageBars() as show:
        show("train", 0, 10)
        show("train", 5, 10)
    assert capsys.readouterr().err == ""


def test_reading_images_is_shown_in_logs_too(capsys):
    with StageBars() as show:
        show("extract", 0, 10)
        show("extract", 3, 10, "loss 2")
    err = capsys.readouterr().err
    assert "3/10" in err
    assert "loss 2" in err


def test_an_unknown_stage_is_shown_by_its_name(terminal):
    show = StageBars()
    show("knn", 1, 10)
    assert show._bar.desc == "knn"
    show.close()
    assert "knn" not in STAGES


def test_what_was_done_before_does_not_count_as_speed(terminal):
    """An adaptation that continues at step 400 of 540 has not made 400 steps in its first second."""
    show = StageBars()
    show("adapt", 400, 540)
    show("adapt", 401, 540)
    assert (show._bar.initial, show._bar.n) == (400, 401)
    show.close()
