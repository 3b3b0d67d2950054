"""The map: a place for every image shown, and what its inspector says about it."""

from __future__ import annotations

import numpy as np

from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.labelling.result import Suspicion


def test_every_image_has_a_place_and_the_method_is_named(section, make_labelling):
    shown = section("map", make_labelling(n=40))
    positions = shown.data("map-data")["xy"]
    assert len(positions) == 80
    assert min(positions) == 0
    assert max(positions) == 9999
    assert "t-SNE of the first 16 principal components" in shown.text


def test_the_seed_decides_the_layout(section, make_labelling):
    wide = Neighbors(np.random.default_rng(0).normal(size=(60, 80)))
    labelling = make_labelling(neighbors=wide)
    places = [section("map", labelling, random_state=seed).data("map-data")["xy"] for seed in (0, 0, 1)]
    assert places[0] == places[1] != places[2]


def test_without_features_there_is_no_map(section, make_bare_labelling):
    assert section("map", make_bare_labelling(20)).elements == []


def test_scores_are_thousandths_and_labels_are_numbers(section, make_labelling):
    confidence = np.linspace(0, 1, 60)
    labelling = make_labelling(
        confidence=confidence, margin=confidence - 0.5, runner_up=["", *["class 2"] * 59]
    )
    data = section("map", labelling, image_root="../photos").data("map-data")
    assert data["confidence"][:2] == [0, 17]
    assert data["margin"][0] == -500
    assert data["runner"] == [-1, *[2] * 59]
    assert data["root"] == "../photos"


def test_flags_are_bits(section, make_labelling):
    marked = np.arange(60) % 30 == 0
    labelling = make_labelling(
        unreached=marked, out_of_distribution=marked, suspicions=[Suspicion(0, "x", 0.9)]
    )
    flags = section("map", labelling).data("map-data")["flags"]
    assert flags[0] == 1 + 2 + 4
    assert flags[30] == 1 + 2
    assert sum(flags) == 10


def test_a_doubted_label_is_shown_with_what_is_suggested(section, make_labelling):
    labelling = make_labelling(suspicions=[Suspicion(5, "class 0", 0.8765)])
    assert section("map", labelling).data("map-data")["suggested"] == {"5": ["class 0", 876]}


def test_lines_lead_only_to_images_on_the_page(section, make_labelling, monkeypatch):
    monkeypatch.setattr("grande_gnn.report.page.MAX_IMAGES", 600)
    labelling = make_labelling(n=1000, suspicions=[Suspicion(999, "x", 0.9)])
    shown = section("map", labelling)
    near = shown.data("map-data")["near"]
    assert len(near) == 600
    assert {number for numbers in near for number in numbers} <= set(range(600))
    assert min(map(len, near)) < 6
    assert "600 of the 1,000 images are shown" in shown.text
    assert shown.data("map-data")["suggested"] == {"599": ["x", 900]}


def test_similar_images_are_numbered_nearest_first(section, make_labelling):
    labelling = make_labelling(10, neighbors=Neighbors(np.arange(10.0)[:, None] ** 2))
    assert section("map", labelling).data("map-data")["near"][0] == [1, 2, 3, 4, 5, 6]


def test_many_classes_get_a_legend_that_scrolls(section, make_labelling):
    assert "many" in section("map", make_labelling(n=100, n_classes=50)).attributes("class")
    assert "many" not in section("map", make_labelling(n=100, n_classes=40)).attributes("class")


def test_pictures_on_the_map_are_offered_where_there_are_pictures(section, make_labelling, make_thumbnails):
    assert "pictures" in section("map", make_labelling(thumbnails=make_thumbnails())).attributes("id")
    assert "pictures" not in section("map", make_labelling()).attributes("id")
