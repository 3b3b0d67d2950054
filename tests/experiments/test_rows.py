"""The result file: nothing twice, nothing lost, nothing mixed."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError
from grande_gnn.experiments.rows import Row, Rows, RowStore
from grande_gnn.experiments.trials import Trial

TRIAL = Trial(dataset="own", features="x", system="grande", sigma=0.1, folds=10, fold=0, repetition=0, seed=0)


def row(fold=0, **changes):
    base = Row(replace(TRIAL, fold=fold), "f" * 16, "here", 0.5, n_test=7, accuracy=100 / 3)
    return replace(base, **changes)


def test_a_row_survives_the_file(tmp_path):
    rows = [row(0), row(1, accuracy=None, n_test=None, error="ValueError: a\u2028b"), row(2)]
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append(rows)
    with RowStore(tmp_path / "rows.jsonl") as store:
        assert [*store.finished.values(), *store.failed.values()] == [rows[0], rows[2], rows[1]]
    first = json.loads((tmp_path / "rows.jsonl").read_text().split("\n")[0])
    assert {"dataset", "features", "sigma", "fold", "seed", "fingerprint", "environment", "accuracy"} <= set(
        first
    )


def test_fields_that_version_0_1_lacks_are_written_only_if_they_are_set():
    plain = json.loads(row(0).to_json())
    assert list(plain) == [
        "dataset", "features", "system", "folds", "fold", "repetition", "seed", "normalize", "model", "sigma",
        "hidden", "graph", "n_neighbors", "lr", "epochs", "inner_folds", "inner",
        "fingerprint", "environment", "seconds", "n_test", "accuracy", "error",
    ]  # fmt: skip
    trial = replace(TRIAL, degree="own", options=(("a", 1), ("b", "x")))
    more = row(0, trial=trial, unreached=3)
    assert {"degree": "own", "options": {"a": 1, "b": "x"}, "unreached": 3}.items() <= json.loads(
        more.to_json()
    ).items()
    assert Row.from_json(more.to_json()) == more
    assert Row.from_json(row(0).to_json()) == row(0)


def test_rows_in_memory_are_kept_like_those_in_a_file(tmp_path):
    error = row(1, accuracy=None, n_test=None, error="ValueError: no")
    batches = [[row(0), error], [row(0, seconds=9.0)], [row(1)], [replace(error, error="later")]]
    memory = Rows()
    with RowStore(tmp_path / "rows.jsonl") as store:
        for rows in batches:
            memory.append(rows)
            store.append(rows)
            assert (memory.finished, memory.failed) == (store.finished, store.failed)
    with pytest.raises(InvalidInputError, match="memory holds rows of own/x from other features"):
        memory.refuse_changed({("own", "x"): "0" * 16})


def test_known_rows_are_not_written_again(tmp_path):
    error = row(1, accuracy=None, n_test=None, error="ValueError: no")
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([row(0), error])
        size = store.path.stat().st_size
        store.append([row(0, seconds=9.0), replace(error, seconds=9.0)])
        assert store.path.stat().st_size == size


def test_a_failed_trial_that_succeeds_later_is_finished(tmp_path):
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([row(0, accuracy=None, error="MemoryError: full")])
        assert replace(TRIAL, fold=0) in store.failed
        store.append([row(0)])
    with RowStore(tmp_path / "rows.jsonl") as store:
        assert not store.failed
        assert list(store.finished.values()) == [row(0)]


def test_a_row_that_measured_nothing_is_neither_written_nor_believed(tmp_path):
    with pytest.raises(ValueError):
        row(0, accuracy=float("nan")).to_json()
    path = tmp_path / "rows.jsonl"
    path.write_text(row(0).to_json().replace(str(100 / 3), "NaN") + "\n" + row(1).to_json() + "\n")
    with RowStore(path) as store:
        assert list(store.finished) == [replace(TRIAL, fold=1)]
        assert not store.failed
        store.append([row(0)])
    with RowStore(path) as store:
        assert set(store.finished.values()) == {row(0), row(1)}


def test_every_cut_of_the_file_is_recovered_from(tmp_path):
    """A kill may leave any prefix: the whole lines count, the torn one is dropped."""
    path = tmp_path / "rows.jsonl"
    with RowStore(path) as store:
        store.append([row(0), row(1)])
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in sorted({*range(0, len(whole), 23), *ends, *(end - 1 for end in ends)}):
        path.write_bytes(whole[:cut])
        with RowStore(path) as store:
            assert len(store.finished) == sum(end <= cut for end in ends)
            store.append([row(0), row(1)])
        assert path.read_bytes() == whole


@pytest.mark.parametrize("line", ["{", "[]", '{"dataset": "own"}', "null"])
def test_a_foreign_line_is_one_sentence(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(row(0).to_json() + "\n" + line + "\n")
    with (
        pytest.raises(FileFormatError, match=r"one row of results per line.*got in line 2: "),
        RowStore(path),
    ):
        pass


def changed(**fields):
    return json.dumps(json.loads(row(1).to_json()) | fields)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"a":' * 3000,
        "[" * 5000 + "]" * 5000,
        *(
            changed(accuracy=value)
            for value in (None, 1e308, -5, 100.5, True, "50", float("inf"), 10**400, [50], {})
        ),
        changed(accuracy=50.0, error="and an error"),
        changed(seconds=float("nan")),
        changed(seconds=-1),
        changed(fold=1.5),
        changed(fold=True),
        changed(seed=-1),
        changed(sigma=0),
        changed(dataset=["own"]),
        changed(options=[1]),
        changed(options={"a": [1]}),
        changed(other=1),
        row(1).to_json()[:-1] + ', "accuracy": 99.0}',
    ],
)
def test_a_line_that_no_run_writes_is_one_sentence(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(row(0).to_json() + "\n" + line + "\n")
    with (
        pytest.raises(FileFormatError, match=r"one row of results per line.*got in line 2: ") as caught,
        RowStore(path),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(row(0).to_json().encode().replace(b"own", b"o\xff\xfe") + b"\n")
    with pytest.raises(FileFormatError, match="line 1"), RowStore(path):
        pass


def test_a_name_that_is_not_unicode_survives_the_file(tmp_path):
    one = row(0, accuracy=None, n_test=None, error="OSError: photos/\udcff.jpg")
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([one])
    with RowStore(tmp_path / "rows.jsonl") as store:
        assert list(store.failed.values()) == [one]


def test_rows_of_other_features_are_never_mixed(tmp_path):
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([row(0)])
        store.refuse_changed({("own", "x"): "f" * 16, ("own", "y"): "0" * 16})
        with pytest.raises(
            InvalidInputError, match=r"own/x from other features.*got features with fingerprint 0+"
        ):
            store.refuse_changed({("own", "x"): "0" * 16})


def test_failed_rows_of_other_features_are_not_mixed_either(tmp_path):
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([row(0, accuracy=None, error="MemoryError: full")])
        with pytest.raises(InvalidInputError, match="own/x from other features"):
            store.refuse_changed({("own", "x"): "0" * 16})


def test_rows_are_on_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([row(0)])
        assert synced == [store.path.stat().st_size] != [0]


def test_a_second_writer_is_refused_until_the_first_has_gone(tmp_path):
    path = tmp_path / "rows.jsonl"
    code = (
        "from pathlib import Path; from grande_gnn.experiments.rows import RowStore\n"
        f"RowStore(Path({str(path)!r})).__enter__()"
    )
    with RowStore(path):
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another run is writing" in other.stderr
    with RowStore(path):
        pass


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    with RowStore(tmp_path / "rows.jsonl") as store:
        store.append([row(0)])
        before = store.path.read_bytes()
        write = os.write

        def full(descriptor, data):
            write(descriptor, data[:20])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(GrandeError, match="could not be written"):
            store.append([row(1)])
        monkeypatch.undo()
        assert store.path.read_bytes() == before
        assert len(store.finished) == 1
