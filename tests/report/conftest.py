"""Content to show, and a headless Chromium driven through its DevTools protocol to show it in."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grande_gnn.report import CalibrationBin, Estimate, Problem, ReportContent, Suspicion

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
]


class Chromium:
    """One tab. Console errors, uncaught exceptions and network requests are collected."""

    def __init__(self, executable: str, profile: Path) -> None:
        import websocket

        self.process = subprocess.Popen(
            [executable, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = self._port(profile / "DevToolsActivePort")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=20) as answer:
                tabs = json.load(answer)
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        except BaseException:
            self.close()
            raise
        self.sent = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    @staticmethod
    def _port(file: Path) -> str:
        for _ in range(300):
            with contextlib.suppress(FileNotFoundError, IndexError):
                return file.read_text().split()[0]
            time.sleep(0.1)
        raise TimeoutError("Chromium did not open its debugging port within 30 s")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that come meanwhile are noted."""
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.sent:
                assert "error" not in message, (method, message)
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(params["args"])[:500])
        if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"][:200])

    def js(self, expression: str) -> Any:
        """The value of a JavaScript expression (a promise is awaited)."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, page: Path, *, width: int = 1400, height: int = 900, dark: bool = False) -> float:
        """Open a file at a window size; return the milliseconds until its map was drawn."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.errors.clear()
        self.requests.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.as_uri())
        self.wait("document.readyState === 'complete' && performance.getEntriesByName('grande-ready').length")
        return float(self.js("performance.getEntriesByName('grande-ready')[0].startTime"))

    def wait(self, condition: str, seconds: float = 30) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.js(f"Boolean({condition})"):
            assert time.monotonic() < end, f"not true after {seconds} s: {condition}"
            time.sleep(0.02)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send a mouse event at page coordinates of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def tap(self, x: float, y: float) -> None:
        """Touch the screen and let go."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """Save the window, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def close(self) -> None:
        """End the browser this object started."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    pytest.importorskip("websocket", reason="needs websocket-client: pip install websocket-client")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    chromium = Chromium(executable, tmp_path_factory.mktemp("profile"))
    yield chromium
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
