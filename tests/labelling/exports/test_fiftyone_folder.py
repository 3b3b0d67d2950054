"""Read as FiftyOne's documentation describes the format."""

import json

from grande_gnn.labelling.exports.fiftyone_folder import FIFTYONE


def test_each_copy_has_its_label(hostile, tmp_path):
    FIFTYONE.write(tmp_path / "set", hostile, {"cat": 5, "dog": 0, "../etc": 1, "<b>": 2, "=2": 3})
    content = json.loads((tmp_path / "set/labels.json").read_text(encoding="utf-8"))
    copies = {path.stem: path for path in (tmp_path / "set/data").iterdir()}
    assert set(copies) == set(content["labels"])
    for row, (stem, target) in enumerate(sorted(content["labels"].items())):
        assert copies[stem].read_bytes() == (hostile.root / hostile.files[row]).read_bytes()
        if not hostile.labels[row]:
            assert target is None
            continue
        assert content["classes"][target["label"]] == hostile.labels[row]
        assert target["attributes"] == {"file": hostile.files[row], "given": row < 2}
        assert abs(target["confidence"] - hostile.confidence[row]) < 1e-4
    assert content["classes"][4] == ""  # a number that no class has
