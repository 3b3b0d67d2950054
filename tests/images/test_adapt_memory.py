"""The memory of adapting is known before it begins."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import view_source
from grande_gnn.images.adapt import AdaptOptions, prepare_views
from grande_gnn.images.adapt_memory import predicted_gib, views_bytes
from grande_gnn.images.adapt_training import Recipe
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.squares import side_of


def test_the_predicted_memory_is_what_was_measured():
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "adapt_h200_first.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert predicted_gib(Recipe(), int(row["size"])) == pytest.approx(float(row["peak_gib"]), abs=0.05)
    assert predicted_gib(Recipe(contrast=0.0), 224) < predicted_gib(Recipe(), 224)


@pytest.mark.parametrize("n_views", [0, 2])
def test_pixels_and_maps_take_what_is_said(n_views, tiny_network):
    options = AdaptOptions("last", n_views=n_views, blocks=1, device="cpu")
    extractor = load_trainable(tiny_network)
    side = side_of(extractor.preprocess)
    squares = torch.zeros(9, 3, side, side, dtype=torch.uint8)
    views = prepare_views(squares, tiny_network, options)
    kept = views.maps.nbytes if n_views else 0
    assert views_bytes(9, extractor, options) == squares.nbytes + kept
    assert views_bytes(9, extractor, AdaptOptions("full", device="cpu")) == squares.nbytes


def test_maps_that_do_not_fit_are_not_counted(tiny_network, monkeypatch):
    options = AdaptOptions("last", n_views=2, blocks=1, device="cpu")
    monkeypatch.setattr(view_source, "MAPS", 1000)
    extractor = load_trainable(tiny_network)
    assert views_bytes(9, extractor, options) == 9 * 3 * side_of(extractor.preprocess) ** 2


def test_a_form_that_does_not_suit_the_network_is_refused(tiny_network):
    whole = replace(load_trainable(tiny_network), network=torch.nn.Linear(3, 3))
    assert views_bytes(9, whole, AdaptOptions("full", device="cpu")) > 0
    with pytest.raises(
        InvalidInputError, match="only the networks lite0, lite1 and lite2 can adapt their last blocks"
    ):
        views_bytes(9, whole, AdaptOptions("last", device="cpu"))
