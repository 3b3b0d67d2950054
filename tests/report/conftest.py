"""Labellings to show, a parser of pages, and a headless Chromium, driven by Playwright, to show them in."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from grande_gnn.graph.neighbors import Neighbors
from grande_gnn.images.problems import Problem
from grande_gnn.labelling.confidence import AccuracyEstimate, ReliabilityBin
from grande_gnn.labelling.label_sets import LabelSets
from grande_gnn.labelling.result import Labelling, Suspicion
from grande_gnn.report import SECTIONS, Page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


class Tab:
    """One tab at a time. Console errors and warnings, uncaught exceptions and requests are collected."""

    page: Page

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.errors: list[str] = []
        self.requests: list[str] = []

    def open(
        self,
        file: Path,
        *,
        width: int = 1400,
        height: int = 900,
        dark: bool = False,
        javascript: bool = True,
    ) -> Page:
        """Open a file in a new window of this size, once everything that was open is closed."""
        self.close()
        phone = width < 600
        self.page = self.browser.new_page(
            viewport={"width": width, "height": height},
            is_mobile=phone,
            has_touch=phone,
            color_scheme="dark" if dark else "light",
            java_script_enabled=javascript,
        )
        self.errors.clear()
        self.requests.clear()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda request: self.requests.append(request.url[:200]))
        self.page.goto(file.as_uri())
        if javascript:
            self.wait("performance.getEntriesByName('grande-ready').length")
        return self.page

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            self.errors.append(message.text)

    def js(self, expression: str) -> Any:
        """The value of a JavaScript expression (a promise is awaited)."""
        return self.page.evaluate(expression)

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true; the page's policy forbids Playwright's own polling."""
        end = time.monotonic() + 30
        while not self.js(f"Boolean({condition})"):
            assert time.monotonic() < end, f"not true after 30 s: {condition}"
            self.page.wait_for_timeout(20)

    def close(self) -> None:
        """Close what is open."""
        for context in self.browser.contexts:
            context.close()


@pytest.fixture(
    scope="module"
)  # while Playwright runs, the thread has an event loop that others may not expect
def browser() -> Iterator[Tab]:
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install grande-gnn[test-all]"
    )
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield Tab(chromium)
        chromium.close()


INLINE = {"a", "b", "bdi", "button", "code", "i", "span"}
"""Elements that do not part the text before them from the text in them."""


class Parsed(HTMLParser):
    """Elements, attributes and texts, as a browser's parser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self.inside = ""
        self.feed(str(text))  # Markup would escape what the parser adds to it
        self.text = " ".join(self.text.split())  # also makes the spaces that do not break plain ones

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.text += "" if tag in INLINE else " "
        self.inside = dict(attrs).get("id") or "main" if tag == "script" else tag if tag == "style" else ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside != "style":
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data
        elif not self.inside:
            self.text += data

    def data(self, name: str = "data") -> Any:
        """What a script of data holds."""
        return json.loads(self.scripts[name])

    def attributes(self, name: str) -> list[str]:
        """The values of an attribute, from the first element that has it to the last."""
        return [value for _, attrs in self.elements if (value := attrs.get(name)) is not None]


def build_labelling(n: int = 60, n_classes: int = 4, seed: int = 0, **changes: Any) -> Labelling:
    """A labelling with something in every section: Gaussian clusters, a tenth labelled."""
    rng = np.random.default_rng(seed)
    names = [f"class {c}" for c in range(n_classes)]
    y = np.arange(n) % n_classes
    features = rng.normal(size=(n_classes, 16))[y] * 4 + rng.normal(size=(n, 16))
    near = (np.arange(n)[:, None] + n_classes * np.arange(8)) % n
    confidence = rng.beta(5, 2, n)
    fields: dict[str, Any] = {
        "files": [f"photos/album {i % 7}/image_{i:05d}.jpg" for i in range(n)],
        "labels": [names[c] for c in y],
        "confidence": confidence,
        "runner_up": [names[(c + 1) % n_classes] for c in y],
        "margin": confidence / 2,
        "given": [names[c] if i < n // 10 else "" for i, c in enumerate(y)],
        "unreached": np.arange(n) == n - 1,
        "out_of_distribution": np.arange(n) % 29 == 28,
        "suspicions": [Suspicion(1, names[0], 0.93)],
        "accuracy": AccuracyEstimate(0.8731, 0.83, 0.906, 40),
        "note": "Estimated from held-out labelled images.",
        "unfamiliar": np.arange(n) / n,
        "is_unfamiliar": np.arange(n) == n - 2,
        "copy_of": [f"photos/album 0/image_{0:05d}.jpg" if i == n - 3 else "" for i in range(n)],
        "label_sets": [[names[c]] for c in y],
        "sets_made": LabelSets(0.9, "split", 20),
        "class_accuracy": {name: AccuracyEstimate(0.8, 0.7, 0.9, 10) for name in names},
        "bins": [ReliabilityBin(k / 10, (k + 1) / 10, 5 * k, k / 10 + 0.05, k / 10) for k in range(10)],
        "settings": {"extractor": "pixels", "seed": 0},
        "problems": [Problem("photos/empty.jpg", "The file is empty.")],
        "root": Path("Test images"),
    }
    if "neighbors" not in changes:
        few = n < 8 * n_classes  # then a list would name an image twice
        fields["neighbors"] = Neighbors(features) if few else Neighbors.from_lists(features, near)
    return Labelling(**(fields | changes))


def build_bare_labelling(n: int = 1) -> Labelling:
    """What every labelling has, and nothing else."""
    nothing = np.zeros(n, bool)
    files = [f"{i}.jpg" for i in range(n)]
    return Labelling(
        files, ["x"] * n, np.full(n, 0.7), [""] * n, np.full(n, 0.7), [""] * n, nothing, nothing.copy()
    )


def build_thumbnails(size: int = 96, seed: int = 0) -> Callable[[Any], Iterator[np.ndarray]]:
    """Pictures with the entropy of photographs: smooth blobs of color with some grain."""

    def thumbnails(rows: Any) -> Iterator[np.ndarray]:
        rng = np.random.default_rng(seed)
        for _ in rows:
            blobs = np.kron(rng.integers(40, 216, (size // 8, size // 8, 3)), np.ones((8, 8, 1)))
            yield (blobs + rng.integers(-20, 20, blobs.shape)).astype(np.uint8)

    return thumbnails


def render_section(name: str, labelling: Labelling, **options: Any) -> Parsed:
    """One section, rendered as on the whole page."""
    page = Page(labelling, SECTIONS.values(), **options)
    return Parsed(SECTIONS[name].render(labelling, page))


@pytest.fixture(scope="session")
def make_labelling() -> Callable[..., Labelling]:
    return build_labelling


@pytest.fixture(scope="session")
def make_bare_labelling() -> Callable[..., Labelling]:
    return build_bare_labelling


@pytest.fixture(scope="session")
def make_thumbnails() -> Callable[..., Any]:
    return build_thumbnails


@pytest.fixture(scope="session")
def parse() -> type[Parsed]:
    return Parsed


@pytest.fixture(scope="session")
def section() -> Callable[..., Parsed]:
    return render_section
