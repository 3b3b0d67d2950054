"""What sections share: classes and their colors, similar images, and which images are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.labelling.confidence import AccuracyEstimate
from grande_gnn.labelling.result import Suspicion
from grande_gnn.report import SECTIONS, Page


def test_classes_are_all_labels_that_occur_in_natural_order(make_labelling):
    names = ["10", "9", "b2", "b10", "a", ""]
    page = Page(
        make_labelling(
            6, labels=names, runner_up=["c"] * 6, given=["", "", "", "", "", "d"],
            suspicions=[Suspicion(5, "e", 0.9)], class_accuracy={"f": AccuracyEstimate(1.0, 0.5, 1.0, 3)},
        )
    )  # fmt: skip
    assert page.classes == ["9", "10", "a", "b2", "b10", "c", "d", "e", "f"]
    assert list(page.colors) == page.classes
    assert len(set(page.colors.values())) == 9


def test_the_title_names_the_folder(make_labelling, make_bare_labelling):
    assert Page(make_labelling(root=Path("/data/flowers/"))).title == "Labels of flowers"
    assert Page(make_bare_labelling()).title == "Labelled samples"


def test_similar_images_are_the_nearest_six_without_the_image_itself(make_labelling):
    page = Page(make_labelling(10, neighbors=Neighbors(np.arange(10.0)[:, None] ** 2)))
    assert page.similar(0) == [1, 2, 3, 4, 5, 6]
    assert page.similar(9) == [8, 7, 6, 5, 4, 3]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_images_have_few_similar_ones(make_labelling, n):
    page = Page(make_labelling(n, suspicions=[], neighbors=Neighbors(np.arange(n, dtype=float)[:, None])))
    assert sorted(page.similar(0)) == list(range(1, n))


def test_without_neighbors_nothing_is_similar(make_bare_labelling):
    assert Page(make_bare_labelling(3)).similar(1) == []


def test_all_images_are_shown_if_they_are_not_too_many(make_labelling):
    page = Page(make_labelling(), SECTIONS.values())
    np.testing.assert_array_equal(page.shown, np.arange(60))
    np.testing.assert_array_equal(page.number, np.arange(60))


def test_of_too_many_images_all_that_sections_list_and_a_random_sample_are_shown(make_labelling, monkeypatch):
    monkeypatch.setattr("grande_gnn.report.page.MAX_IMAGES", 600)
    labelling = make_labelling(n=1000)
    pages = [Page(labelling, SECTIONS.values(), random_state=seed) for seed in (0, 0, 1)]
    listed = {row for section in SECTIONS.values() for row in section.pictured(labelling)}
    needed = listed | {other for row in listed for other in pages[0].similar(row)}
    assert len(listed) > 60
    for page in pages:
        assert len(page.shown) == 600
        assert needed <= set(page.shown.tolist())
        np.testing.assert_array_equal(page.number[page.shown], np.arange(600))
        assert (page.number >= 0).sum() == 600
    np.testing.assert_array_equal(pages[0].shown, pages[1].shown)
    assert set(pages[0].shown.tolist()) != set(pages[2].shown.tolist())


def test_images_that_sections_list_are_shown_even_if_they_are_too_many(make_labelling, monkeypatch):
    monkeypatch.setattr("grande_gnn.report.page.MAX_IMAGES", 10)
    labelling = make_labelling(n=2000)
    page = Page(labelling, SECTIONS.values())
    listed = {row for section in SECTIONS.values() for row in section.pictured(labelling)}
    assert set(page.shown.tolist()) == listed | {other for row in listed for other in page.similar(row)}


def test_highlights_come_from_the_sections_in_their_order(make_labelling):
    page = Page(make_labelling(), SECTIONS.values())
    names = [name for name, _ in page.highlights]
    assert names == ["unsure", "suspicious", "unfamiliar", "outside", "outside", "copies", "problems"]
    assert Page(make_labelling()).highlights == []
