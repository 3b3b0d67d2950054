import csv

from grande_gnn.images import find_images
from grande_gnn.labelling.exports.plain_csv import PLAIN_CSV


def test_it_is_a_table_that_labels_reads_again(hostile, tmp_path):
    path = tmp_path / "labels.csv"
    PLAIN_CSV.write(path, hostile, {"cat": 4, "dog": 0, "../etc": 1, "<b>": 2, "=2": 3})
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["file"], row["label"]) for row in rows] == list(
        zip(hostile.files, hostile.labels, strict=True)
    )
    assert [row["label_id"] for row in rows] == ["4", "0", "1", "4", "", "2", "0", "3"]
    again = find_images(hostile.root, path)
    assert dict(zip(again.files, again.labels, strict=True)) == dict(
        zip(hostile.files, hostile.labels, strict=True)
    )
