"""Numbers and names are written for people."""

from __future__ import annotations

import pytest

from grande_gnn.report.formats import count, natural_key, percent, short, whole


def test_counts_have_separators():
    assert [count(n) for n in (0, 999, 1000, 1234567)] == ["0", "999", "1,000", "1,234,567"]


def test_shares_have_one_decimal_and_a_space_that_does_not_break():
    assert percent(0.8731) == "87.3\u00a0%"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.416, "42 %"), (0.994, "99 %"), (0.997, "> 99 %"), (1.0, "100 %")],
)
def test_only_certainty_is_written_as_100_percent(share, text):
    assert whole(share) == text.replace(" ", "\u00a0")


def test_long_names_lose_their_middle():
    assert short("x" * 48) == "x" * 48
    assert len(short("x" * 49)) == 48
    assert short("a" * 40 + "/end.jpg" + "b" * 3, 20).endswith("/end.jpgbbb")


def test_names_are_sorted_as_people_count():
    names = ["10", "9", "b2", "B10", "a", "c"]
    assert sorted(names, key=natural_key) == ["9", "10", "a", "b2", "B10", "c"]
