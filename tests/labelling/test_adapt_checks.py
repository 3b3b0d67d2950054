"""What adapting cannot do is refused before any image is read."""

from collections import namedtuple

import pytest

from grande_gnn import LabelOptions
from grande_gnn.errors import GrandeError, InvalidInputError, NotEnoughMemoryError
from grande_gnn.images.adapt import AdaptOptions
from grande_gnn.labelling import adapt_checks
from grande_gnn.labelling.adapt_checks import N_STATES, check_adaptation, check_room
from grande_gnn.labelling.needs import label_memory

CPU = {"device": "cpu", "adapt": "last"}


def test_nothing_is_refused_if_nothing_is_adapted(monkeypatch):
    monkeypatch.setattr(adapt_checks, "available_memory", lambda device: 0)
    check_adaptation(LabelOptions(extractor="pixels", device="cpu"), 10**9)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"extractor": "tiny", "graph_file": "graph.npz"},
            "a given graph would no longer fit them.*got graph.npz",
        ),
        (
            {"extractor": "tiny", "lists_file": "lists.npz"},
            "a given graph would no longer fit them.*got lists.npz",
        ),
        ({"extractor": "pixels"}, "pixels has no weights, so there is nothing to adapt"),
        ({"extractor": "tiny+pixels"}, r"fine-tunes one network: name one extractor.*got tiny\+pixels"),
    ],
)
def test_what_cannot_be_adapted_is_refused(options, reason, tiny_network):
    with pytest.raises(InvalidInputError, match=reason):
        check_adaptation(LabelOptions(**options, **CPU), 10)


def test_images_that_do_not_fit_into_memory_are_refused(tiny_network, monkeypatch):
    options = LabelOptions(extractor="tiny", device="cpu", adapt=AdaptOptions("full"))
    need = 3 * 24**2 * 50_000 + label_memory(50_000, 2 * 8)
    monkeypatch.setattr(adapt_checks, "available_memory", lambda device: need)
    check_adaptation(options, 50_000)
    monkeypatch.setattr(adapt_checks, "available_memory", lambda device: need - 1)
    with pytest.raises(
        NotEnoughMemoryError, match=r"adapting tiny to 50000 images takes about .* images take 0.08 GiB"
    ):
        check_adaptation(options, 50_000)


def test_maps_that_are_kept_count(tiny_network, monkeypatch):
    free = []
    monkeypatch.setattr(adapt_checks, "available_memory", lambda device: free[-1])
    maps = 2 * 8 * 18 * 18 * 5 * 1000
    whole = 3 * 24**2 * 1000 + label_memory(1000, 2 * 8)
    options = LabelOptions(extractor="tiny", device="cpu", adapt=AdaptOptions("last", n_views=2))
    free.append(whole + maps)
    check_adaptation(options, 1000)
    free.append(whole + maps - 1)
    with pytest.raises(NotEnoughMemoryError):
        check_adaptation(options, 1000)


def test_weights_that_could_not_be_kept_are_noticed_before_the_training(tmp_path, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(adapt_checks.shutil, "disk_usage", lambda folder: usage(10 * 2**20))
    check_room(tmp_path / "new", 10 * 2**20)
    assert not list((tmp_path / "new").iterdir())
    with pytest.raises(GrandeError, match=r"needs 11 MiB of free space.*GRANDE_CACHE.*got 10 MiB"):
        check_room(tmp_path, 11 * 2**20)
    (tmp_path / "file").write_text("")
    with pytest.raises(GrandeError, match=r"nothing can be written: choose another folder with GRANDE_CACHE"):
        check_room(tmp_path / "file" / "cache", 0)


def test_the_store_of_the_options_needs_the_room(tiny_network, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(adapt_checks, "check_room", lambda *place: asked.append(place))
    check_adaptation(LabelOptions(extractor="tiny", store=tmp_path, **CPU), 10)
    ((folder, n_bytes),) = asked
    assert folder == tmp_path
    assert n_bytes % (4 * N_STATES) == 0
    assert n_bytes > 0
