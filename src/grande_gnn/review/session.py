"""One review: a labelling, the journal of decisions, and the answer that follows from both.

A decision is written to the journal first. Then the quick answer takes it into account, and a full training is requested,
whose answer replaces the quick one. ``version`` grows whenever the page has something new to show.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from grande_gnn.errors import InvalidInputError
from grande_gnn.labelling.corrections import MARK, Corrections, apply_decisions, standing
from grande_gnn.labelling.decisions import Decision, Journal, check_class_name
from grande_gnn.labelling.result import Labelling
from grande_gnn.report.formats import natural_key
from grande_gnn.review.full_fit import full_fit
from grande_gnn.review.queues import MAX_ROWS, QUEUES, View
from grande_gnn.review.quick import QuickAnswer, answer_of
from grande_gnn.review.retraining import Retraining

__all__ = ["Session"]


class Session:
    """The state behind the page; every method may be called from any thread.

    Parameters
    ----------
    folder : the folder of the labelling, in which the journal lies.
    labelling : what it holds, or what follows from it (:mod:`grande_gnn.review.opening`).
    joined : labels of images that are new in ``labelling``, which the files of the folder do not include yet.
    """

    def __init__(self, folder: Path, labelling: Labelling, joined: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.files = labelling.files
        self.row_of = {file: row for row, file in enumerate(self.files)}
        self.journal = Journal(folder)
        self.full = labelling
        self.answer = answer_of(labelling)
        self.changes: dict[int, str] = {}
        """For each image whose label the latest full training changed, the label before it."""
        self.version = 1
        self.problem = ""
        """Why the latest training failed, or what is missing from this review; ``""`` if nothing is wrong."""
        mark = labelling.settings.get(MARK, 0)
        self.written = mark if isinstance(mark, int) else 0
        """The number of the last decision that the files of the folder include."""
        self.answered_at = time.monotonic()
        self.lock = threading.RLock()
        self.writing = threading.Lock()
        """Held while the files of the folder are rewritten."""
        self._first = sorted({label for label in labelling.given if label}, key=natural_key)
        self._worker = ThreadPoolExecutor(1, "grande-quick")
        self._first_quick = self._begin_quick(labelling)
        self._quick: QuickAnswer | None = None
        self._start(joined)
        self.retraining = Retraining(lambda labels: full_fit(self.full, labels), self._trained, self._failed)
        self.state = self._folded()
        self._settled = self.labels()
        if self.labels_to_train() != self._trained_on():
            self._answer_quickly()
            self._train()

    # -- what is known ------------------------------------------------------------------------------

    def _start(self, joined: Mapping[str, str] | None) -> None:
        """Note the labels given before the review, at the latest with the first decision.

        If the files were not written by a review, ``grande label`` ran again: the labels that it was given count now.
        """
        starts = [d for d in self.journal.decisions if d.kind == "start"]
        self._needs_start = not starts
        if joined is not None:
            self.written = -1
        if starts and joined:
            self.journal.append(Decision("start", given={**starts[-1].given, **joined}))
        elif starts and MARK not in self.full.settings and dict(starts[-1].given) != self._trained_on():
            self.journal.append(Decision("start", given=self._trained_on()))

    def _folded(self) -> Corrections:
        given = {file: label for file, label in zip(self.files, self.full.given, strict=True) if label}
        return apply_decisions(self.journal.decisions, given)

    def _trained_on(self) -> dict[str, str]:
        return {file: label for file, label in zip(self.files, self.full.given, strict=True) if label}

    def labels_to_train(self) -> dict[str, str]:
        """The labels that people gave the images of this labelling; those of images that are gone are left out."""
        return {file: label for file, label in self.state.given.items() if file in self.row_of}

    @property
    def classes(self) -> list[str]:
        """The classes in the order of their keys, which never changes: those given first, then new ones."""
        first = [self.state.name(name) for name in self._first]
        return list(dict.fromkeys([*first, *self.state.new_classes, *self.state.original.values()]))

    @property
    def is_current(self) -> bool:
        """Whether the answer is that of a full training with all decisions."""
        return not self.answer.is_provisional and self.labels_to_train() == self._trained_on()

    def labels(self) -> list[str]:
        """The present label of every image: the decided one, or that of the answer."""
        with self.lock:
            given, rejected, name = self.state.given, self.state.rejected, self.state.name
            return [
                "" if file in rejected else given.get(file) or name(answer)
                for file, answer in zip(self.files, self.answer.labels, strict=True)
            ]

    def view(self, label: str = "") -> View:
        """What the queues look at."""
        with self.lock:
            given = self.state.given
            waiting = (
                set() if self.state.audit is None or self.state.audit.is_over else {*self.state.audit.judged}
            )
            done = [
                file in self.state.marks or file in self.state.skipped or file in waiting
                for file in self.files
            ]
            return View(
                self.full, self.answer, self.labels(), [given.get(file, "") for file in self.files],
                np.array(done), list(self.changes), label,
            )  # fmt: skip

    def queue(self, name: str, label: str = "") -> list[int]:
        """The first rows of a queue."""
        if name not in QUEUES:
            raise InvalidInputError(f"queue must be one of {', '.join(QUEUES)}; got {name[:40]!r}")
        return [int(row) for row in QUEUES[name].rows(self.view(label))[:MAX_ROWS]]

    # -- decisions ----------------------------------------------------------------------------------

    def decide(self, kind: str, rows: Sequence[int] = (), label: str = "", old: str = "") -> Decision:
        """Write a decision about some images or a class; it is on the disk when this returns."""
        with self.lock:
            self.refresh()
            return self.write(self._checked(kind, rows, label, old))

    def _checked(self, kind: str, rows: Sequence[int], label: str, old: str) -> Decision:
        files = tuple(self.files[row] for row in self.check_rows(rows))
        if kind in ("label", "none", "skip") and not files:
            raise InvalidInputError("a decision needs at least one sample: select some; got none")
        if kind == "label":
            return Decision(kind, files, self.check_label(label))
        if kind in ("none", "skip"):
            return Decision(kind, files)
        if kind not in ("rename", "merge"):
            raise InvalidInputError(f"unknown kind of decision; got {kind[:40]!r}")
        new = self.check_label(label)
        if old not in self.classes or new == old:
            raise InvalidInputError(
                f"name a class that exists and another name for it; got {old[:40]!r} and {new!r}"
            )
        if kind == "rename" and new in self.classes:
            raise InvalidInputError(
                f"a class of that name exists: choose another name, or merge the two classes; got {new!r}"
            )
        if kind == "merge" and new not in self.classes:
            raise InvalidInputError(f"a class is merged into one that exists; got {new!r}")
        return Decision(kind, old=old, label=new)

    def check_label(self, label: str) -> str:
        """The name of a class that exists, whatever its characters, or of a new one, which must be printable."""
        return label if label in self.classes else check_class_name(label)

    def check_rows(self, rows: object) -> list[int]:
        """Row numbers of this labelling, each once."""
        if not isinstance(rows, (list, tuple)) or not all(
            type(row) is int and 0 <= row < len(self.files) for row in rows
        ):
            raise InvalidInputError(
                f"samples are numbered from 0 to {len(self.files) - 1}; got something else"
            )
        return list(dict.fromkeys(rows))

    def undo(self, number: int | None = None) -> Decision | None:
        """Undo a decision, by default the latest; returns it, or None if there is nothing to undo."""
        with self.lock:
            self.refresh()
            counting = [d for d in standing(self.journal.decisions) if d.kind != "start"]
            found = [d for d in counting if number is None or d.id == number]
            if not found:
                return None
            self.journal.append(Decision("undo", of=found[-1].id))
            self._take_over()
            return found[-1]

    def refresh(self) -> None:
        """Take over what other processes have written to the journal."""
        with self.lock:
            if self.journal.refresh():
                self._needs_start = self._needs_start and not any(
                    d.kind == "start" for d in self.journal.decisions
                )
                self._take_over()

    def write(self, decision: Decision) -> Decision:
        """Append a decision that was checked before; it is on the disk when this returns."""
        with self.lock:
            if self._needs_start:
                self.journal.append(Decision("start", given=self._trained_on()))
                self._needs_start = False
            written = self.journal.append(decision)
            self._take_over()
            return written

    def _take_over(self) -> None:
        """Update the state after the journal has grown."""
        before = self.labels_to_train()
        self.state = self._folded()
        self.version += 1
        now = self.labels_to_train()
        if now == before:
            return
        if now != {file: self.state.name(label) for file, label in before.items()} or self._is_merged(before):
            self._answer_quickly()
        self._train()

    def _is_merged(self, labels: Mapping[str, str]) -> bool:
        """Whether classes of these labels have become one; a class that only got another name has the same images."""
        names = set(labels.values())
        return len({self.state.name(name) for name in names}) < len(names)

    # -- answers ------------------------------------------------------------------------------------

    def _begin_quick(self, labelling: Labelling) -> Future[QuickAnswer] | None:
        """Prepare quick answers in the background, as soon as there is a model."""
        if labelling.classifier is None:
            return None
        return self._worker.submit(QuickAnswer, labelling)

    def _latest_quick(self) -> QuickAnswer | None:
        """Quick answers that start from the latest full training; None before there is a model."""
        if self._quick is None and self._first_quick is not None:
            self._quick = self._first_quick.result()
        return self._quick

    def _answer_quickly(self) -> None:
        quick = self._latest_quick()
        if quick is None:
            return
        given = {self.row_of[file]: label for file, label in self.labels_to_train().items()}
        self.answer = quick.answer(given)
        self.answered_at = time.monotonic()
        self.version += 1

    def _train(self) -> None:
        labels = self.labels_to_train()
        if len(set(labels.values())) > 1:
            self.retraining.request(labels)

    def _trained(self, full: Labelling, labels: Mapping[str, str]) -> None:
        """A full training is finished; decisions made meanwhile are added to its answer."""
        before = self._latest_quick()
        # This takes a moment, so it is done before the lock is taken.
        quick = QuickAnswer(full) if before is None else before.after(full)
        with self.lock:
            self.full, self.problem = full, ""
            self._quick, self._first_quick = quick, None
            if dict(labels) == self.labels_to_train():
                self.answer = answer_of(full)
            else:
                self._answer_quickly()
            self.answered_at = time.monotonic()
            self.version += 1
            self._note_changes()
            self._settled = self.labels()

    def _note_changes(self) -> None:
        decided = {self.row_of[file] for file in self.labels_to_train()}
        self.changes = {
            row: old
            for row, (old, new) in enumerate(zip(self._settled, self.labels(), strict=True))
            if self.state.name(old) != new and row not in decided
        }

    def _failed(self, reason: str) -> None:
        with self.lock:
            self.problem = reason
            self.version += 1

    def close(self) -> None:
        """Begin no further training."""
        self.retraining.stop()
        self._worker.shutdown(wait=False, cancel_futures=True)
