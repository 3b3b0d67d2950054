"""``grande cache``: shows what is kept and removes it, after asking."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from grande_gnn.cli import main
from grande_gnn.cli.cache import readable_size
from grande_gnn.images.store import FeatureStore, StoredImage


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache with two stores and a file of the user's."""
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path))
    FeatureStore(None, "pixels").add([StoredImage(b"1" * 20, b"thumb", np.ones(3, np.float32))])
    FeatureStore(None, "lite0")
    (tmp_path / "mine.txt").write_text("mine")
    return tmp_path


def test_show_lists_names_images_and_the_folder(grande, kept):
    said = grande("cache", "show").output
    assert str(kept) in said
    assert "1 images" in said
    assert said.count("features") == 2


def test_show_as_json_adds_up(grande, kept):
    found = json.loads(grande("cache", "show", "--json").output)
    assert found["folder"] == str(kept)
    assert [(e["name"], e["images"]) for e in found["entries"]] == [("lite0", 0), ("pixels", 1)]
    assert found["bytes"] == sum(e["bytes"] for e in found["entries"]) > 0


def test_clear_asks_first_and_no_keeps_everything(kept):
    result = CliRunner().invoke(main, ["cache", "clear"], input="n\n")
    assert result.exit_code == 1
    assert (kept / "pixels.sqlite").exists()


def test_clear_removes_one_entry_by_name(grande, kept):
    assert "Removed 1 entry" in grande("cache", "clear", "--name", "lite0", "--yes").output
    assert {p.name for p in kept.iterdir()} == {"pixels.sqlite", "mine.txt"}


def test_clear_removes_all_but_what_is_not_ours(grande, kept):
    assert grande("cache", "clear", "--yes").exit_code == 0
    assert [p.name for p in kept.iterdir()] == ["mine.txt"]


def test_an_unknown_name_is_refused(refused, kept):
    assert "got 'lite9'" in refused("cache", "clear", "--name", "lite9", "--yes")


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000_000_000, "2500.0 GB")]
)
def test_sizes_for_people(n_bytes, words):
    assert readable_size(n_bytes) == words
