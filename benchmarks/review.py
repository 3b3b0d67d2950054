"""The review page at work: a scripted user corrects images by keyboard; how fast and how good the answers are.

python benchmarks/review.py page --data DATA          50 corrections on Flowers17 photos in Chromium
python benchmarks/review.py agreement --data DATA     how often provisional answers equal the full training
python benchmarks/review.py pace --data DATA          the same for what the page shows while a user decides without a pause
python benchmarks/review.py large                     the same, and the times, on 20,000 made samples

DATA holds ``flowers17/features_lite0.npz``, ``flowers17/labels.csv`` and ``flowers17/images/``, and for ``--sets`` other
sets of ``labelled_sets.py``. Two images of each class are labelled. One row per measure is appended to
benchmarks/results/review.csv.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, made_features, read_rows, write_rows
from grande_gnn.labelling import Labelling, LabelOptions, label_features
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.queues import QUEUES, View
from grande_gnn.review.quick import QuickAnswer, answer_of
from grande_gnn.review.session import Session
from labelled_sets import labelled_set

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
    if options.kept is not None and options.kept.exists():
        labelling = Labelling.load(options.kept)
        assert labelling.given == two_per_class(truth, options.seed), "the kept labelling has other labels"
        return replace(labelling, root=folder), truth
    settings = LabelOptions(model=options.model, paper=options.paper, device=options.device)
    begin = time.perf_counter()
    labelling = label_features(
        X, two_per_class(truth, options.seed), files=files, out=options.kept, options=settings
    )
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
        session.retraining.wait(900)  # a training that runs would disturb what is measured next


def measure_page(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Fifty corrections in Chromium, as fast as the page allows, or with a pause after each."""
    from review_pictures import chromium, open_queue, ready, served

    labelling, truth = flowers(options)
    about = f"queue {options.queue}, {options.decisions} decisions"
    if options.pause:
        about += f", a pause of {options.pause:g} ms after each"
    about_all = f"queue {options.queue}, {options.decisions + options.single} decisions"
    open_rows = np.array([not label for label in labelling.given])
    yield row_of("page", "accuracy before", accuracy(labelling.labels, truth, open_rows), about)
    with opened(labelling) as session, served(session) as link, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(link)
        ready(page)
        open_queue(page, options.queue)
        key = {name: KEYS[place] for place, name in enumerate(session.classes)}
        begin = time.perf_counter()
        shown = []
        for _ in range(options.decisions):
            shown.append(_press(page, key[truth[_row(page)]]))
            page.wait_for_timeout(options.pause)
        took = time.perf_counter() - begin
        yield row_of("page", "decisions per minute", 60 * options.decisions / took, about)
        for name, share in (("median", 0.5), ("95 %", 0.95), ("longest", 1.0)):
            yield row_of("page", f"next image shown, {name} ms", float(np.quantile(shown, share)), about)
        _wait(page, "document.getElementById('status').dataset.pending === '0'")
        page.wait_for_timeout(1000)
        answered = []
        for _ in range(options.single):  # while a full training runs
            answered.append(_answered(page, key[truth[_row(page)]]))
            page.wait_for_timeout(500)
        yield row_of(
            "page", "decision to new labels on the page, median s", float(np.median(answered)),
            f"queue {options.queue}, {options.single} decisions",
        )  # fmt: skip
        end = time.perf_counter()
        while not session.is_current:
            assert time.perf_counter() < end + 900, "the full training takes too long"
            time.sleep(0.1)
        settled, after = time.perf_counter() - end, accuracy(session.labels(), truth, open_rows)
        yield row_of("page", "full training after the last decision, s", settled, about_all)
        yield row_of("page", "accuracy after, decided images included", after, about_all)


def _row(page: Any) -> int:
    """The row of the image that the page shows."""
    return int(page.evaluate("document.getElementById('stage').dataset.row"))


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


def _answered(page: Any, key: str) -> float:
    """Press a key; the seconds until the page has the labels that follow from this decision."""
    return float(
        page.evaluate(
            """async (key) => {
          const { store } = await import("/assets/store.js");
          const before = store.state.n_decided, begin = performance.now();
          document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          while (store.state.n_decided === before) await new Promise((done) => setTimeout(done, 1));
          return (performance.now() - begin) / 1000;
        }""",
            key,
        )
    )


def _wait(page: Any, condition: str) -> None:
    end = time.perf_counter() + 60
    while not page.evaluate(condition):
        assert time.perf_counter() < end, condition
        page.wait_for_timeout(20)


def labelled(name: str, seed: int, options: argparse.Namespace) -> tuple[Labelling, np.ndarray]:
    """A set with two labels per class, and the true label of every sample."""
    X, codes = labelled_set(options.data, name)
    truth = np.array([f"class {code:03d}" for code in codes])
    settings = LabelOptions(model=options.model, paper=options.paper, device=options.device)
    return label_features(X.astype(np.float32), two_per_class(truth, seed), options=settings), truth


def queue_of(labelling: Labelling, name: str) -> list[int]:
    """The rows of a queue at the beginning, without those that have a label."""
    given, n = labelling.given, len(labelling.files)
    view = View(labelling, answer_of(labelling), labelling.labels, given, np.zeros(n, dtype=bool), [], "")
    return [row for row in QUEUES[name].rows(view) if not given[row]]


def share_equal(labels: list[str], others: list[str]) -> float:
    """The share of equal labels."""
    return float(np.mean(np.array(labels) == np.array(others)))


def measure_agreement(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The first images of a queue are decided; the quick answer is compared with a full training on these labels."""
    for name in options.sets:
        for seed in options.seeds:
            labelling, truth = labelled(name, seed, options)
            for queue in options.queues:
                order = queue_of(labelling, queue)
                for n in options.counts:
                    about = f"{name}, seed {seed}, queue {queue}, {n} decisions"
                    yield from compared(labelling, truth, order[:n], "agreement", about)


def compared(
    labelling: Labelling, truth: np.ndarray, decided: list[int], part: str, about: str
) -> list[dict[str, Any]]:
    """How often the quick answer after some decisions equals the full training, and how long each takes."""
    quick = QuickAnswer(labelling)
    now = {row: label for row, label in enumerate(labelling.given) if label}
    now |= {row: str(truth[row]) for row in decided}
    labels = {labelling.files[row]: label for row, label in now.items()}
    quick.answer(now)  # what is made once
    answer, quick_s = timed(lambda: quick.answer(now))
    full, full_s = timed(lambda: full_fit(labelling, labels))
    measures = {
        "labels before equal full training": share_equal(labelling.labels, full.labels),
        "quick answer equals full training": share_equal(answer.labels, full.labels),
        "full training with the members' earlier weights equals it": share_equal(
            with_weights_of(labelling, full), full.labels
        ),
        "quick answer, s": quick_s,
        "full training, s": full_s,
    }
    print(about, {key: round(value, 4) for key, value in measures.items()}, flush=True)
    return [row_of(part, measure, value, about) for measure, value in measures.items()]


def with_weights_of(before: Labelling, full: Labelling) -> list[str]:
    """The labels of a full training if its members had the temperatures and weights of an earlier one."""
    earlier, own = before.classifier.committee_, full.classifier.committee_
    assert earlier.graph_free is own.graph_free is None, "a member without a graph has joined or left"
    p = sum(
        then.weight * then.probabilities(now.fitted_logits())
        for then, now in zip(earlier.members, own.members, strict=True)
    )
    names = full.classifier.classes_[np.argmax(p, axis=1)]
    return [given or str(name) for given, name in zip(full.given, names, strict=True)]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` returns, and its seconds."""
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def measure_pace(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A user decides one image every few seconds; at random moments, the shown labels are compared with a full training."""
    for name in options.sets:
        for seed in options.seeds:
            labelling, truth = labelled(name, seed, options)
            for every in options.every:
                yield from paced(
                    labelling, truth, every, options, f"{name}, seed {seed}, a decision every {every:g} s"
                )


def paced(
    labelling: Labelling, truth: np.ndarray, every: float, options: argparse.Namespace, about: str
) -> list[dict[str, Any]]:
    """Decisions at one pace, with the trainings of a real session beside them."""
    rng = np.random.default_rng(0)
    seen, took, ages = [], [], []
    with opened(labelling) as session:
        for _ in range(options.decisions):
            begin = time.perf_counter()
            row = session.queue(options.queue)[0]
            session.decide("label", [row], str(truth[row]))
            took.append(time.perf_counter() - begin)
            moment = rng.uniform(0, every)
            time.sleep(max(0.0, moment - (time.perf_counter() - begin)))
            with session.lock:
                seen.append((session.labels_to_train(), session.labels()))
                trained = dict(zip(session.files, session.full.given, strict=True))
                ages.append(sum(trained[file] != label for file, label in seen[-1][0].items()))
            time.sleep(max(0.0, every - (time.perf_counter() - begin)))
    chosen = np.linspace(1, len(seen) - 1, options.moments).astype(int)
    equal = [share_equal(seen[i][1], full_fit(labelling, seen[i][0]).labels) for i in chosen]
    measures = {
        "shown labels equal full training, mean": float(np.mean(equal)),
        "shown labels equal full training, least": float(np.min(equal)),
        "decisions since the last full training, mean": float(np.mean(ages)),
        "decisions since the last full training, most": float(np.max(ages)),
        "decision to new labels, median s": float(np.median(took)),
    }
    print(about, measures, flush=True)
    return [
        row_of("pace", measure, value, f"{about}, queue {options.queue}")
        for measure, value in measures.items()
    ]


def measure_large(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """From a decision to new labels on many made samples, with the journal and the state, and full trainings."""
    X, codes = made_features(options.size, 256, 40)
    truth = np.array([f"class {c:02d}" for c in codes])
    settings = LabelOptions(model=options.model, paper=options.paper, device=options.device)
    given = two_per_class(truth, options.seed, 4)
    labelling, labelled_s = timed(lambda: label_features(X, given, options=settings))
    about = f"{options.size} samples"
    again = label_features(X, given, options=replace(settings, seed=1))
    right = [float(np.mean(np.array(one.labels) == truth)) for one in (labelling, again)]
    yield from [
        row_of("large", "labels with another seed equal", share_equal(labelling.labels, again.labels), about),
        row_of("large", "accuracy", right[0], f"{about}, seed 0"),
        row_of("large", "accuracy", right[1], f"{about}, seed 1"),
    ]
    with opened(labelling) as session:
        session.close()  # its trainings would compete with what is measured here; they are timed below
        begin = time.perf_counter()
        session.decide("label", [0], str(truth[0]))
        first = time.perf_counter() - begin
        took = []
        for row in session.queue("unsure")[: options.decisions]:
            begin = time.perf_counter()
            session.decide("label", [row], str(truth[row]))
            took.append(time.perf_counter() - begin)
    yield from [
        row_of("large", "decision to new labels, median s", float(np.median(took)), about),
        row_of("large", "first decision to new labels, s", first, about),
        row_of("large", "labelled first, s", labelled_s, about),
    ]
    order = queue_of(labelling, "unsure")
    for n in options.counts:
        yield from compared(labelling, truth, order[:n], "large", f"{about}, queue unsure, {n} decisions")


def row_of(part: str, measure: str, value: float, note: str = "") -> dict[str, Any]:
    """One row of the results."""
    return {"part": part, "measure": measure, "value": round(value, 4), "note": note}


PARTS = {"page": measure_page, "agreement": measure_agreement, "pace": measure_pace, "large": measure_large}


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
    parser.add_argument(
        "--single", type=int, default=11, help="decisions after which the page waits for their labels"
    )
    parser.add_argument("--pause", type=float, default=0, help="milliseconds after each decision of page")
    parser.add_argument("--queue", default="useful")
    parser.add_argument("--queues", nargs="+", default=["useful", "unsure"], help="for agreement")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--kept", type=Path, help="folder of the first labelling of page, if it was made before"
    )
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--sets", nargs="+", default=["flowers17"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="draws of the given labels")
    parser.add_argument("--every", type=float, nargs="+", default=[0.5, 2.0], help="seconds per decision")
    parser.add_argument("--moments", type=int, default=10, help="full trainings for comparison at each pace")
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--note", default="", help="what sets these rows apart, added to the note of each")
    parser.add_argument("--out", type=Path, default=RESULTS / "review.csv")
    options = parser.parse_args()
    settings = f"{options.model}, {'paper' if options.paper else 'automatic'}"
    for row in PARTS[options.part](options):
        row["note"] += options.note and f", {options.note}"
        write_rows(
            [*read_rows(options.out), {**row, "settings": settings, "seed": options.seed}], options.out
        )
        print(row["measure"], row["value"], row["note"], flush=True)


if __name__ == "__main__":
    main()
