"""Whole squares in memory, and features from them."""

import numpy as np
import torch
from PIL import Image

from grande_gnn.images import extract_features, find_images, load_extractor
from grande_gnn.images.preprocess import Preprocess
from grande_gnn.images.squares import read_squares, square_features


def test_a_square_is_the_middle_of_the_image(tmp_path):
    pixels = np.zeros((10, 30, 3), np.uint8)
    pixels[:, 10:20] = (200, 100, 50)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    told = []
    (square,) = read_squares([tmp_path / "a.png"], Preprocess(8, 10), lambda *done: told.append(done))
    assert square.shape == (3, 10, 10)
    assert square[:, 2:-2, 2:-2].flatten(1).unique(dim=1).flatten().tolist() == [200, 100, 50]
    assert told == [(1, 1)]


def test_features_of_squares_are_those_of_the_files(tmp_path, tiny_network, stripes):
    for i, image in enumerate(stripes(6, side=24)[0]):
        Image.fromarray(image).save(tmp_path / f"{i}.png")
    extractor = load_extractor(tiny_network)
    found = find_images(tmp_path)
    by_file = extract_features(found, extractor, store=tmp_path / "store", workers=0, device="cpu").features()
    squares = read_squares(found.paths(), extractor.preprocess)
    np.testing.assert_allclose(
        square_features(extractor, squares, torch.device("cpu"), batch=4), by_file, atol=0.02
    )
