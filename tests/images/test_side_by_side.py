"""Features of several networks side by side."""

import numpy as np
import pytest
from PIL import Image

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import extract_features, extract_parts, find_images, join_extractions, load_parts
from grande_gnn.images.side_by_side import unit_rows


@pytest.fixture
def found(tmp_path, picture):
    (tmp_path / "p").mkdir()
    for i in range(4):
        picture(i).save(tmp_path / "p" / f"{i}.png")
    return find_images(tmp_path / "p")


def test_each_network_has_its_columns_and_rows_of_length_one(found, tmp_path, tiny_network):
    options = {"store": tmp_path / "store", "workers": 0, "device": "cpu"}
    parts = load_parts("pixels+tiny")
    joined = extract_parts(found, parts, **options)
    alone = [extract_features(found, part, **options) for part in parts]
    X = joined.features()
    assert X.shape == (4, 768 + 8)
    np.testing.assert_allclose(np.linalg.norm(X[:, :768], axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(X[:, 768:], unit_rows(alone[1].features()))
    assert joined.identity == "+".join(part.identity for part in parts)
    assert [one.n_reused for one in alone] == [4, 4]  # each in a store of its own


def test_one_network_stays_as_it_is(found, tmp_path):
    (part,) = load_parts("pixels")
    joined = extract_parts(found, [part], store=tmp_path / "store", workers=0, device="cpu")
    assert joined.features()[0, 0] == extract_features(
        found, part, store=tmp_path / "store", workers=0, device="cpu"
    ).features()[0, 0]  # fmt: skip
    assert joined.identity == part.identity


def test_other_files_cannot_be_joined(found, tmp_path):
    options = {"store": tmp_path / "store", "workers": 0, "device": "cpu"}
    (part,) = load_parts("pixels")
    one = extract_features(found, part, **options)
    Image.new("RGB", (9, 9)).save(tmp_path / "p" / "0.png")
    other = extract_features(find_images(tmp_path / "p"), part, **options)
    with pytest.raises(InvalidInputError, match="run the command again"):
        join_extractions([one, other])


def test_names_must_differ_and_weights_belong_to_one(tmp_path):
    with pytest.raises(InvalidInputError, match="must be different; got 'pixels\\+pixels'"):
        load_parts("pixels+pixels")
    with pytest.raises(InvalidInputError, match="must be different; got 'pixels\\+'"):
        load_parts("pixels+")
    with pytest.raises(InvalidInputError, match="belongs to one extractor"):
        load_parts("pixels+lite0", tmp_path / "w.pth")
