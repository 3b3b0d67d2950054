"""The feature store: by content, whole transactions, where version 0.1 had it."""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import os
import pickle
import resource
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from grande_gnn.errors import FileFormatError, GrandeError
from grande_gnn.images import FeatureStore, default_store_folder
from grande_gnn.images.store import FileState, StoredImage, digest_file


def image(number: int) -> StoredImage:
    return StoredImage(number.to_bytes(20, "big"), b"thumb%d" % number, np.full(7, number, dtype=np.float32))


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    return FeatureStore(tmp_path, "test")


def test_round_trip_in_any_order_across_chunks(store: FeatureStore) -> None:
    store.add([image(number) for number in range(1200)])
    wanted = np.random.default_rng(0).permutation(1200)[:1100].tolist()
    digests = [image(number).digest for number in wanted]
    features = np.concatenate(list(store.features(digests)))
    assert features.dtype == np.float32
    assert (features == np.array(wanted, dtype=np.float32)[:, None]).all()
    assert list(store.thumbnails(digests)) == [b"thumb%d" % number for number in wanted]
    assert image(5).digest in store.digests()
    assert image(5000).digest not in store.digests()


def test_repeated_digests_are_repeated(store: FeatureStore) -> None:
    store.add([image(1), image(1), image(2)])
    (block,) = store.features([image(2).digest, image(1).digest, image(2).digest])
    assert block[:, 0].tolist() == [2, 1, 2]


def test_what_is_there_is_not_replaced(store: FeatureStore) -> None:
    store.add([image(1)])
    store.add([StoredImage(image(1).digest, b"other", np.zeros(7, dtype=np.float32))])
    assert list(store.thumbnails([image(1).digest])) == [b"thumb1"]


def test_extractors_have_their_own_features(tmp_path: Path) -> None:
    FeatureStore(tmp_path, "one").add([image(1)])
    assert image(1).digest in FeatureStore(tmp_path, "one").digests()
    assert image(1).digest not in FeatureStore(tmp_path, "two").digests()


def test_unchanged_files_are_recognized_until_they_change(store: FeatureStore, tmp_path: Path) -> None:
    path = tmp_path / "x.jpg"
    path.write_bytes(b"abc")
    fresh = FileState.of(path)
    assert not fresh.is_settled()
    store.add([image(1)], [(fresh, image(1).digest)])
    assert store.unchanged([fresh]) == [None]  # written a moment ago: its times may not tell a change

    old = fresh._replace(modified=time.time_ns() - 10**10, changed=time.time_ns() - 10**10)
    gone = old._replace(path=b"/elsewhere")
    store.add([], [(old, image(1).digest), (gone, image(2).digest)])
    assert store.unchanged([old]) == [image(1).digest]
    for change in ({"size": 4}, {"modified": 1}, {"changed": 1}, {"path": b"/other"}):
        assert store.unchanged([old._replace(**change)]) == [None]
    assert store.unchanged([gone]) == [None]  # the path is known, but there are no features for its content


def test_digest_is_that_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    (tmp_path / "b").write_bytes(b"x" * 3_000_000)
    (tmp_path / "c").write_bytes(b"x" * 2_999_999 + b"y")
    a, b, c = (digest_file(tmp_path / name) for name in "abc")
    assert a == b != c


def test_a_killed_writer_leaves_the_finished_transactions(store: FeatureStore, tmp_path: Path) -> None:
    """Killed inside a transaction that has reached the disk in part."""
    store.add([image(1)])
    script = f"""
import os, signal, sqlite3
connection = sqlite3.connect({str(store.path)!r})
connection.execute("PRAGMA cache_size = 1")
for number in range(500):
    connection.execute("INSERT INTO images VALUES (?, ?, ?, ?, ?)", (os.urandom(20), b"t", bytes(5000), b"", b""))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    assert store.path.stat().st_size > 10 * 5000  # the cut transaction is in the file
    assert store.digests() == {image(1).digest}
    store.add([image(2)])
    (block,) = store.features([image(1).digest, image(2).digest])
    assert block[:, 0].tolist() == [1, 2]
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("SELECT count(*) FROM images").fetchone() == (2,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _write_sixty(folder: Path, first: int) -> None:
    for number in range(first, first + 60):
        FeatureStore(folder, "test").add([image(number)])


def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.starmap(_write_sixty, [(tmp_path, 0), (tmp_path, 40)], chunksize=1)
    store = FeatureStore(tmp_path, "test")
    assert store.digests() >= {image(number).digest for number in range(100)}


def test_it_can_be_sent_to_other_processes(store: FeatureStore) -> None:
    store.add([image(1)])
    assert image(1).digest in pickle.loads(pickle.dumps(store)).digests()


def test_a_damaged_file_is_set_aside_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in (1, 2):
        (tmp_path / "test.sqlite").write_bytes(b"this is no database" * 100)
        store = FeatureStore(tmp_path, "test")
        assert f"was set aside as test.sqlite.corrupt-{number}" in caplog.messages[-1]
        assert (tmp_path / f"test.sqlite.corrupt-{number}").read_bytes() == b"this is no database" * 100
        assert store.is_empty()
    store.add([image(1)])
    assert store.digests() == {image(1).digest}


# -- rows that are not what was written -------------------------------------------------------------------


def change(store: FeatureStore, statement: str, *values: object) -> None:
    connection = sqlite3.connect(store.path)
    with connection:
        connection.execute(statement, values)
    connection.close()


OTHER = np.full(7, 9, dtype="<f4").tobytes()

HARM = {
    "other features": "UPDATE images SET feature = x'" + OTHER.hex() + "' WHERE digest = ?",
    "NaN": "UPDATE images SET feature = x'" + "0000c07f" * 7 + "' WHERE digest = ?",
    "fewer features": "UPDATE images SET feature = substr(feature, 1, 24) WHERE digest = ?",
    "an odd length": "UPDATE images SET feature = substr(feature, 1, 27) WHERE digest = ?",
    "no features": "UPDATE images SET feature = x'' WHERE digest = ?",
    "text": "UPDATE images SET feature = 'features' WHERE digest = ?",
    "a number": "UPDATE images SET feature = 3 WHERE digest = ?",
    "no checksum": "UPDATE images SET feature_check = NULL WHERE digest = ?",
    "another checksum": "UPDATE images SET feature_check = x'00' WHERE digest = ?",
    "a huge row": "UPDATE images SET feature = zeroblob(40000000) WHERE digest = ?",
    "the features of another image": "UPDATE images SET feature = (SELECT feature FROM images LIMIT 1), feature_check = "
    "(SELECT feature_check FROM images LIMIT 1) WHERE digest = ?",
    "gone": "DELETE FROM images WHERE digest = ?",
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_row_is_found_and_removed(store: FeatureStore, harm: str) -> None:
    store.add([image(number) for number in range(5)])
    digests = [image(number).digest for number in range(5)]
    assert FeatureStore(store.path.parent, store.identity).remove_damaged(digests) == set()
    change(store, HARM[harm], digests[3])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileFormatError, match="missing or damaged"):
        list(store.features(digests))
    assert store.remove_damaged(digests) == {digests[3]}
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    )  # kilobytes: the huge row is not read
    assert store.digests() == set(digests) - {digests[3]}
    store.add([image(3)])
    assert np.concatenate(list(store.features(digests)))[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_every_flipped_bit_of_a_row_is_found(store: FeatureStore) -> None:
    one = image(1)
    store.add([one])
    feature = one.feature.astype("<f4").tobytes()
    for position in range(8 * len(feature)):
        flipped = bytearray(feature)
        flipped[position // 8] ^= 1 << position % 8
        change(store, "UPDATE images SET feature = ? WHERE digest = ?", bytes(flipped), one.digest)
        with pytest.raises(FileFormatError, match="missing or damaged"):
            list(store.features([one.digest]))


def test_verified_features_are_not_read_again(store: FeatureStore) -> None:
    store.add([image(number) for number in range(5)])
    digests = [image(number).digest for number in (3, 1, 3)]
    assert store.remove_damaged(digests) == set()
    assert pickle.loads(pickle.dumps(store))._verified == {}  # other processes get the path only
    change(store, "DELETE FROM images WHERE digest = ?", digests[0])
    (block,) = store.features(digests)
    assert block[:, 0].tolist() == [3, 1, 3]
    with pytest.raises(FileFormatError, match="missing or damaged"):  # once; then they are gone from memory
        list(store.features(digests))


def test_verified_features_are_kept_up_to_a_limit(
    store: FeatureStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grande_gnn.images.store._CHUNK", 2)
    monkeypatch.setattr("grande_gnn.images.store._KEPT_BYTES", 100)  # three rows of seven numbers
    store.add([image(number) for number in range(9)])
    digests = [image(number).digest for number in range(9)]
    assert store.remove_damaged(digests) == set()
    assert sum(map(len, store._verified.values())) <= 100
    assert len(store._verified) == 3
    assert np.concatenate(list(store.features(digests)))[:, 0].tolist() == list(range(9))
    assert not store._verified


def test_checksums_of_the_earlier_kind_still_fit(store: FeatureStore) -> None:
    store.add([image(1), image(2)])
    for one in (image(1), image(2)):
        feature = one.feature.astype("<f4").tobytes()
        checks = [
            hashlib.blake2b(one.digest + blob, digest_size=16).digest() for blob in (feature, one.thumbnail)
        ]
        change(
            store,
            "UPDATE images SET feature_check = ?, thumbnail_check = ? WHERE digest = ?",
            *checks,
            one.digest,
        )
    change(
        store,
        "UPDATE images SET feature = ? WHERE digest = ?",
        np.zeros(7, "<f4").tobytes(),
        image(2).digest,
    )
    digests = [image(1).digest, image(2).digest]
    assert store.remove_damaged(digests) == {image(2).digest}
    assert list(store.thumbnails(digests)) == [b"thumb1", b""]


@pytest.mark.parametrize("value", ["x'00'", "'text'", "7", "zeroblob(40000000)"])
def test_a_damaged_thumbnail_counts_as_none_and_is_made_again(store: FeatureStore, value: str) -> None:
    store.add([image(1), image(2)])
    change(store, f"UPDATE images SET thumbnail = {value} WHERE digest = ?", image(1).digest)
    digests = [image(1).digest, image(2).digest]
    assert list(store.thumbnails(digests)) == [b"", b"thumb2"]
    store.add_thumbnails({image(1).digest: b"again"})
    assert list(store.thumbnails(digests)) == [b"again", b"thumb2"]


def test_a_store_of_version_0_1_gets_checksums(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "test.sqlite")
    connection.executescript("""
CREATE TABLE IF NOT EXISTS images (digest BLOB PRIMARY KEY, thumbnail BLOB NOT NULL, feature BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, changed INTEGER, digest BLOB NOT NULL
) WITHOUT ROWID;
""")
    with connection:
        for number in range(3):
            one = image(number)
            connection.execute("INSERT INTO images VALUES (?, ?, ?)", (*one[:2], one.feature.tobytes()))
        connection.execute("UPDATE images SET feature = 'no features' WHERE digest = ?", (image(2).digest,))
    connection.close()
    for _ in range(2):
        store = FeatureStore(tmp_path, "test")
        assert store.digests() == {image(0).digest, image(1).digest}
        (block,) = store.features([image(1).digest, image(0).digest])
        assert block[:, 0].tolist() == [1, 0]
        assert list(store.thumbnails([image(0).digest])) == [b"thumb0"]
    assert not list(tmp_path.glob("*corrupt*"))


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GrandeError, match="--store or GRANDE_CACHE"):
        FeatureStore(tmp_path / "file" / "inside", "test")
    (tmp_path / "test.sqlite").mkdir()
    with pytest.raises(GrandeError, match="--store or GRANDE_CACHE"):
        FeatureStore(tmp_path, "test")


def test_the_folder_of_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path))
    assert default_store_folder() == tmp_path
    assert FeatureStore(None, "x").path == tmp_path / "x.sqlite"


@pytest.mark.parametrize("system", ["unix", "macos", "windows"])
def test_the_folder_is_that_of_the_first_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str
) -> None:
    for variable in ("GRANDE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    module = importlib.import_module(f"platformdirs.{system}")
    system_class = {"unix": "Unix", "macos": "MacOS", "windows": "Windows"}[system]
    monkeypatch.setattr(platformdirs, "PlatformDirs", getattr(module, system_class))
    if system == "windows":
        monkeypatch.setattr(module, "get_win_folder", lambda name: str(tmp_path / "AppData" / "Local"))
    parent = {"unix": ".cache", "macos": "Library/Caches", "windows": "AppData/Local"}[system]
    assert default_store_folder() == tmp_path / parent / "grande-gnn"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG variables are those of Linux")
def test_the_cache_folder_of_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GRANDE_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert default_store_folder() == tmp_path / ".cache" / "grande-gnn"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_store_folder() == tmp_path / "xdg" / "grande-gnn"


def test_names_that_are_not_unicode(store: FeatureStore, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.jpg"))
    path.touch()
    os.utime(path, (1, 1))
    state = FileState.of(path)._replace(changed=1)
    store.add([image(1)], [(state, image(1).digest)])
    assert store.unchanged([state]) == [image(1).digest]
