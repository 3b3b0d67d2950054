"""The SQLite file of the store: damage is set aside, circumstances are reported, nothing in a file runs."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError, GrandeError
from grande_gnn.images.store import FeatureStore, StoredImage
from grande_gnn.images.store_file import DamagedStoreError, StoreFile


@pytest.fixture
def file(tmp_path: Path) -> StoreFile:
    made = StoreFile(tmp_path / "s.sqlite")
    made.prepare()
    return made


def test_a_new_file_is_prepared_once(tmp_path: Path) -> None:
    file = StoreFile(tmp_path / "s.sqlite")
    assert file.prepare() is False
    before = file.path.read_bytes()
    assert file.prepare() is False
    assert file.path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW other AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON images BEGIN DELETE FROM images; END",
        "CREATE TABLE other (a)",
        "DROP TABLE files",
        "ALTER TABLE images ADD COLUMN more",
        "DROP TABLE images; CREATE VIEW images AS SELECT 1 AS digest",
    ],
)
def test_a_file_with_other_tables_is_set_aside(file: StoreFile, statement: str) -> None:
    connection = sqlite3.connect(file.path)
    connection.executescript(statement)
    connection.close()
    with pytest.raises(
        DamagedStoreError, match=r"damaged and was set aside as s\.sqlite\.corrupt-1.*tables that are not"
    ):
        file.prepare()
    assert os.listdir(file.path.parent) == ["s.sqlite.corrupt-1"]
    file.prepare()


def test_every_kind_of_damage_is_set_aside_with_its_journal(file: StoreFile) -> None:
    Path(f"{file.path}-journal").write_bytes(b"a journal of the damaged file")
    file.path.write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    with pytest.raises(FileFormatError, match="was set aside as"):
        file.prepare()
    assert not {"s.sqlite", "s.sqlite-journal"} & set(os.listdir(file.path.parent))


def circumstance(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    "code",
    [
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR_LOCK,
        sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOLFS,
    ],
)  # fmt: skip
def test_circumstances_are_reported_and_change_nothing(file: StoreFile, code: int) -> None:
    with (
        pytest.raises(
            GrandeError, match=r"cannot be used.*--store or GRANDE_CACHE; got as SQLite says it"
        ) as caught,
        file.open(),
    ):
        raise circumstance(code)
    assert not isinstance(caught.value, DamagedStoreError)
    assert os.listdir(file.path.parent) == ["s.sqlite"]


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_ERROR]
)
def test_damage_in_the_middle_is_set_aside(file: StoreFile, code: int) -> None:
    with pytest.raises(DamagedStoreError, match=r"corrupt-1"), file.open():
        raise circumstance(code)
    assert os.listdir(file.path.parent) == ["s.sqlite.corrupt-1"]


def test_a_file_that_another_process_has_replaced_is_left_alone(file: StoreFile) -> None:
    def work() -> None:
        with file.open():
            os.replace(file.path, f"{file.path}.corrupt-1")
            StoreFile(file.path).prepare()
            raise circumstance(sqlite3.SQLITE_CORRUPT)

    with pytest.raises(DamagedStoreError, match="by another process"):
        work()
    assert sorted(os.listdir(file.path.parent)) == ["s.sqlite", "s.sqlite.corrupt-1"]


FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from grande_gnn.errors import GrandeError
from grande_gnn.images.store import FeatureStore, StoredImage
store = FeatureStore(Path(sys.argv[1]), "s")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.add([StoredImage(bytes([n]) * 20, b"", np.ones(5000, dtype=np.float32)) for n in range(30)])
except GrandeError as error:
    print(error)
"""


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    FeatureStore(tmp_path, "s").add([StoredImage(b"k" * 20, b"", np.ones(3, dtype=np.float32))])
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True)
    assert "cannot be used (disk full" in done.stdout
    assert done.stderr == ""
    assert FeatureStore(tmp_path, "s").digests() == {b"k" * 20}


def _start(folder: Path, number: int) -> int:
    store = FeatureStore(folder, "s")
    store.add([StoredImage(bytes([number]) * 20, b"", np.ones(3, dtype=np.float32))])
    return len(store.digests())


@pytest.mark.parametrize("content", [None, b"no database" * 500])
def test_several_processes_start_one_store(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "s.sqlite").write_bytes(content)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert all(pool.starmap(_start, [(tmp_path, number) for number in range(8)], chunksize=1))
    assert FeatureStore(tmp_path, "s").digests()
