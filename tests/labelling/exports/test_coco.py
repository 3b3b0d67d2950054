import json

from grande_gnn.labelling.exports.coco import COCO


def test_images_annotations_and_categories_belong_together(hostile, tmp_path):
    ids = {"cat": 4, "dog": 0, "../etc": 1, "<b>": 2, "=2": 3, "gone": 9}
    COCO.write(tmp_path / "coco.json", hostile, ids)
    content = json.loads((tmp_path / "coco.json").read_text(encoding="utf-8"))
    names = {category["id"]: category["name"] for category in content["categories"]}
    files = {image["id"]: image["file_name"] for image in content["images"]}
    found = {files[a["image_id"]]: names[a["category_id"]] for a in content["annotations"]}
    assert found == {f: label for f, label in zip(hostile.files, hostile.labels, strict=True) if label}
    assert list(files.values()) == hostile.files
    assert len({a["id"] for a in content["annotations"]}) == 7
    assert [a["given"] for a in content["annotations"]] == [True, True, *[False] * 5]
    assert content["annotations"][0]["score"] == 0.3
    assert names[9] == "gone"


def test_sizes_are_those_of_the_images_that_can_be_read(hostile, tmp_path):
    (hostile.root / hostile.files[1]).write_text("no image")
    COCO.write(tmp_path / "coco.json", hostile, dict.fromkeys(hostile.labels, 0))
    images = json.loads((tmp_path / "coco.json").read_text(encoding="utf-8"))["images"]
    assert (images[2]["width"], images[2]["height"]) == (12, 5)
    assert "width" not in images[1]
