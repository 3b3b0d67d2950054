"""Read as the documentation of Hugging Face's ``imagefolder`` describes the format."""

import csv

from grande_gnn.labelling.exports.hugging_face import HUGGING_FACE


def test_each_copy_has_its_row(hostile, tmp_path):
    HUGGING_FACE.write(tmp_path / "set", hostile, {"cat": 5, "dog": 0, "../etc": 1, "<b>": 2, "=2": 3})
    with (tmp_path / "set/metadata.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.DictReader(file))
    images = {path.name for path in (tmp_path / "set").iterdir()} - {"metadata.csv"}
    assert [row["file_name"] for row in rows] == sorted(images)
    assert [(row["file"], row["label"]) for row in rows] == list(
        zip(hostile.files, hostile.labels, strict=True)
    )
    for row in rows:
        assert (tmp_path / "set" / row["file_name"]).read_bytes() == (hostile.root / row["file"]).read_bytes()
    assert [row["label_id"] for row in rows] == ["5", "0", "1", "5", "", "2", "0", "3"]
    assert [row["given"] for row in rows] == ["true", "true", *["false"] * 6]
