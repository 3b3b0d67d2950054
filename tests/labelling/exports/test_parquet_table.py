"""The Parquet table has the rows of predictions.csv, with types and all digits."""

import os
import sys
from dataclasses import replace

import pytest

from grande_gnn.errors import MissingDependencyError
from grande_gnn.labelling.exports.parquet_table import PARQUET_TABLE

IDS = {"cat": 4, "dog": 0, "../etc": 1, "<b>": 2, "=2": 3}


def test_every_column_is_there_with_its_type(hostile, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    path = tmp_path / "predictions.parquet"
    PARQUET_TABLE.write(path, hostile, IDS)
    rows = pq.read_table(path).to_pydict()
    assert rows["label"] == hostile.labels
    assert rows["given_label"] == hostile.given
    assert rows["confidence"] == hostile.confidence.tolist()
    assert rows["margin"] == hostile.margin.tolist()
    assert rows["flags"] == hostile.flags()
    assert rows["label_id"] == [IDS.get(label) for label in hostile.labels]


def test_file_names_that_are_no_text_stay_readable(hostile, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    path = tmp_path / "predictions.parquet"
    PARQUET_TABLE.write(path, hostile, IDS)
    files = pq.read_table(path).to_pydict()["file"]
    assert files == [name.encode("utf-8", "backslashreplace").decode() for name in hostile.files]
    assert len(set(files)) == len(hostile.files)


def test_class_names_that_are_no_text_stay_readable(hostile, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    odd = os.fsdecode(b"r\xe9d")
    labels = [odd if label == "cat" else label for label in hostile.labels]
    sets = [[label, odd] for label in labels]
    named = replace(hostile, labels=labels, runner_up=[odd] * len(labels), given=labels, label_sets=sets)
    PARQUET_TABLE.write(tmp_path / "p.parquet", named, {odd: 4})
    rows = pq.read_table(tmp_path / "p.parquet").to_pydict()
    assert rows["label"] == ["r\\udce9d" if label == odd else label for label in labels]
    assert rows["given_label"] == rows["label"]
    assert {name for one in rows["label_set"] for name in one} == set(rows["label"]) | {"r\\udce9d"}


def test_a_missing_pyarrow_is_named_with_what_to_do(hostile, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"grande-gnn\[parquet\]"):
        PARQUET_TABLE.write(tmp_path / "predictions.parquet", hostile, IDS)
