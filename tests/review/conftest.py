"""Labellings to review: made images in colored groups, a session, a client of the page's server, and a browser."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from grande_gnn import GrandeClassifier
from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.result import Labelling
from grande_gnn.review.guard import Keys
from grande_gnn.review.server import build_app
from grande_gnn.review.session import Session

NAMES = ("red", "green", "blue")
SETTINGS = {"graph": "knn", "n_neighbors": 6, "epochs": 12, "lr": 0.05, "device": "cpu", "random_state": 0}
"""Trainings of a few milliseconds."""
PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


def build_labelling(folder: Path, n: int = 36, known: int = 12, names: tuple[str, ...] = NAMES) -> Labelling:
    """Images of noise in one color per class, of which the first have a label, labelled from their mean colors."""
    rng = np.random.default_rng(0)
    root = folder / "photos"
    root.mkdir(parents=True, exist_ok=True)
    features, files = [], []
    for i in range(n):
        pixels = rng.integers(0, 110, size=(48, 64, 3))
        pixels[..., i % 3] += 30 + 6 * (i % 19)
        files.append(f"{i:03d}.png")
        Image.fromarray(pixels.astype(np.uint8)).save(root / files[-1])
        features.append(pixels.mean(axis=(0, 1)) / 20 + rng.normal(scale=0.6, size=3))
    given = [names[i % 3] if i < known else "" for i in range(n)]
    clf = GrandeClassifier("sgc", **SETTINGS).fit(np.array(features, np.float32), given)
    network = {"extractor": "pixels", "seed": 0, "temperature": 1.0, "offset": None}
    return replace(assess(clf, given, files), root=root, settings=network)


@pytest.fixture(scope="session")
def fresh() -> Callable[[Labelling, list[str]], Labelling]:
    """The labelling that a new classifier with the same settings gives for other labels."""

    def label(like: Labelling, given: list[str]) -> Labelling:
        clf = GrandeClassifier("sgc", **SETTINGS).fit(like.classifier.features_, given)
        return assess(clf, given, like.files)

    return label


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``photos`` and the labelling ``out``, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    build_labelling(folder).save(folder / "out")
    return folder


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """The folder of a labelling that the test may change."""
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made" / "out"


@pytest.fixture
def session(out: Path) -> Iterator[Session]:
    session = Session(out, Labelling.load(out))
    yield session
    session.close()


@pytest.fixture
def make_session(out: Path) -> Iterator[Callable[[], Session]]:
    """Opens further sessions on the same folder, as another process would."""
    sessions = []

    def make() -> Session:
        sessions.append(Session(out, Labelling.load(out)))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


@pytest.fixture
def keys() -> Keys:
    return Keys("the-token", "the-cookie")


@pytest.fixture
def client(session: Session, keys: Keys) -> Any:
    """A client that has exchanged the token for the cookie."""
    from starlette.testclient import TestClient

    client = TestClient(build_app(session, PORT, keys), base_url=ORIGIN, follow_redirects=False)
    client.headers["origin"] = ORIGIN
    assert client.get("/?token=the-token").status_code == 303
    return client


@pytest.fixture
def wait_for() -> Callable[..., None]:
    def wait(condition: Callable[[], Any], seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "waited too long"
            time.sleep(0.01)

    return wait
