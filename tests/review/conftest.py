"""Labellings to review: made images in colored groups, a session, a client of the page's server, and a browser."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from grande_gnn.review.server import build_app, listen
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


@contextmanager
def serving(session: Session) -> Iterator[str]:
    """The page of a session on a real server in a thread; yields its link."""
    import uvicorn

    with listen(0) as listener:
        port, keys = listener.getsockname()[1], Keys()
        config = uvicorn.Config(
            build_app(session, port, keys),
            log_level="critical",
            lifespan="off",
            timeout_graceful_shutdown=1,
            limit_concurrency=128,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}/?token={keys.token}"
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def serve_session() -> Any:
    return serving


@pytest.fixture
def link(session: Session) -> Iterator[str]:
    """The link of the session's page."""
    with serving(session) as link:
        yield link


FLAGS = [
    "--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip


class Reviewer:
    """Opens pages as a user would, collects what goes wrong in them, and reads them."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.errors: list[str] = []

    def open(self, link: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> Any:
        """A page in a window of its own."""
        phone = width < 600
        page = self.browser.new_page(
            viewport={"width": width, "height": height},
            is_mobile=phone,
            has_touch=phone,
            color_scheme="dark" if dark else "light",
        )
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda text: self.errors.append(text.text) if text.type in ("error", "warning") else None,
        )
        page.on("dialog", lambda dialog: self.errors.append(f"a script ran: {dialog.message}"))
        page.goto(link)
        self.wait(page, "performance.getEntriesByName('grande-ready').length")
        return page

    def wait(self, page: Any, condition: str, seconds: float = 30) -> None:
        """Wait until an expression is true; the page's policy forbids Playwright's own polling."""
        end = time.monotonic() + seconds
        while not page.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"not true after {seconds} s: {condition}"
            page.wait_for_timeout(15)

    def queue(self, page: Any, name: str) -> None:
        """Choose a queue."""
        page.evaluate("performance.clearMarks('grande-ready')")
        if page.is_visible("#queues"):
            page.click(f"#queues [data-queue='{name}']")
        else:
            page.select_option("#queue", name)
        self.wait(page, "performance.getEntriesByName('grande-ready').length")

    def row(self, page: Any) -> int:
        """The number of the image that is shown."""
        return int(page.evaluate("document.getElementById('stage').dataset.row"))

    def press(self, page: Any, key: str) -> None:
        """Press a key and wait until the server has confirmed what follows from it."""
        page.keyboard.press(key)
        self.wait(page, "document.getElementById('status').dataset.pending === '0'")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install grande-gnn[test-all]"
    )
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def reviewer(chromium: Any) -> Iterator[Reviewer]:
    yield Reviewer(chromium)
    for context in chromium.contexts:
        context.close()
