"""Content to show, and a headless Chromium, driven by Playwright, to show it in."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from grande_gnn.report import CalibrationBin, Estimate, Problem, ReportContent, Suspicion

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


def build_content(n: int = 60, n_classes: int = 4, seed: int = 0, **changes: Any) -> ReportContent:
    """Content with something in every section: Gaussian clusters, a tenth labelled."""
    rng = np.random.default_rng(seed)
    names = [f"class {c}" for c in range(n_classes)]
    y = np.arange(n) % n_classes
    features = rng.normal(size=(n_classes, 16))[y] * 4 + rng.normal(size=(n, 16))
    confidence = rng.beta(5, 2, n)
    fields: dict[str, Any] = {
        "files": [f"photos/album {i % 7}/image_{i:05d}.jpg" for i in range(n)],
        "labels": [names[c] for c in y],
        "confidence": confidence,
        "runner_up": [names[(c + 1) % n_classes] for c in y],
        "margin": confidence / 2,
        "given_labels": [names[c] if i < n // 10 else "" for i, c in enumerate(y)],
        "neighbors": (np.arange(n)[:, None] + n_classes * np.arange(8)) % n,
        "features": features,
        "unreached": np.arange(n) == n - 1,
        "out_of_distribution": np.arange(n) % 29 == 28,
        "suspicions": [Suspicion(1, names[0], 0.93)],
        "accuracy": Estimate(0.8731, 0.83, 0.906),
        "accuracy_note": "Estimated from held-out labelled images.",
        "class_accuracy": {name: Estimate(0.8, 0.7, 0.9) for name in names},
        "calibration": [
            CalibrationBin(k / 10, (k + 1) / 10, 5 * k, k / 10 + 0.05, k / 10) for k in range(10)
        ],
        "settings": {"Extractor": "pixels", "Seed": 0},
        "problems": [Problem("photos/empty.jpg", "The file is empty.")],
        "title": "Test images",
    }
    return ReportContent(**(fields | changes))


def build_thumbnails(size: int = 96, seed: int = 0) -> Callable[[Any], Iterator[np.ndarray]]:
    """Pictures with the entropy of photographs: smooth blobs of colour with some grain."""

    def thumbnails(rows: Any) -> Iterator[np.ndarray]:
        rng = np.random.default_rng(seed)
        for _ in rows:
            blobs = np.kron(rng.integers(40, 216, (size // 8, size // 8, 3)), np.ones((8, 8, 1)))
            yield (blobs + rng.integers(-20, 20, blobs.shape)).astype(np.uint8)

    return thumbnails


@pytest.fixture(scope="session")
def make_content() -> Callable[..., ReportContent]:
    return build_content


@pytest.fixture(scope="session")
def make_thumbnails() -> Callable[..., Any]:
    return build_thumbnails
