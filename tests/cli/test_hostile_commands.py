"""Command lines that point at the wrong kind of place, at full disks and at odd names: one sentence and a status."""

import os
import resource
import signal
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image

from grande_gnn.cli import main

FAST = ("--extractor", "pixels", "--workers", "0", "--device", "cpu")
LABEL = (*FAST, "--model", "sgc", "--paper")
TABLE = ("--folds", "3", "--repeats", "1", "--epochs", "2", "--neighbors", "5", "--device", "cpu")
NOT_UNICODE = os.fsdecode(b"f\xe9\xff")


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Twelve images in two classes, six of them labelled by their folder."""
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return make_photos(tmp_path / "photos")


def make_photos(folder, names=("ash", "oak")):
    rng = np.random.default_rng(0)
    for number in range(12):
        place = folder / names[number % 2] if number < 6 else folder
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 90, size=(8, 8, 3)) + 150 * (np.arange(3) == number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{number}.png")
    return folder


@pytest.fixture
def places(tmp_path):
    """Places where nothing can be written: a file, a path through a file, a folder that the system keeps to itself."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    return {"file": "file", "through a file": "file/x", "/proc": "/proc/x", "folder": "folder"}


def invoke(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*arguments):
    """The sentence with which a command refuses to go on."""
    result = invoke(*arguments)
    assert result.exit_code in (1, 2), result.output
    (sentence,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert result.stderr.strip().endswith(sentence)
    return sentence


# -- places that cannot be written ----------------------------------------------------------------------


@pytest.mark.parametrize("place", ["file", "through a file", "/proc"])
def test_a_folder_for_results_that_cannot_be_had(photos, places, data, place):
    where = places[place]
    assert refused("label", photos, "-o", where, *LABEL, "--overwrite")
    assert refused("label", photos, "-o", "out", *LABEL, "--copy-to", where)
    assert refused("table", "1", "--data", data, "-o", where, *TABLE)
    assert refused("compare", data / "own" / "features_a.npz", "--systems", "grande", "-o", where)
    assert refused("demo", "-o", where)
    assert (photos.parent / "file").read_text() == "mine"


@pytest.mark.parametrize("place", ["folder", "through a file", "/proc"])
def test_a_file_that_cannot_be_written(photos, places, place):
    where = places[place]
    assert refused("extract", photos, "-o", where, *FAST, "--overwrite")
    assert refused("label", photos, "--template", where, *FAST, "--overwrite")
    assert not (photos.parent / "cache").exists()  # said before the work


def test_figures_in_the_place_of_a_file(photos, places, data):
    pytest.importorskip("matplotlib")
    assert refused("figure", "sigma", "--data", data, "-o", "file", *TABLE)
    few = ("--folds", "3", "--neighbors", "5", "--device", "cpu")
    assert refused("figure", "degree", "--data", data, "-o", "file", *few)


@pytest.mark.parametrize("name", ["rows.jsonl", "table1.csv"])
def test_a_folder_in_the_place_of_a_results_file(photos, data, name):
    os.makedirs(f"out/{name}")
    assert "folder" in refused("table", "1", "--data", data, "-o", "out", *TABLE)


def test_a_folder_in_the_place_of_the_problems(photos):
    (photos / "broken.png").touch()
    os.makedirs("f.problems.csv")
    assert "f.problems.csv" in refused("extract", photos, "-o", "f.npz", *FAST)


# -- full disks ---------------------------------------------------------------------------------------------


@contextmanager
def at_most(n_bytes):
    """Files of this process may have this many bytes: as on a full disk, writing more is an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_while_results_are_written(photos):
    assert invoke("extract", photos, "-o", "before.npz", *FAST).exit_code == 0
    for n_bytes in (1000, 3000, 20_000):
        with at_most(n_bytes):
            refused("label", photos, "-o", "out", *LABEL)
            assert n_bytes > 3000 or refused("extract", photos, "-o", "f.npz", *FAST)
        assert not os.path.exists("out")
        assert not os.path.exists("f.npz")


def test_copies_on_a_full_disk_are_an_error_and_leave_nothing(photos, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 256, (90, 90, 3), dtype=np.uint8)
    Image.fromarray(noise).save(photos / "large.png")

    def full(source, place):
        """As the system does it for some file systems: a part is copied and nothing is said."""
        with open(source, "rb") as file, open(place, "wb") as copy:
            copy.write(file.read(1000))

    monkeypatch.setattr("shutil.copy2", full)
    assert "is the disk full?" in refused("label", photos, "-o", "out", *LABEL, "--copy-to", "copies")
    assert not os.path.exists("copies")
    monkeypatch.undo()


# -- names and numbers ------------------------------------------------------------------------------------


def test_names_that_are_not_unicode(tmp_path, monkeypatch, data):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    folder = make_photos(tmp_path / NOT_UNICODE, (NOT_UNICODE, "oak"))
    assert invoke("label", folder, "--dry-run").exit_code == 0
    assert invoke("extract", folder, "-o", f"{NOT_UNICODE}.npz", *FAST).exit_code == 0
    result = invoke("label", folder, "-o", f"out-{NOT_UNICODE}", *LABEL, "--export", "label-studio")
    assert result.exit_code == 0, result.output
    assert invoke("table", "1", "--data", data, "-o", f"table-{NOT_UNICODE}", *TABLE).exit_code == 0


def test_weights_with_numbers_for_names(photos):
    torch.save({0: torch.zeros(3), 1: torch.zeros(3)}, "weights.pth")
    sentence = refused("extract", photos, "-o", "f.npz", "--extractor", "lite0", "--weights", "weights.pth")
    assert "weights" in sentence


@pytest.mark.parametrize("sigma", ["1e-50", "1e-60", "1e-300", "0", "-1", "nan", "inf"])
def test_any_sigma_is_used_or_refused(photos, features, sigma):
    label = (
        "-o",
        "out",
        *FAST,
        "--model",
        "sgc",
        "--graph",
        "knn",
        "--neighbors",
        "4",
        "--normalize",
        "none",
    )
    invoke("label", photos, *label, "--sigma", sigma)
    invoke(
        "evaluate",
        features,
        "--folds",
        "2",
        "--repeats",
        "1",
        "--sigma",
        sigma,
        "--device",
        "cpu",
        "--model",
        "sgc",
    )


@pytest.mark.parametrize("seed", [2**32, 2**40, -1])
def test_a_seed_that_no_generator_takes(photos, seed):
    assert "seed" in refused("label", photos, "-o", "out", *LABEL, "--seed", seed)
    assert not os.path.exists("cache")  # said before the work


# -- pipes and signals -----------------------------------------------------------------------------------


def in_child(arguments, prepare=lambda: None, act=lambda child: None):
    """Run a command in a forked process, without importing everything again; its status and what it said."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.dup2(write, 2)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            prepare()
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(end.code or 0)
        finally:
            os._exit(99)
    os.close(write)
    act(child)
    with os.fdopen(read) as file:
        said = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def test_output_that_nobody_reads(photos):
    def close():
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)

    status, said = in_child(["label", photos, "--dry-run"], close)
    assert (status, said) == (1, "")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_results_are_written(photos, tmp_path, number, status):
    def sleep():
        from grande_gnn.labelling import folder

        signal.signal(signal.SIGINT, signal.default_int_handler)
        folder.ENTRIES["report.html"] = lambda *_: ((tmp_path / "now").touch(), time.sleep(30))

    def act(child):
        while not (tmp_path / "now").exists():
            time.sleep(0.01)
        os.kill(child, number)

    got, said = in_child(["label", photos, "-o", "out", *LABEL], sleep, act)
    assert got == status
    last = said.strip().splitlines()[-1]
    assert (
        last
        == f"Error: stopped by {number.name}: what was finished is kept, run the same command again to go on"
    )
    assert "Traceback" not in said
    assert not os.path.exists("out")
