"""A labelling without labels: saved, loaded, and given its features again."""

from dataclasses import replace

import pytest

from grande_gnn.errors import InvalidInputError, OutputExistsError
from grande_gnn.labelling import Labelling, LabelOptions
from grande_gnn.labelling.start import start_labelling, with_features

FAST = LabelOptions(extractor="pixels", workers=0, device="cpu")


def test_it_is_saved_and_gets_its_features_again(photos, tmp_path):
    made = start_labelling(photos, tmp_path / "out", FAST)
    assert made.labels == made.given
    assert sum(bool(label) for label in made.given) == 12  # those of the class folders
    loaded = Labelling.load(tmp_path / "out")
    assert (loaded.classifier, loaded.neighbors) == (None, None)
    again = with_features(loaded, FAST)
    assert again.files == made.files
    assert again.given == made.given
    assert (again.neighbors.features == made.neighbors.features).all()
    with pytest.raises(OutputExistsError):
        start_labelling(photos, tmp_path / "out", FAST)


def test_images_that_are_gone_are_missed(photos, tmp_path):
    made = start_labelling(photos, None, FAST)
    (photos / made.files[-1]).unlink()
    assert with_features(made, FAST).files == made.files[:-1]
    (photos / made.files[0]).rename(photos / "zz_new.png")
    assert with_features(made, FAST).files == [*made.files[1:-1], "zz_new.png"]
    with pytest.raises(InvalidInputError, match="neither these images nor their features"):
        with_features(replace(made, root=None), FAST)
    other = replace(made, files=[f"other/{file}" for file in made.files])
    with pytest.raises(InvalidInputError, match="images of the labelling are gone"):
        with_features(other, FAST)


def test_features_of_another_network_are_refused(photos):
    made = start_labelling(photos, None, FAST)
    other = replace(made, settings=made.settings | {"weights": "others"})
    with pytest.raises(InvalidInputError, match="other weights of pixels: pass the same --weights"):
        with_features(other, FAST)
