"""New images join a labelling with its settings, and nothing that was there is lost."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling import Labelling, LabelOptions, label_images
from grande_gnn.labelling.joining import join_new_images, new_images

FAST = LabelOptions(
    extractor="pixels",
    workers=0,
    device="cpu",
    model="sgc",
    graph="knn",
    n_neighbors=8,
    sigma=0.2,
    normalize="none",
)


@pytest.fixture
def labelled(photos, tmp_path):
    return label_images(photos, tmp_path / "out", FAST)


def add_image(photos, place):
    rng = np.random.default_rng(7)
    pixels = rng.integers(0, 90, size=(24, 24, 3))
    pixels[..., 0] += 150
    (photos / place).parent.mkdir(exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(photos / place)


def test_nothing_is_new_in_a_folder_that_did_not_change(labelled, photos):
    assert new_images(labelled) is None
    (photos / labelled.files[0]).unlink()
    assert new_images(labelled) is None


def test_new_images_are_labelled_as_if_they_had_been_there(labelled, photos, tmp_path):
    add_image(photos, "zz_new.png")
    add_image(photos, "red/zz_given.png")
    fresh = new_images(Labelling.load(tmp_path / "out"))
    assert fresh.files == ["red/zz_given.png", "zz_new.png"]
    both = join_new_images(Labelling.load(tmp_path / "out"), fresh, FAST)
    assert both.files == [*labelled.files, *fresh.files]
    assert both.given == [*labelled.given, "red", ""]
    assert both.labels[-1] == "red"
    assert both.settings["model"] == labelled.settings["model"]
    whole = label_images(photos, None, FAST)
    assert dict(zip(both.files, both.labels, strict=True)) == dict(
        zip(whole.files, whole.labels, strict=True)
    )
    both.save(tmp_path / "out", overwrite=True)
    assert Labelling.load(tmp_path / "out").labels == both.labels


def test_images_that_are_gone_stay(labelled, photos, tmp_path):
    add_image(photos, "zz_new.png")
    (photos / labelled.files[3]).unlink()
    both = join_new_images(labelled, new_images(labelled), FAST)
    assert len(both.files) == 37


def test_other_weights_and_a_labelling_without_a_model_are_refused(labelled, photos):
    add_image(photos, "zz_new.png")
    fresh = new_images(labelled)
    with pytest.raises(InvalidInputError, match="other weights of pixels"):
        join_new_images(replace(labelled, settings=labelled.settings | {"weights": "others"}), fresh, FAST)
    with pytest.raises(InvalidInputError, match="without a model"):
        join_new_images(replace(labelled, classifier=None), fresh, FAST)
    shutil.rmtree(photos)
    assert new_images(labelled) is None


def test_every_image_keeps_its_picture(labelled, photos, tmp_path):
    add_image(photos, "zz_new.png")
    loaded = Labelling.load(tmp_path / "out")
    both = join_new_images(loaded, new_images(loaded), FAST)
    pictures = list(both.thumbnails(range(len(both.files))))
    assert None not in pictures
    assert [p.tobytes() for p in pictures[:-1]] == [p.tobytes() for p in loaded.thumbnails(range(36))]


def test_sets_of_labels_are_made_for_the_new_images_too(photos):
    before = label_images(photos, None, replace(FAST, coverage=0.8))
    add_image(photos, "zz_new.png")
    both = join_new_images(before, new_images(before), FAST)
    assert len(both.label_sets) == len(both.files) == 37
    assert both.sets_made.coverage == 0.8


def test_the_settings_are_those_of_the_new_model(photos):
    before = label_images(photos, None, replace(FAST, graph="auto"))
    before = replace(before, settings=before.settings | {"neighbor_recall": "0.98"})
    add_image(photos, "red/zz_given.png")
    both = join_new_images(before, new_images(before), FAST)
    assert both.settings["members"] == both.classifier.committee_.described()
    assert both.settings["members"] != before.settings["members"]
    assert "neighbor_recall" not in both.settings  # this search was exact


@pytest.mark.parametrize("setting", ["graph_file", "lists_file"])
def test_a_graph_from_a_file_does_not_have_the_new_images(labelled, photos, setting):
    add_image(photos, "zz_new.png")
    known = replace(labelled, settings=labelled.settings | {setting: "mine.npz"})
    with pytest.raises(
        InvalidInputError, match=r"label again with a file that has the new images; got mine\.npz$"
    ):
        join_new_images(known, new_images(known), FAST)
