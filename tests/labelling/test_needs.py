"""What a labelling takes is said before the work, within the limits of machine, container and process."""

import pytest

from grande_gnn import LabelOptions, label_images
from grande_gnn.errors import NotEnoughMemoryError
from grande_gnn.images import load_extractor
from grande_gnn.labelling import needs
from grande_gnn.labelling.needs import check_label_memory, label_memory


def test_more_images_or_features_need_more():
    assert label_memory(1000, 100) < label_memory(2000, 100) < label_memory(2000, 200)
    assert label_memory(2000, 200) - label_memory(2000, 100) == 6 * 4 * 2000 * 100
    assert label_memory(20_000, 1280) > 6 * 4 * 20_000 * 1280 + 256 * 2**20


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(needs, "available_memory", lambda device: label_memory(500, 50))
    check_label_memory(500, 50)
    with pytest.raises(
        NotEnoughMemoryError,
        match=r"labelling 501 images with 50 features.*takes about .* GiB.*; got .* GiB that are free",
    ):
        check_label_memory(501, 50)


def test_it_is_said_before_anything_is_extracted(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(needs, "available_memory", lambda device: 2**20)
    with pytest.raises(NotEnoughMemoryError, match="labelling 37 images"):
        label_images(photos, tmp_path / "out", LabelOptions(extractor="pixels", workers=0, device="cpu"))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache").exists()


def test_the_number_of_features_is_that_of_the_network():
    import torch

    extractor = load_extractor("pixels")
    size = extractor.preprocess.size
    assert extractor.n_features() == extractor(torch.zeros(2, size, size, 3, dtype=torch.uint8)).shape[1]
