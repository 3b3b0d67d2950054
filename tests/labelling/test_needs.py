"""What a labelling takes is said before the work, within the limits of machine, container and process."""

import subprocess
import sys

import numpy as np
import pytest

from grande_gnn import LabelOptions, label_images
from grande_gnn.errors import NotEnoughMemoryError
from grande_gnn.images import load_extractor
from grande_gnn.labelling import label_features, needs
from grande_gnn.labelling.needs import check_label_memory, label_memory, n_classes, training_memory


def test_more_images_or_features_need_more():
    assert label_memory(1000, 100) < label_memory(2000, 100) < label_memory(2000, 200)
    assert label_memory(2000, 200) - label_memory(2000, 100) == 6 * 4 * 2000 * 100
    assert label_memory(20_000, 1280) > 6 * 4 * 20_000 * 1280 + 256 * 2**20


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(needs, "available_memory", lambda device: label_memory(500, 50))
    check_label_memory(500, 50)
    with pytest.raises(
        NotEnoughMemoryError,
        match=r"labelling 501 images with 50 features.*takes about .* GiB.*; got .* GiB of free memory",
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


def test_probabilities_count_where_they_are_larger_than_what_the_search_needed():
    assert label_memory(1000, 100, 10) == label_memory(1000, 100)
    more = label_memory(10_000, 100, 1000) - label_memory(10_000, 100)
    assert more == 8 * 10_000 * 1000 * 5 - 4 * 10_000 * 100 * 3


def test_a_training_on_the_cpu_counts_where_it_takes_more_than_the_search():
    appnp, sgc = (LabelOptions(model=name, device="cpu").classifier() for name in ("appnp", "sgc"))
    need = training_memory(100_000, 768, 100, appnp)
    states = 4 * 100_000 * 100 * 10  # the outputs of all samples after each hop
    assert need > 4 * 100_000 * 768 * 3 + states
    assert training_memory(100_000, 768, 100, sgc) < need / 2
    assert training_memory(100_000, 768, 0, appnp) == 0
    more = label_memory(100_000, 768, 100, need) - label_memory(100_000, 768, 100)
    assert more == need - 4 * 100_000 * 768 * 3


def test_a_training_that_does_not_fit_is_refused_before_features_are_read(monkeypatch):
    X = np.lib.stride_tricks.as_strided(np.zeros(1, np.float16), (100_000, 768), (0, 0))
    labels = [f"class {i % 100}" if i < 2000 else "" for i in range(100_000)]
    monkeypatch.setattr(needs, "available_memory", lambda device: 3 * 2**30)
    monkeypatch.setattr("grande_gnn.labelling.run.check_features", lambda features: pytest.fail("was read"))
    with pytest.raises(NotEnoughMemoryError, match="labelling 100000 samples"):
        label_features(X, labels, options=LabelOptions(device="cpu"))


def test_labels_are_counted_and_bad_ones_left_to_the_classifier():
    assert n_classes(["a", "", None, "b", "a"]) == 2
    assert n_classes(np.array([-1, -1])) == 0


def test_features_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(needs, "available_memory", lambda device: 2**20)
    X = np.full((50, 8), np.nan, dtype=np.float16)  # reading them would refuse them for another reason
    with pytest.raises(NotEnoughMemoryError, match="labelling 50 samples with 8 features each in 2 classes"):
        label_features(X, ["a", "b"] + [""] * 48, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


UNDER_A_LIMIT = """
import resource, sys
import numpy as np
from grande_gnn.labelling import label_features
from grande_gnn.errors import NotEnoughMemoryError

X = np.lib.format.open_memmap(sys.argv[1], "w+", np.float16, (400_000, 768))  # a sparse file: nothing is written
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
try:
    label_features(X, np.arange(400_000) % 100 - 1)
except NotEnoughMemoryError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux only")
def test_many_samples_under_4_gib_are_refused_with_what_they_need(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT, str(tmp_path / "x.npy")],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(
        "labelling 400000 samples with 768 features each in 99 classes takes about 12 GiB"
    )
