"""What an attacker found in version 0.1: one function for each, which fails wherever the finding is still there.

    python tests/attack/findings.py --tree old_tree           how another version fails; its folder has src/grande_gnn
    python tests/attack/findings.py --tree old_tree --write   the same, and write findings.md

Only what version 0.1 has too is used here: commands, and import paths that still work. So each function can be seen to
fail on the version in which the attacker found it. ``make test`` runs them on this version.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import sqlite3
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from PIL import Image

FINDINGS: dict[str, Callable[[Path], None]] = {}
"""Every finding by name; the first line of its documentation is what the attacker saw."""

FAST = ("--extractor", "pixels", "--workers", "0", "--device", "cpu")
LABEL = (*FAST, "--model", "sgc", "--paper")
TABLE = ("--folds", "3", "--repeats", "1", "--epochs", "2", "--neighbors", "5", "--device", "cpu")
NOT_UNICODE = os.fsdecode(b"f\xe9\xff")
X = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)


def finding(function: Callable[[Path], None]) -> Callable[[Path], None]:
    """Register a finding."""
    FINDINGS[function.__name__] = function
    return function


# -- tools --------------------------------------------------------------------------------------------------


def grande(*arguments: object) -> tuple[int, str]:
    """Run a command; its status and everything it said. Anything but an exit is the traceback that a user would see."""
    from grande_gnn.cli import main

    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def refused(*arguments: object) -> None:
    """The command must end with a status other than 0 and a sentence."""
    status, said = grande(*arguments)
    assert status in (1, 2), said
    assert said.strip().splitlines()[-1].startswith("Error: "), said


def one_sentence(call: Callable[[], object]) -> None:
    """The call must raise an error of this package, in one line."""
    from grande_gnn.errors import GrandeError

    said = ""
    try:
        call()
    except GrandeError as error:
        said = str(error)
    assert said, "accepted without a word"
    assert "\n" not in said, said


def photos(folder: Path, names: tuple[str, str] = ("ash", "oak")) -> Path:
    """Twelve images in two classes, six of them labelled by their folder."""
    rng = np.random.default_rng(0)
    for number in range(12):
        place = folder / names[number % 2] if number < 6 else folder
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 90, size=(8, 8, 3)) + 150 * (np.arange(3) == number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{number}.png")
    return folder


def features_file(path: Path, **more: object) -> Path:
    """A features file with three classes."""
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    features = rng.normal(size=(45, 4)).astype(np.float32) + 3 * np.eye(3, 4, dtype=np.float32)[y]
    np.savez(path, **({"features": features, "labels": np.array(["ash", "beech", "oak"])[y]} | more))
    return path


def load(path: Path) -> object:
    """Read a features file as every command does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the path of version 0.1
        from grande_gnn.files import load_features
    return load_features(path)


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """An ``.npz`` file from the bytes of its members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(array: np.ndarray, header: str = "") -> bytes:
    """An array as numpy writes it, or its data under another header."""
    file = io.BytesIO()
    np.save(file, array)
    if not header:
        return file.getvalue()
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + file.getvalue()[128:]


def fitted(folder: Path) -> Path:
    """A saved model."""
    from grande_gnn import GrandeClassifier

    clf = GrandeClassifier("sgc", n_neighbors=4, epochs=2, device="cpu", random_state=0)
    clf.fit(X, ["a", "b", "a", "b", "a", "b", *[""] * 6]).save(folder)
    return folder


def answers(folder: Path) -> np.ndarray:
    """What a saved model answers for two new samples."""
    from grande_gnn import GrandeClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return GrandeClassifier.load(folder).predict_proba(X[:2] + np.float32(0.01))


def change_array(folder: Path, name: str, place: int, value: float) -> None:
    """Change one number of a saved model."""
    from safetensors.numpy import load_file, save_file

    arrays = {key: array.copy() for key, array in load_file(folder / "model.safetensors").items()}
    arrays[name].flat[place] = value
    save_file(arrays, folder / "model.safetensors")


def in_child(work: Callable[[], None]) -> tuple[int, int]:
    """Run in a forked process: its status, and how much its peak memory is above the beginning, in MiB."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
            work()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            os.write(write, str(max(0, peak - before) // 1024).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(said or 0)


# -- .npz files ---------------------------------------------------------------------------------------------


@finding
def npz_with_unknown_compression(tmp: Path) -> None:
    """`.npz` with other zip flags or an unknown compression: NotImplementedError."""
    data = bytearray(features_file(tmp / "f.npz").read_bytes())
    place = data.find(b"PK\x01\x02")
    data[place + 10 : place + 12] = struct.pack("<H", 99)
    (tmp / "f.npz").write_bytes(data)
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_with_an_encrypted_member(tmp: Path) -> None:
    """`.npz` whose member says that it is encrypted: RuntimeError."""
    data = bytearray(features_file(tmp / "f.npz").read_bytes())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(sign) + offset] |= 1
    (tmp / "f.npz").write_bytes(data)
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_that_declares_terabytes(tmp: Path) -> None:
    """`.npz` with a declared shape of 10¹² floats: `_ArrayMemoryError`."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    archive(tmp / "f.npz", {"features": npy(X, header)})
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_with_a_nested_header(tmp: Path) -> None:
    """`.npz` with a deeply nested header: TokenError."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': ((((((12, 3), "
    archive(tmp / "f.npz", {"features": npy(X, header)})
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_with_scalar_classes(tmp: Path) -> None:
    """`classes` a scalar: TypeError."""
    np.savez(tmp / "f.npz", features=X, labels=np.arange(12) % 3, classes=np.array("a"))
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_with_names_that_are_no_text(tmp: Path) -> None:
    """Bytes that are not ASCII in `files`: UnicodeDecodeError."""
    np.savez(tmp / "f.npz", features=X, files=np.array([b"\xff\xfe%d" % i for i in range(12)]))
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_with_dates_as_features(tmp: Path) -> None:
    """Dates, structs, complex numbers and infinite labels are accepted without a word."""
    for name, array in {
        "features": np.arange(36).reshape(12, 3).astype("<M8[s]"), "labels": np.full(12, np.inf),
    }.items():  # fmt: skip
        np.savez(tmp / "f.npz", **({"features": X} | {name: array}))
        one_sentence(lambda: load(tmp / "f.npz"))
    np.savez(tmp / "f.npz", features=X * 1j)
    one_sentence(lambda: load(tmp / "f.npz"))


@finding
def npz_bomb_in_an_array_that_nobody_asked_for(tmp: Path) -> None:
    """A bomb of gigabytes in a text array of the file is read, 6.2 GB of memory."""
    n = 60_000_000
    header = f"{{'descr': '|S{n}', 'fortran_order': False, 'shape': (12,), }}"
    with zipfile.ZipFile(tmp / "f.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("features.npy", npy(X))
        with file.open("files.npy", "w", force_zip64=True) as member:
            member.write(npy(X, header)[:128])
            for _ in range(12):
                member.write(bytes(n))

    def read() -> None:
        one_sentence(lambda: load(tmp / "f.npz"))

    status, mib = in_child(read)
    assert status == 0, "no sentence"
    assert mib < 300, f"{mib} MiB"


# -- models ---------------------------------------------------------------------------------------------------


@finding
def model_with_an_index_out_of_range(tmp: Path) -> None:
    """`graph.indices[3] = -2**30` in a model: the interpreter crashes."""
    folder = fitted(tmp / "model")
    change_array(folder, "graph.indices", 3, -(2**30))
    status, _ = in_child(lambda: one_sentence(lambda: answers(folder)))
    assert status == 0, f"ended with {status}"


@finding
def model_with_other_numbers(tmp: Path) -> None:
    """A changed number of a model is accepted, because there is no checksum."""
    folder = fitted(tmp / "model")
    change_array(folder, "parameter.weight", 0, 3.5)
    one_sentence(lambda: answers(folder))


@finding
def model_with_nan(tmp: Path) -> None:
    """A model with NaN is accepted and predicts NaN."""
    folder = fitted(tmp / "model")
    change_array(folder, "parameter.weight", 0, np.nan)
    one_sentence(lambda: answers(folder))


@finding
def model_with_nested_json(tmp: Path) -> None:
    """Deeply nested `model.json`: RecursionError."""
    folder = fitted(tmp / "model")
    (folder / "model.json").write_text('{"format": ' + "[" * 100_000 + "]" * 100_000 + "}")
    one_sentence(lambda: answers(folder))


@finding
def model_with_a_strange_device(tmp: Path) -> None:
    """A device that does not exist in `model.json`: RuntimeError of torch."""
    folder = fitted(tmp / "model")
    rest = json.loads((folder / "model.json").read_text())
    rest["parameters"]["device"] = "nonsense"
    (folder / "model.json").write_text(json.dumps(rest))
    one_sentence(lambda: answers(folder))


# -- settings, rows, store --------------------------------------------------------------------------------


def labelled(tmp: Path) -> Path:
    """A result, and its photos next to it."""
    assert grande("label", photos(tmp / "photos"), "-o", tmp / "out", *LABEL)[0] == 0
    return tmp / "out"


def reuse_with(tmp: Path, **changed: object) -> tuple[int, str]:
    """Label again with the model of a result whose settings were changed."""
    out = labelled(tmp)
    settings = json.loads((out / "settings.json").read_text()) | changed
    (out / "settings.json").write_text(json.dumps(settings))
    return grande("label", tmp / "photos", "-o", tmp / "again", "--reuse", out, "--device", "cpu")


@finding
def settings_with_texts_for_numbers(tmp: Path) -> None:
    """`settings.json` with a text as temperature: TypeError."""
    status, said = reuse_with(tmp, temperature="warm")
    assert status == 1, said


@finding
def settings_with_a_list_as_extractor(tmp: Path) -> None:
    """`settings.json` with a list as extractor: TypeError in the registry."""
    status, said = reuse_with(tmp, extractor=["pixels"])
    assert status == 1, said


@finding
def settings_with_a_negative_temperature(tmp: Path) -> None:
    """`settings.json` with a temperature out of range: confidences that mean nothing, without a word."""
    status, said = reuse_with(tmp, temperature=-1.0)
    assert status == 1, said


def row_file(tmp: Path) -> Path:
    """The rows of a small table."""
    (tmp / "data" / "own").mkdir(parents=True)
    features_file(tmp / "data" / "own" / "features_a.npz")
    assert grande("table", "1", "--data", tmp / "data", "-o", tmp / "out", *TABLE)[0] == 0
    return tmp / "out" / "rows.jsonl"


@finding
def rows_that_are_nested(tmp: Path) -> None:
    """Deeply nested `rows.jsonl`: RecursionError."""
    (tmp / "data" / "own").mkdir(parents=True)
    features_file(tmp / "data" / "own" / "features_a.npz")
    (tmp / "out").mkdir()
    (tmp / "out" / "rows.jsonl").write_text("[" * 100_000 + "\n")
    refused("table", "1", "--data", tmp / "data", "-o", tmp / "out", *TABLE)


@finding
def rows_with_impossible_accuracies(tmp: Path) -> None:
    """Accuracies of 1e308, Infinity, −5 and true are accepted into tables."""
    path = row_file(tmp)
    first, *others = path.read_text().splitlines()
    for value in ("1e308", "Infinity", "-5", "true"):
        row = json.loads(first)
        row["accuracy"] = "HERE"
        path.write_text("\n".join([json.dumps(row).replace('"HERE"', value), *others]) + "\n")
        refused("table", "1", "--data", tmp / "data", "-o", tmp / "out", *TABLE)


def stored(tmp: Path) -> Path:
    """The feature store after photos were extracted into ``f.npz``, with files that are old enough to be recognized."""
    for path in photos(tmp / "photos").rglob("*.png"):
        os.utime(path, (1, 1))
    arguments = ("extract", tmp / "photos", *FAST, "--store", tmp / "store", "-o")
    assert grande(*arguments, tmp / "f.npz")[0] == 0
    (path,) = (tmp / "store").glob("*.sqlite")
    return path


def extracted_again(tmp: Path) -> None:
    """Extracting again must give the same features."""
    arguments = ("extract", tmp / "photos", *FAST, "--store", tmp / "store", "-o")
    status, said = grande(*arguments, tmp / "again.npz")
    assert status == 0, said
    with np.load(tmp / "f.npz") as one, np.load(tmp / "again.npz") as other:
        np.testing.assert_array_equal(one["features"], other["features"])


def change_store(path: Path, statement: str, *values: object) -> None:
    """Change rows of the store."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


@finding
def store_with_other_features(tmp: Path) -> None:
    """Changed features in the store are used silently, because there is no checksum."""
    path = stored(tmp)
    connection = sqlite3.connect(path)
    (feature,) = connection.execute("SELECT feature FROM images LIMIT 1").fetchone()
    connection.close()
    change_store(path, "UPDATE images SET feature = ?", np.full(len(feature) // 4, 7, "<f4").tobytes())
    extracted_again(tmp)


@finding
def store_with_nan(tmp: Path) -> None:
    """NaN in the store is handed on."""
    path = stored(tmp)
    connection = sqlite3.connect(path)
    (feature,) = connection.execute("SELECT feature FROM images LIMIT 1").fetchone()
    connection.close()
    change_store(path, "UPDATE images SET feature = ?", np.full(len(feature) // 4, np.nan, "<f4").tobytes())
    extracted_again(tmp)


@finding
def store_with_texts(tmp: Path) -> None:
    """Texts in the place of features: tracebacks."""
    change_store(stored(tmp), "UPDATE images SET feature = 'features'")
    extracted_again(tmp)


@finding
def store_that_is_no_database(tmp: Path) -> None:
    """A damaged database has to be deleted by hand."""
    path = stored(tmp)
    path.write_bytes(b"SQLite format 3\0" + path.read_bytes()[16:60] + bytes(4000))
    extracted_again(tmp)


# -- images -----------------------------------------------------------------------------------------------------


@finding
def image_that_declares_much(tmp: Path) -> None:
    """A PNG of 21 KB to 170 KB with 13,370 × 13,370 pixels takes 2.2 GB."""
    side = 13_370

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    pixels = zlib.compress(bytes((side + 1) * side), 1)
    header = struct.pack(">IIBBBBB", side, side, 8, 3, 0, 0, 0)
    (tmp / "large.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"PLTE", bytes(768)) + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )  # fmt: skip

    def read() -> None:
        from grande_gnn.errors import GrandeError
        from grande_gnn.images import read_image

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read_image(tmp / "large.png", 224)
            except (GrandeError, TypeError):
                with suppress(GrandeError, TypeError):
                    read_image(tmp / "large.png")  # as version 0.1 has it

    _, mib = in_child(read)
    assert mib < 700, f"{mib} MiB"


def problem_within(tmp: Path, name: str, limit_mib: int) -> None:
    """A command on a folder with this file takes bounded memory, reads the others and lists it as a problem."""
    photos(tmp / "photos")
    (tmp / name).rename(tmp / "photos" / name)

    def extract() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status, said = grande("extract", tmp / "photos", "-o", tmp / "f.npz", *FAST)
        assert status == 0, said

    status, mib = in_child(extract)
    assert mib < limit_mib, f"{mib} MiB"
    assert status == 0
    assert len(np.load(tmp / "f.npz")["files"]) == 12
    assert name in (tmp / "f.problems.csv").read_text(encoding="utf-8")


@finding
def gif_that_declares_much(tmp: Path) -> None:
    """A GIF of 132 KB with 13,370 × 13,370 pixels takes 2.2 GB."""
    Image.new("P", (13_370, 13_370)).save(tmp / "large.gif")
    assert (tmp / "large.gif").stat().st_size < 1_000_000
    problem_within(tmp, "large.gif", 700)


@finding
def tiff_that_declares_much(tmp: Path) -> None:
    """A TIFF of 1.1 MB with 13,370 × 13,370 integers of 32 bits takes 5 GB and 18 s."""
    side, packer = 13_370, zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(4 * side)) for _ in range(side)) + packer.flush()
    tags = [(256, side), (257, side), (258, 32), (259, 8), (262, 1), (273, 8), (277, 1), (278, side),
            (279, len(data)), (339, 2)]  # fmt: skip
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    (tmp / "large.tif").write_bytes(b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory)
    assert (tmp / "large.tif").stat().st_size < 2_000_000
    problem_within(tmp, "large.tif", 700)


# -- numbers ------------------------------------------------------------------------------------------------------


@finding
def estimator_with_a_tiny_sigma(tmp: Path) -> None:
    """σ = 1e-50: ZeroDivisionError."""
    from grande_gnn import GrandeClassifier

    clf = GrandeClassifier("sgc", sigma=1e-50, n_neighbors=4, epochs=2, device="cpu", random_state=0)
    clf.fit(X, ["a", "b", "a", "b", "a", "b", *[""] * 6])
    assert np.isfinite(clf.degree_).all()
    assert np.isfinite(clf.label_distributions_).all()


@finding
def estimator_with_labels_of_bytes(tmp: Path) -> None:
    """Labels of bytes: TypeError."""
    from grande_gnn import GrandeClassifier

    labels = np.array([b"a", b"b", b"a", b"b", *[b""] * 8])
    clf = GrandeClassifier("sgc", n_neighbors=4, epochs=2, device="cpu", random_state=0)
    one_sentence(lambda: clf.fit(X, labels))


@finding
def estimator_with_features_that_are_no_numbers(tmp: Path) -> None:
    """Features of odd dtypes: accepted without a word, or TypeError."""
    from grande_gnn import GrandeClassifier

    clf = GrandeClassifier("sgc", n_neighbors=4, epochs=2, device="cpu", random_state=0)
    for odd in (np.arange(36).reshape(12, 3).astype("<M8[s]"), np.array([[object()] * 3] * 12)):
        one_sentence(lambda odd=odd: clf.fit(odd, ["a", "b", "a", "b", "a", "b", *[""] * 6]))


@finding
def estimator_with_a_seed_that_is_none(tmp: Path) -> None:
    """A seed that no generator takes: a ValueError of another package."""
    from grande_gnn import GrandeClassifier

    clf = GrandeClassifier("sgc", n_neighbors=4, epochs=2, device="cpu", random_state=-1.5)
    one_sentence(lambda: clf.fit(X, ["a", "b", "a", "b", "a", "b", *[""] * 6]))


# -- commands -----------------------------------------------------------------------------------------------------


@finding
def command_with_a_file_for_a_folder(tmp: Path) -> None:
    """`-o` is a file: FileExistsError and others from `table`, `demo`, `label`."""
    (tmp / "file").touch()
    (tmp / "data" / "own").mkdir(parents=True)
    features_file(tmp / "data" / "own" / "features_a.npz")
    refused("table", "1", "--data", tmp / "data", "-o", tmp / "file", *TABLE)
    refused("demo", "-o", tmp / "file" / "x")
    refused("label", photos(tmp / "photos"), "-o", tmp / "file" / "x", *LABEL)


@finding
def command_with_a_folder_for_a_file(tmp: Path) -> None:
    """A folder where a file should be: IsADirectoryError from `extract` and `--template`."""
    (tmp / "folder" / "inner").mkdir(parents=True)
    folder = photos(tmp / "photos")
    refused("extract", folder, "-o", tmp / "folder", *FAST, "--overwrite")
    refused("label", folder, "--template", tmp / "folder", *FAST, "--overwrite")


@finding
def command_with_a_place_that_cannot_be_made(tmp: Path) -> None:
    """An output in `/proc`: FileNotFoundError."""
    refused("label", photos(tmp / "photos"), "-o", "/proc/x", *LABEL)


@finding
def command_with_copies_in_a_file(tmp: Path) -> None:
    """`--copy-to` through a file: NotADirectoryError after the work is done."""
    (tmp / "file").touch()
    refused("label", photos(tmp / "photos"), "-o", tmp / "out", *LABEL, "--copy-to", tmp / "file" / "x")


@finding
def command_with_a_tiny_sigma(tmp: Path) -> None:
    """`--sigma 1e-60`: ZeroDivisionError."""
    few = ("--graph", "knn", "--neighbors", "4", "--normalize", "none", "--model", "sgc", "--sigma", "1e-60")
    assert grande("label", photos(tmp / "photos"), "-o", tmp / "out", *FAST, *few)[0] in (0, 1)


@finding
def command_with_a_large_seed(tmp: Path) -> None:
    """`--seed` of 2³² or more: scikit-learn's InvalidParameterError after the work is done."""
    status, said = grande("label", photos(tmp / "photos"), "-o", tmp / "out", *LABEL, "--seed", 2**32)
    assert status in (0, 1, 2), said


@finding
def command_with_numbers_in_weights(tmp: Path) -> None:
    """`--weights` whose state dictionary has number keys: AttributeError."""
    import torch

    torch.save({0: torch.zeros(3)}, tmp / "weights.pth")
    few = ("--extractor", "lite0", "--weights", tmp / "weights.pth", "--workers", "0", "--device", "cpu")
    refused("extract", photos(tmp / "photos"), "-o", tmp / "f.npz", *few)


@finding
def command_on_a_full_disk(tmp: Path) -> None:
    """A file size limit while results are written: SafetensorError, OSError."""
    folder = photos(tmp / "photos")
    assert grande("extract", folder, "-o", tmp / "before.npz", *FAST)[0] == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for n_bytes in (1000, 3000, 20_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
        try:
            refused("label", folder, "-o", tmp / "out", *LABEL)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@finding
def command_with_names_that_are_not_unicode(tmp: Path) -> None:
    """Names that are not UTF-8 with `--dry-run` or as output: UnicodeEncodeError."""
    folder = photos(tmp / NOT_UNICODE, (NOT_UNICODE, "oak"))
    assert grande("label", folder, "--dry-run")[0] == 0
    assert grande("label", folder, "-o", tmp / f"out-{NOT_UNICODE}", *LABEL)[0] == 0


@finding
def command_that_copies_on_a_full_disk(tmp: Path) -> None:
    """`grande label --copy-to` on a full disk ends with status 0."""
    import shutil

    def full(source: Path, place: Path) -> None:
        Path(place).write_bytes(Path(source).read_bytes()[:20])

    whole = shutil.copy2
    shutil.copy2 = full
    try:
        status, said = grande(
            "label", photos(tmp / "photos"), "-o", tmp / "out", *LABEL, "--copy-to", tmp / "copies"
        )
    finally:
        shutil.copy2 = whole
    assert status == 1, said


# -- kills --------------------------------------------------------------------------------------------------------


def killed(work: Callable[[], object], at: int) -> None:
    """Run in a forked process that ends without notice before it moves something for the ``at``-th time."""

    def run() -> None:
        left = [at]
        for name in ("rename", "replace"):
            real = getattr(os, name)

            def move(*arguments: object, real: Callable[..., object] = real, **options: object) -> object:
                left[0] -= 1
                if left[0] == 0:
                    os._exit(9)
                return real(*arguments, **options)

            setattr(os, name, move)
        work()

    in_child(run)


def has_result(out: Path) -> bool:
    """Whether a reader of the folder finds a result in it."""
    try:
        from grande_gnn import Labelling
    except ImportError:  # version 0.1: there are only the files
        return (out / "predictions.csv").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return len(Labelling.load(out).files) > 0


@finding
def kill_that_loses_the_earlier_result(tmp: Path) -> None:
    """`label --overwrite` killed: 9 of 36 times no `predictions.csv` is there."""
    out = labelled(tmp)
    for at in range(1, 9):
        killed(lambda: grande("label", tmp / "photos", "-o", out, *LABEL, "--overwrite"), at)
        assert has_result(out), f"killed at move {at}"


@finding
def kill_that_leaves_litter(tmp: Path) -> None:
    """`label` killed: `.part` folders stay after a later good run."""
    folder, out = photos(tmp / "photos"), tmp / "out"
    arguments = ("label", folder, "-o", out, *LABEL, "--overwrite")
    for at in range(1, 6):
        killed(lambda: grande(*arguments), at)
    assert grande(*arguments)[0] == 0
    left = [path for place in (tmp, out) for path in place.iterdir() if path.name.endswith(".part")]
    assert not left, left


@finding
def kill_after_which_the_command_is_refused(tmp: Path) -> None:
    """`label` killed while it writes a new output: the same command is then refused."""
    folder = photos(tmp / "photos")
    n_unfinished = 0
    for at in range(1, 9):
        out = tmp / f"out{at}"
        killed(lambda out=out: grande("label", folder, "-o", out, *LABEL), at)
        if not (out / "predictions.csv").exists():
            n_unfinished += 1
            status, said = grande("label", folder, "-o", out, *LABEL)
            assert status == 0, said
    assert n_unfinished


@finding
def kill_of_extract_that_leaves_litter(tmp: Path) -> None:
    """`extract` killed: part files stay beside the output."""
    folder = photos(tmp / "photos")
    arguments = ("extract", folder, "-o", tmp / "f.npz", *FAST, "--overwrite")
    killed(lambda: grande(*arguments), 1)
    assert grande(*arguments)[0] == 0
    left = [path.name for path in tmp.iterdir() if path.name.startswith(".") or "part" in path.name]
    assert not left, left


# -- other versions -----------------------------------------------------------------------------------------------


def how_it_fails(name: str, tree: Path) -> str:
    """How a finding shows in another version; ``""`` if it does not."""
    environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one", name]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    if ended.returncode == 0:
        return ""
    if ended.returncode < 0:
        return f"signal {-ended.returncode}"
    reasons = [line for line in ended.stderr.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return re.sub(r"/tmp/\w+", "…", reasons[-1] if reasons else "failed")[:90]


def run_one(name: str) -> None:
    """Try one finding in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRANDE_CACHE"] = f"{folder}/cache"
        os.chdir(folder)
        FINDINGS[name](Path(folder).resolve())


def table(tree: Path) -> tuple[str, bool]:
    """The table of all findings, and whether each of them shows in the other version."""
    lines = [
        "# What the attacker found in version 0.1",
        "",
        "Written by `python tests/attack/findings.py --tree old_tree --write`, where `old_tree` holds version 0.1.",
        "Each test runs on both versions: it passes on this one (`tests/attack/test_attack.py`) and fails on 0.1 as shown.",
        "",
        "| finding | test | on 0.1 |",
        "|---|---|---|",
    ]
    shown = True
    for name, function in FINDINGS.items():
        how = how_it_fails(name, tree)
        shown &= bool(how)
        about = (function.__doc__ or "").splitlines()[0].replace("|", "\\|")
        cell = how.replace("|", "\\|").replace("`", "'") or "passes"
        lines.append(f"| {about} | `{name}` | {cell} |")
        print(f"{name}: {how or 'PASSES'}", flush=True)
    return "\n".join(lines) + "\n", shown


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, help="folder of the other version, with src/grande_gnn")
    parser.add_argument("--write", action="store_true", help="write findings.md")
    parser.add_argument("--one", help="try one finding on the version that is imported")
    options = parser.parse_args()
    if options.one:
        run_one(options.one)
        return 0
    if options.tree is None:
        parser.error("name a tree")
    text, shown = table(options.tree)
    if options.write:
        Path(__file__).with_name("findings.md").write_text(text, encoding="utf-8")
    return int(not shown)


if __name__ == "__main__":
    sys.exit(main())
