"""The pictures of docs/review.md: the review page in Chromium, on made images of shapes.

python benchmarks/review_pictures.py --out docs
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from PIL import Image, ImageDraw

from grande_gnn.labelling import LabelOptions, label_images
from grande_gnn.review.guard import Keys
from grande_gnn.review.opening import open_session
from grande_gnn.review.server import build_app, listen
from grande_gnn.review.session import Session

SHAPES = ("circle", "cross", "ring", "square", "star", "triangle")
FLAGS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def draw_shape(kind: str, rng: np.random.Generator, size: int = 320) -> Image.Image:
    """A shape of random color, size and place on a soft background."""
    background = tuple(int(v) for v in rng.integers(170, 245, 3))
    color = tuple(int(v) for v in rng.integers(20, 150, 3))
    image = Image.new("RGB", (size, size), background)
    pen = ImageDraw.Draw(image)
    r = size * rng.uniform(0.24, 0.4)
    x, y = (size / 2 + rng.uniform(-0.1, 0.1) * size for _ in range(2))
    turn = rng.uniform(-0.25, 0.25)

    def around(
        n: int, radii: tuple[float, ...] = (1.0,), start: float = -np.pi / 2
    ) -> list[tuple[float, float]]:
        angles = start + turn + 2 * np.pi * np.arange(n) / n
        return [
            (x + r * radii[i % len(radii)] * np.cos(a), y + r * radii[i % len(radii)] * np.sin(a))
            for i, a in enumerate(angles)
        ]

    box = (x - r, y - r, x + r, y + r)
    if kind == "circle":
        pen.ellipse(box, fill=color)
    elif kind == "ring":
        pen.ellipse(box, outline=color, width=int(r / 3))
    elif kind == "square":
        pen.polygon(around(4, start=np.pi / 4), fill=color)
    elif kind == "triangle":
        pen.polygon(around(3), fill=color)
    elif kind == "star":
        pen.polygon(around(10, (1.0, 0.42)), fill=color)
    else:
        for a, b in ((0, 2), (1, 3)):
            points = around(4)
            pen.line([points[a], points[b]], fill=color, width=int(r / 2.2))
    return image


def draw_foreign(rng: np.random.Generator, size: int = 320) -> Image.Image:
    """Coarse noise in dark colors: an image of no class."""
    noise = rng.integers(0, 90, (5, 5, 3)).astype(np.uint8)
    return Image.fromarray(noise).resize((size, size), Image.Resampling.NEAREST)


def make_shapes(
    folder: Path, n: int = 300, known: int = 6, wrong: int = 0, foreign: int = 0
) -> dict[str, str]:
    """Images of shapes, the first of each kind in class folders; returns the true label of each file.

    ``wrong``: so many of them are in the folder of another class. ``foreign``: so many further images are of no class.
    """
    rng = np.random.default_rng(0)
    truth = {}
    for i in range(n):
        kind = SHAPES[i % len(SHAPES)]
        said = SHAPES[(i + 1) % len(SHAPES)] if i < wrong else kind
        place = said if i < known * len(SHAPES) else "unlabeled"
        (folder / place).mkdir(parents=True, exist_ok=True)
        file = f"{place}/shape_{i:04d}.png"
        draw_shape(kind, rng).save(folder / file)
        truth[file] = kind
    for i in range(foreign):
        draw_foreign(rng).save(folder / "unlabeled" / f"noise_{i:04d}.png")
    return truth


@contextmanager
def served(session: Session) -> Iterator[str]:
    """The page of a session on a server in a thread; yields its link."""
    with listen(0) as listener:
        port, keys = listener.getsockname()[1], Keys()
        config = uvicorn.Config(build_app(session, port, keys), log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/?token={keys.token}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


def ready(page: Any) -> None:
    """Wait until a queue is shown and its pictures are there."""
    end = time.monotonic() + 60
    done = (
        "performance.getEntriesByName('grande-ready').length > 0 && "
        "[...document.images].every((image) => image.complete || image.loading === 'lazy')"
    )
    while not page.evaluate(done):
        assert time.monotonic() < end, "the page did not get ready"
        page.wait_for_timeout(50)
    page.wait_for_timeout(300)


def shoot(page: Any, path: Path) -> None:
    """A screenshot of at most 256 colors, which is small."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(256, kmeans=4, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def open_queue(page: Any, name: str) -> None:
    """Choose a queue from the menu, or from the list on a narrow page."""
    if page.is_visible("#queues"):
        page.click(f"#queues [data-queue='{name}']")
    else:
        page.select_option("#queue", name)
    page.wait_for_timeout(300)
    ready(page)


def main() -> None:
    """Make the images, label them and take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--all", action="store_true", help="every queue, wide, narrow and dark, to look at")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        photos, out = Path(folder) / "shapes", Path(folder) / "out"
        # The pictures of every queue need something in every queue.
        more = {"known": 10, "wrong": 3, "foreign": 4} if options.all else {}
        truth = make_shapes(photos, **more)
        settings = LabelOptions(
            extractor="pixels", model="sgc", paper=True, workers=0, device="cpu", store=Path(folder) / "store"
        )
        label_images(photos, out, settings)
        session = open_session(out)
        if options.all:
            decide_some(session, truth)
        with served(session) as link, chromium() as browser:
            take_pictures(browser, link, options.out, every=options.all)
        session.close()


def decide_some(session: Session, truth: dict[str, str], n: int = 12) -> None:
    """Label the least sure images rightly, and wait for the training."""
    rows = [row for row in session.queue("unsure") if session.files[row] in truth][:n]
    for label in SHAPES:
        chosen = [row for row in rows if truth[session.files[row]] == label]
        if chosen:
            session.decide("label", chosen, label)
    session.decide("label", rows[:1], truth[session.files[rows[0]]])
    while not session.is_current:
        time.sleep(0.05)
    print({name: len(session.queue(name)) for name in ("suspicious", "outside", "changed")})


def take_pictures(browser: Any, link: str, out: Path, *, every: bool) -> None:
    """The pictures of the documentation, or every queue in every look."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.on("console", lambda message: print("console:", message.type, message.text))
    page.on("pageerror", lambda error: print("error:", error))
    page.goto(link)
    ready(page)
    queues = page.evaluate(
        "[...document.querySelectorAll('#queues [data-queue]')].map((b) => b.dataset.queue)"
    )
    looks = {"wide": (1280, 800, "light"), "phone": (390, 844, "light"), "dark": (1280, 800, "dark")}
    if not every:
        open_queue(page, "unsure")
        shoot(page, out / "review_queue.png")
        open_queue(page, "class")
        for place in (3, 4, 5):
            page.click(f".gallery li:nth-child({place}) button")
        shoot(page, out / "review_gallery.png")
        open_queue(page, "map")
        lasso(page)
        shoot(page, out / "review_map.png")
        return
    for look, (width, height, scheme) in looks.items():
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme, is_mobile=width < 600
        )
        page.on("console", lambda message: print("console:", message.type, message.text))
        page.goto(link)
        ready(page)
        for name in queues:
            open_queue(page, name)
            if name == "map":
                lasso(page)
            page.screenshot(path=str(out / f"{look}_{name}.png"), full_page=width < 600)


def lasso(page: Any) -> None:
    """Draw a line around the middle of the map."""
    page.wait_for_selector(".map canvas")
    page.wait_for_timeout(300)
    box = page.locator(".map canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    r = min(box["width"], box["height"]) / 4
    page.mouse.move(x + r, y)
    page.mouse.down()
    for k in range(1, 25):
        page.mouse.move(x + r * np.cos(2 * np.pi * k / 24), y + r * np.sin(2 * np.pi * k / 24))
    page.mouse.up()
    ready(page)


if __name__ == "__main__":
    main()
