"""The review page at work: a scripted user corrects images by keyboard; how fast and how good the answers are.

python benchmarks/review.py page --data DATA          50 corrections on Flowers17 photos in Chromium
python benchmarks/review.py agreement --data DATA     how often the quick answer equals the full training
python benchmarks/review.py large                     the quick answer and one full training on 20,000 made samples

DATA holds ``flowers17/features_lite0.npz``, ``flowers17/labels.csv`` and ``flowers17/images/``. Two images of each class are
labelled. One row per measure is appended to benchmarks/results/review.csv.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, made_features, read_rows, write_rows
from grande_gnn.labelling import Labelling, LabelOptions, label_features
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.quick import QuickAnswer, basis_of
from grande_gnn.review.session import Session

KEYS = "1234567890abcdefghijklmopqrtvwxy"
"""The keys of the classes in their order (assets/keys.js)."""


def two_per_class(truth: np.ndarray, seed: int, per_class: int = 2) -> list[str]:
    """Labels of two random images of each class, ``""`` for the others."""
    rng = np.random.default_rng(seed)
    given = [""] * len(truth)
    for name in np.unique(truth):
        for row in rng.choice(np.flatnonzero(truth == name), per_class, replace=False):
            given[row] = str(name)
    return given


def flowers(options: argparse.Namespace) -> tuple[Labelling, np.ndarray]:
    """Flowers17 with two labels per class, and the true label of every image."""
    folder = options.data / "flowers17"
    with np.load(folder / "features_lite0.npz") as file:
        X, files = file["features"].astype(np.float32), [str(name) for name in file["files"]]
        truth = np.array([str(file["classes"][label]) for label in file["labels"]])
    settings = LabelOptions(model=options.model, paper=options.paper, device="cpu")
    begin = time.perf_counter()
    labelling = label_features(X, two_per_class(truth, options.seed), files=files, options=settings)
    print(f"labelled in {time.perf_counter() - begin:.1f} s", flush=True)
    return replace(labelling, root=folder), truth


def accuracy(labels: list[str], truth: np.ndarray, counted: np.ndarray) -> float:
    """The share of right labels among the counted images."""
    return float(np.mean((np.array(labels) == truth)[counted]))


@contextmanager
def opened(labelling: Labelling) -> Iterator[Session]:
    """A session on a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), labelling)
        yield session
        session.close()


def measure_page(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fifty corrections in Chromium, as fast as the page allows."""
    from review_pictures import chromium, open_queue, ready, served

    labelling, truth = flowers(options)
    open_rows = np.array([not label for label in labelling.given])
    before = accuracy(labelling.labels, truth, open_rows)
    with opened(labelling) as session, served(session) as link, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(link)
        ready(page)
        open_queue(page, options.queue)
        key = {name: KEYS[place] for place, name in enumerate(session.classes)}
        shown = []
        begin = time.perf_counter()
        for _ in range(options.decisions):
            row = int(page.evaluate("document.getElementById('stage').dataset.row"))
            shown.append(_press(page, key[truth[row]]))
        took = time.perf_counter() - begin
        _wait(page, "document.getElementById('status').dataset.pending === '0'")
        end = time.perf_counter()
        while not session.is_current:
            assert time.perf_counter() < end + 900, "the full training takes too long"
            time.sleep(0.1)
        settled = time.perf_counter() - end
        decided = len(session.state.marks)
        after = accuracy(session.labels(), truth, open_rows)
    return [
        row_of("page", measure, value, f"queue {options.queue}, {decided} decisions")
        for measure, value in {
            "accuracy before": before,
            "accuracy after, decided images included": after,
            "decisions per minute": 60 * options.decisions / took,
            "next image shown, median ms": float(np.median(shown)),
            "next image shown, 95 % ms": float(np.quantile(shown, 0.95)),
            "full training after the last decision, s": settled,
        }.items()
    ]


def _press(page: Any, key: str) -> float:
    """Press a key; the milliseconds until another image is there, decoded, measured in the page."""
    return float(
        page.evaluate(
            """async (key) => {
          const stage = document.getElementById("stage"), before = stage.dataset.row, begin = performance.now();
          document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          while (stage.dataset.row === before) await new Promise((done) => setTimeout(done, 1));
          await stage.querySelector("img")?.decode();
          return performance.now() - begin;
        }""",
            key,
        )
    )


def _wait(page: Any, condition: str) -> None:
    end = time.perf_counter() + 60
    while not page.evaluate(condition):
        assert time.perf_counter() < end, condition
        page.wait_for_timeout(20)


def measure_agreement(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The least sure images are decided; the quick answer is compared with a full training on the same labels."""
    labelling, truth = flowers(options)
    quick = QuickAnswer(labelling, basis_of(labelling))
    given = {row: label for row, label in enumerate(labelling.given) if label}
    order = [row for row in np.argsort(labelling.confidence).tolist() if row not in given]
    rows = []
    for n in options.counts:
        now = given | {row: str(truth[row]) for row in order[:n]}
        begin = time.perf_counter()
        answer = quick.answer(now)
        quick_s = time.perf_counter() - begin
        begin = time.perf_counter()
        full = full_fit(labelling, {labelling.files[row]: label for row, label in now.items()})
        full_s = time.perf_counter() - begin
        agree = np.mean(np.array(answer.labels) == np.array(full.labels))
        stale = np.mean(np.array(labelling.labels) == np.array(full.labels))
        note = f"{n} decisions; without a quick answer {stale:.4f}"
        rows.append(row_of("agreement", "quick answer equals full training", float(agree), note))
        rows.append(row_of("agreement", "quick answer, s", quick_s, f"{n} decisions"))
        rows.append(row_of("agreement", "full training, s", full_s, f"{n} decisions"))
        print(rows[-3], flush=True)
    return rows


def measure_large(options: argparse.Namespace) -> list[dict[str, Any]]:
    """From a decision to new labels on many made samples, with the journal and the state, and one full training."""
    X, codes = made_features(options.size, 256, 40)
    truth = np.array([f"class {c:02d}" for c in codes])
    settings = LabelOptions(model=options.model, paper=options.paper, device="cpu")
    begin = time.perf_counter()
    labelling = label_features(X, two_per_class(truth, options.seed, 4), options=settings)
    labelled_s = time.perf_counter() - begin
    with opened(labelling) as session:
        session.retraining.stop()  # its training would compete with what is measured here; it is timed below
        begin = time.perf_counter()
        session.decide("label", [0], str(truth[0]))
        first = time.perf_counter() - begin
        took = []
        for row in session.queue("unsure")[: options.decisions]:
            begin = time.perf_counter()
            session.decide("label", [row], str(truth[row]))
            took.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        full_fit(session.full, session.labels_to_train())
        full_s = time.perf_counter() - begin
    return [
        row_of(
            "large", "decision to new labels, median s", float(np.median(took)), f"{options.size} samples"
        ),
        row_of("large", "first decision to new labels, s", first, f"{options.size} samples"),
        row_of("large", "full training, s", full_s, f"{options.size} samples, {options.model}"),
        row_of("large", "labelled first, s", labelled_s, f"{options.size} samples"),
    ]


def row_of(part: str, measure: str, value: float, note: str = "") -> dict[str, Any]:
    """One row of the results."""
    return {"part": part, "measure": measure, "value": round(value, 4), "note": note}


PARTS = {"page": measure_page, "agreement": measure_agreement, "large": measure_large}


def main() -> None:
    """Measure one part and append its rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--model", default="appnp")
    parser.add_argument(
        "--paper", action="store_true", help="one training with the paper's settings instead of a committee"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--decisions", type=int, default=50)
    parser.add_argument("--queue", default="unsure")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 5, 20, 50])
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=RESULTS / "review.csv")
    options = parser.parse_args()
    settings = f"{options.model}, {'paper' if options.paper else 'automatic'}"
    rows = [{**row, "settings": settings, "seed": options.seed} for row in PARTS[options.part](options)]
    write_rows([*read_rows(options.out), *rows], options.out)
    for row in rows:
        print(row["measure"], row["value"], row["note"])


if __name__ == "__main__":
    main()
