import pytest

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.exports.export import EXPORTS, Export, export_names, register_export


def test_one_name_several_or_none():
    assert export_names(None) == export_names(()) == ()
    assert export_names("coco") == ("coco",)
    assert export_names(["coco", "csv", "coco"]) == ("coco", "csv")
    with pytest.raises(InvalidInputError, match="got 'xml'"):
        export_names(["coco", "xml"])


def test_a_registered_format_is_written_by_name(hostile, tmp_path):
    def write(place, labelling, ids):
        place.write_text(f"{len(labelling.files)} images, {len(ids)} classes")

    try:
        register_export(Export("count", "count.txt", "How many.", write))
        hostile.save(tmp_path / "out", export="count")
        assert (tmp_path / "out/count.txt").read_text() == "8 images, 5 classes"
    finally:
        del EXPORTS["count"]
