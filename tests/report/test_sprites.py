"""Sprite sheets: every cell holds its image, sizes stay in the budget."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from grande_gnn.errors import InvalidInputError
from grande_gnn.report.sprites import sprite_sheets


def cell(sheets, i):
    sheet = np.asarray(Image.open(io.BytesIO(sheets.jpegs[i // sheets.per_sheet]))).astype(int)
    place = i % sheets.per_sheet
    top, left = place // sheets.columns * sheets.cell, place % sheets.columns * sheets.cell
    return sheet[top : top + sheets.cell, left : left + sheets.cell]


def test_each_image_is_in_its_own_cell():
    colors = np.random.default_rng(0).integers(0, 256, (23, 3))
    images = [np.broadcast_to(color, (40, 50, 3)).astype(np.uint8) for color in colors]
    sheets = sprite_sheets(images, cell=16, columns=3)
    assert len(sheets.jpegs) == 3
    for i, color in enumerate(colors):
        inside = cell(sheets, i)[1:-1, 1:-1]  # decoders smooth color across the seam itself
        assert np.abs(inside - color).max() <= 12, i


def test_the_last_sheet_has_only_the_rows_it_needs():
    sheets = sprite_sheets([np.zeros((8, 8), np.uint8)] * 14, cell=16, columns=3)
    assert Image.open(io.BytesIO(sheets.jpegs[-1])).size == (48, 32)


def test_the_middle_of_an_oblong_image_is_kept():
    image = np.zeros((32, 96, 3), np.uint8)
    image[:, 32:64] = 255
    assert cell(sprite_sheets([image], cell=32, columns=1), 0).min() > 200


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_any_mode_becomes_a_cell(mode):
    sheets = sprite_sheets([Image.new(mode, (30, 20))], cell=16, columns=1)
    assert cell(sheets, 0).shape == (16, 16, 3)


def test_a_missing_image_is_a_gray_cell_and_shifts_nothing():
    white = np.full((16, 16, 3), 255, np.uint8)
    sheets = sprite_sheets([None, white], cell=16, columns=2)
    assert np.abs(cell(sheets, 0) - 128).max() <= 8
    assert cell(sheets, 1).min() > 240


def test_tiny_pictures_stay_crisp():
    board = np.kron([[0, 255], [255, 0]], np.ones((4, 4))).astype(np.uint8)
    assert set(np.unique(cell(sprite_sheets([board], cell=64, columns=1), 0).round(-2))) <= {0, 200, 300}


def test_white_noise_fits_the_budget_of_a_full_page():
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (64, 64, 3), dtype=np.uint8) for _ in range(256)]
    sheets = sprite_sheets(noise, bytes_per_image=1250)
    assert len(sheets.jpegs[0]) <= 1250 * 256


def test_images_are_taken_one_sheet_at_a_time():
    taken = []

    def images():
        for i in range(9):
            taken.append(i)
            yield np.zeros((8, 8), np.uint8)
            assert len(taken) == i + 1

    assert len(sprite_sheets(images(), cell=16, columns=2).jpegs) == 3


@pytest.mark.parametrize("image", [np.zeros((4, 4, 2), np.uint8), np.zeros((4, 4)), np.zeros(4, np.uint8)])
def test_arrays_that_are_no_pictures_are_refused(image):
    with pytest.raises(InvalidInputError, match="got shape"):
        sprite_sheets([image])
