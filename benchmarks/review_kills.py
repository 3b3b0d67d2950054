"""Kill the review server with SIGKILL at random moments of scripted work, and see that nothing called saved is lost.

python benchmarks/review_kills.py --kills 100 --out benchmarks/results/review_kills.csv

Each row is appended at once, so that the kills can be done in several runs with different seeds.

Each round starts ``grande review`` on the same folder, labels images, undoes, renames, audits and saves through the server's
own requests, kills the process at a random moment, and then reads the folder as the next process would: every decision
that the server had confirmed must be in the journal, and the files of the labelling must be whole. In every other round the
moment is one at which the files are being written: the kill comes a moment after their temporary folder has appeared.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from grande_gnn.labelling import Labelling, LabelOptions, label_images
from grande_gnn.labelling.decisions import Journal

COLUMNS = (
    "seed",
    "round",
    "killed_after_s",
    "confirmed",
    "journal_lines",
    "saves",
    "lost",
    "folder",
    "moment",
)


def make_labelling(folder: Path, n: int = 48) -> Path:
    """A small labelling of colored noise; returns its folder."""
    rng = np.random.default_rng(0)
    photos = folder / "photos"
    for i in range(n):
        pixels = rng.integers(0, 110, size=(32, 32, 3))
        pixels[..., i % 3] += 120
        place = photos / ("red", "green", "blue")[i % 3] if i < n // 4 else photos
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{i:03d}.png")
    options = LabelOptions(
        extractor="pixels", model="sgc", paper=True, workers=0, device="cpu", store=folder / "store"
    )
    label_images(photos, folder / "out", options)
    return folder / "out"


class Server:
    """``grande review`` in a process of its own, and its requests."""

    def __init__(self, out: Path) -> None:
        command = [sys.executable, "-m", "grande_gnn.cli", "review", str(out), "--no-browser"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        link = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line)
        assert link is not None, f"no link in {line!r}"
        self.port = int(link[1])
        self.base = f"http://127.0.0.1:{self.port}"
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            opener.open(f"{self.base}/?token={link[2]}", timeout=10)
        except urllib.error.HTTPError as answer:
            self.cookie = str(answer.headers["set-cookie"]).split(";")[0]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request that changes something; raises OSError if the server is gone."""
        headers = {"cookie": self.cookie, "origin": self.base, "content-type": "application/json"}
        request = urllib.request.Request(f"{self.base}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return dict(json.loads(answer.read()))

    def kill(self) -> None:
        """SIGKILL: nothing can be tidied up."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        """Keep the answer with the cookie."""


def work(
    server: Server, rng: random.Random, n: int, confirmed: list[tuple[int, str]], saves: list[int]
) -> None:
    """Scripted work until the server is gone; every confirmed decision is noted."""
    labels = ["red", "green", "blue", "violet"]
    try:
        while True:
            dice = rng.random()
            if dice < 0.78:
                rows = rng.sample(range(n), rng.choice([1, 1, 1, 5]))
                body = {"kind": rng.choice(["label", "label", "none", "skip"]), "rows": rows}
                answer = server.post("/api/decide", body | {"label": rng.choice(labels)})
                confirmed.append((answer["id"], str(body["kind"])))
            elif dice < 0.94:
                server.post("/api/undo", {})
            else:
                server.post("/api/save", {})
                saves.append(1)
    except (OSError, ValueError, urllib.error.HTTPError):
        return  # killed


def one_round(out: Path, number: int, rng: random.Random) -> dict[str, object]:
    """Start, work, kill, and look at what is left."""
    n = len(Labelling.load(out).files)
    server = Server(out)
    confirmed: list[tuple[int, str]] = []
    saves: list[int] = []
    worker = threading.Thread(target=work, args=(server, rng, n, confirmed, saves))
    worker.start()
    begin, moment = time.monotonic(), "working"
    if number % 2:
        time.sleep(rng.uniform(0.02, 2.5))
    else:
        moment = "writing" if _appears(out) else "working"
        time.sleep(rng.uniform(0.0, 0.3))
    wait = time.monotonic() - begin
    server.kill()
    worker.join(70)
    journal = Journal(out)
    written = {decision.id: decision.kind for decision in journal.decisions}
    lost = [one for one in confirmed if written.get(one[0]) != one[1]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            whole = Labelling.load(out)
        folder = "whole" if len(whole.files) == n and whole.classifier is not None else "incomplete"
    except Exception as error:
        folder = f"{type(error).__name__}: {error}"
    return {
        "round": number, "killed_after_s": round(wait, 3), "confirmed": len(confirmed),
        "journal_lines": len(journal.decisions), "saves": len(saves), "lost": len(lost), "folder": folder,
        "moment": moment,
    }  # fmt: skip


def _appears(out: Path, seconds: float = 30) -> bool:
    """Wait until the server begins to write the files of the labelling; False if that takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(out.glob(".grande-*.part")):
            return True
        time.sleep(0.005)
    return False


def run(kills: int, seed: int = 0, out_file: Path | None = None) -> list[dict[str, object]]:
    """So many rounds on one folder."""
    rng = random.Random(seed)
    folder = Path(tempfile.mkdtemp())
    rows = []
    try:
        out = make_labelling(folder)
        for number in range(1, kills + 1):
            rows.append({"seed": seed, **one_round(out, number, rng)})
            print(rows[-1], flush=True)
            if out_file is not None:
                append(out_file, rows[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def append(path: Path, row: dict[str, object]) -> None:
    """Add a row to the results."""
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main() -> int:
    """The command line; the exit status is 1 if anything was lost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = run(options.kills, options.seed, options.out)
    bad = [row for row in rows if row["lost"] or row["folder"] != "whole"]
    confirmed = sum(int(str(row["confirmed"])) for row in rows)
    print(f"{len(rows)} kills, {confirmed} confirmed decisions, {len(bad)} rounds with a loss")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
