"""Every format names every image once, whatever it is called, and survives the way through a labelling's folder."""

import json
from dataclasses import replace

import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.exports import EXPORTS
from grande_gnn.labelling.result import Labelling


@pytest.mark.parametrize("name", list(EXPORTS))
def test_it_is_written_among_the_results(hostile, tmp_path, name):
    hostile.save(tmp_path / "out", export=name)
    assert (tmp_path / "out" / EXPORTS[name].entry).exists()
    assert Labelling.load(tmp_path / "out").labels == hostile.labels


def test_several_at_once_with_the_same_numbers(hostile, tmp_path):
    hostile.save(tmp_path / "out", export=list(EXPORTS))
    ids = {c["name"]: c["id"] for c in json.loads((tmp_path / "out/classes.json").read_text())["classes"]}
    assert ids == {"../etc": 0, "<b>": 1, "=2": 2, "cat": 3, "dog": 4}
    coco = json.loads((tmp_path / "out/coco.json").read_text())
    assert {c["name"]: c["id"] for c in coco["categories"]} == ids
    fiftyone = json.loads((tmp_path / "out/fiftyone/labels.json").read_text())
    assert {name: number for number, name in enumerate(fiftyone["classes"])} == ids


@pytest.mark.parametrize("name", ["label-studio", "fiftyone", "hugging-face", "image-folder"])
def test_what_needs_the_images_says_so_and_leaves_nothing(hostile, tmp_path, name):
    with pytest.raises(InvalidInputError, match="needs the images"):
        replace(hostile, root=None).save(tmp_path / "out", export=name)
    assert not (tmp_path / "out").exists()
