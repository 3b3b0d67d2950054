"""Settings of a labelling come back as they were written, and others get one sentence before anything uses them."""

import json

import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.labelling.settings_file import read_settings

SHARE = {"value": 0.8, "low": 0.7, "high": 0.9, "n": 30}
BIN = {"low": 0.0, "high": 0.1, "count": 3, "confidence": 0.05, "accuracy": 0.0}
SETS = {"coverage": 0.9, "method": "split", "n": 20, "warning": ""}
SETTINGS = {
    "version": "0.2.0",
    "extractor": "pixels",
    "weights": "pixels-1",
    "seed": 3,
    "temperature": 1.5,
    "offset": None,
    "slope": 0.7,
    "images": "../photos\udcff",
    "estimate": {
        "accuracy": SHARE,
        "class_accuracy": {"a": SHARE},
        "bins": [BIN],
        "note": "n",
        "doubts": ["d"],
    },
    "more": [1, {"a": None}],
}


def read(folder, content):
    (folder / "settings.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return read_settings(folder)


def test_settings_come_back(tmp_path):
    assert read(tmp_path, SETTINGS) == SETTINGS
    assert read(tmp_path, {"temperature": 1, "offset": 0.5}) == {"temperature": 1, "offset": 0.5}


HARM = (
    [{"temperature": value} for value in (None, 0, -1, 1e-300, 1e300, True, "1", [1.0], {})]
    + [
        {"estimate": {"sets_made": SETS | change}}
        for change in ({"coverage": 2}, {"method": "guess"}, {"n": -1})
    ]
    + [{"slope": value} for value in (None, -1, 101, "1")]
    + [{"offset": value} for value in (1e308, -101, "0", False, [])]
    + [
        {"images": "a\0b"},
        {"images": 3},
        {"extractor": ["pixels"]},
        {"weights": {}},
        {"seed": -1},
        {"seed": "0"},
        {"seed": 1.5},
        {"estimate": []},
        {"estimate": {"accuracy": 3}},
        {"estimate": {"accuracy": SHARE | {"value": 1.5}}},
        {"estimate": {"accuracy": SHARE | {"low": None}}},
        {"estimate": {"accuracy": SHARE | {"n": -1}}},
        {"estimate": {"class_accuracy": [SHARE]}},
        {"estimate": {"class_accuracy": {"a": {"value": 1}}}},
        {"estimate": {"bins": [BIN | {"accuracy": 7}]}},
        {"estimate": {"bins": {}}},
        {"estimate": {"note": 3}},
    ]
)


@pytest.mark.parametrize("harm", HARM)
def test_settings_that_no_run_writes(tmp_path, harm):
    with pytest.raises(FileFormatError, match=r"label again; got settings\.json\.") as caught:
        read(tmp_path, SETTINGS | harm)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "null", "[]", "{}"]
)
def test_texts_that_are_no_settings(tmp_path, text):
    with pytest.raises(FileFormatError) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    with pytest.raises(FileFormatError, match=r"with model/ and settings\.json; got"):
        read_settings(tmp_path / "absent")
