"""Running commands in this process, with logging put back afterwards."""

import logging

import numpy as np
import pytest
from click.testing import CliRunner

from grande_gnn.cli import main


@pytest.fixture(autouse=True)
def _logging_comes_back():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def grande():
    """Run ``grande`` with arguments and return click's result."""
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def refused(grande):
    """Run ``grande``; it must fail with one sentence on stderr and nothing else, which is returned."""

    def run(*arguments):
        result = grande(*arguments)
        assert result.exit_code != 0
        assert result.stdout == ""
        assert isinstance(result.exception, SystemExit), result.exception
        sentence = result.stderr.strip().splitlines()[-1]
        assert sentence.startswith("Error: ")
        if result.exit_code == 1:  # click itself says how to call a command before it says what is wrong
            assert result.stderr.strip() == sentence
        return sentence

    return run


@pytest.fixture
def features(blobs, tmp_path):
    """A features file."""
    path = tmp_path / "features.npz"
    np.savez(path, features=blobs[0], labels=np.array(["ash", "beech", "cedar"])[blobs[1]])
    return path


@pytest.fixture
def fast():
    """Options with which a table or figure takes a second."""
    return ["--folds", "3", "--repeats", "1", "--epochs", "2", "--neighbors", "5", "--device", "cpu"]


@pytest.fixture
def save_features():
    """A function that writes a small features file with two classes."""

    def save(path, n_classes=2, seed=0, per_class=9, **more):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(n_classes), per_class)
        path.parent.mkdir(parents=True, exist_ok=True)
        features = rng.normal(size=(len(labels), 4)) + 3 * labels[:, None]
        np.savez(path, features=features, labels=labels, **more)

    return save


@pytest.fixture
def data(tmp_path, save_features):
    """A folder with one features file."""
    save_features(tmp_path / "data" / "own" / "features_a.npz")
    return tmp_path / "data"
