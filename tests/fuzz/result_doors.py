"""Doors for what a labelling or an experiment leaves behind."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from functools import cached_property

import mutators
import numpy as np
from door import Door, X, require, written

from grande_gnn import GrandeClassifier
from grande_gnn.errors import GrandeError
from grande_gnn.experiments.rows import Row, RowStore
from grande_gnn.experiments.trials import Trial
from grande_gnn.images.problems import Problem, write_problems
from grande_gnn.internal.csv_file import write_csv
from grande_gnn.labelling.assess import assess
from grande_gnn.labelling.corrections import apply_decisions
from grande_gnn.labelling.decisions import Decision, Journal
from grande_gnn.labelling.exports.class_ids import class_list, read_class_ids, updated_ids, write_class_ids
from grande_gnn.labelling.label_sets import LabelSets
from grande_gnn.labelling.result import Labelling, read_predictions, write_predictions
from grande_gnn.review import server
from grande_gnn.review.session import Session

SHARE = {"value": 0.8, "low": 0.7, "high": 0.9, "n": 30}


class Settings(Door):
    name = "settings"
    ways = (mutators.blind, mutators.json_field, mutators.json_field, mutators.json_field)

    def make(self):
        estimate = {
            "accuracy": SHARE, "class_accuracy": {"a": SHARE}, "note": "estimated",
            "bins": [{"low": 0.0, "high": 0.5, "count": 3, "confidence": 0.2, "accuracy": 0.0}],
        }  # fmt: skip
        settings = {
            "version": "0.2.0",
            "extractor": "pixels",
            "weights": "pixels-1",
            "seed": 0,
            "temperature": 1.5,
        }
        old = settings | {"offset": 0.25}
        made = {"coverage": 0.9, "method": "split", "n": 40, "warning": ""}
        new = old | {
            "slope": 1.25, "estimate": estimate | {"doubts": ["few labels"], "sets_made": made},
            "adapt": {"form": "last", "used": "frozen", "held_out": {"frozen": 3, "adapted": 2}},
            "members": [{"graph": "knn", "weight": 0.75}, {"graph": None, "weight": 0.25}], "corrections": 3,
        }  # fmt: skip
        return [
            {"settings.json": json.dumps(content, indent=1).encode()}
            for content in (old, old | {"offset": None, "images": "../photos", "estimate": estimate}, new)
        ]

    def read(self, folder, files):
        write_predictions(folder / "predictions.csv", TABLE)
        (folder / "problems.csv").write_text("file,reason\n")
        got = Labelling.load(folder)
        slow = json.loads(files["settings.json"])
        require(
            got.calibration.temperature == slow["temperature"] and got.calibration.offset == slow["offset"],
            "other numbers",
        )
        p = got.calibration.probabilities(np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]))
        require(np.isfinite(p).all() and p.min() >= 0 and np.allclose(p.sum(axis=1), 1), "no confidences")
        estimate = slow.get("estimate") or {}
        for one, theirs in (
            (got.accuracy, estimate.get("accuracy")),
            (got.sets_made, estimate.get("sets_made")),
        ):
            require(vars(one) == theirs if one is not None else theirs is None, "another estimate")
        require(
            {name: vars(one) for name, one in got.class_accuracy.items()}
            == estimate.get("class_accuracy", {}),
            "other accuracies of classes",
        )
        require(got.calibration.slope == slow.get("slope", got.calibration.slope), "another slope")
        shown = [got.accuracy, *got.class_accuracy.values()]
        require(all(one is None or 0 <= one.value <= 1 for one in shown), "an accuracy outside [0, 1]")
        got.summary()


TABLE = Labelling(
    ["a.jpg", "b,\"é.jpg", "\udcff.jpg"], ["x", "y", "x"], np.array([0.5, 1.0, 0.25]), ["y", "x", "y"],
    np.array([0.1, -0.5, 0.0]), ["", "y", ""], np.array([True, False, False]), np.array([False, False, True]),
)  # fmt: skip


def slow_set(cell: str) -> list[str]:
    """The labels of a cell: a character after a backslash stands for itself."""
    letters = re.findall(r"\\.|\\$|[^\\]", cell, re.DOTALL)
    parts: list[str] = [""] if cell else []
    for letter in letters:
        if letter == "|":
            parts.append("")
        else:
            parts[-1] += letter[-1] if letter != "\\" else ""
    return parts


class Predictions(Door):
    name = "predictions"

    def make(self):
        more = replace(
            TABLE, unfamiliar=np.array([0.5, 1.0, 0.0]), is_unfamiliar=np.array([False, True, False]),
            label_sets=[["x", "a|b", "c\\d"], [], ["x"]], sets_made=LabelSets(0.9, "split", 40),
            copy_of=["", "", "a.jpg"], provenance=["predicted", "given", "corrected"],
            decided=["", "", "2026-01-01T00:00:00"],
        )  # fmt: skip
        return [
            written(lambda path, table=table: write_predictions(path, table), "predictions.csv")
            for table in (TABLE, more)
        ]

    def read(self, folder, files):
        got = read_predictions(folder / "predictions.csv")
        text = files["predictions.csv"].decode("utf-8-sig", "surrogateescape")
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        place = {name: header.index(name) for name in ("file", "label", "confidence", "margin")}
        require(
            got.files == [row[place["file"]] if len(row) > place["file"] else "" for row in rows],
            "other files",
        )
        require(
            got.labels == [row[place["label"]] if len(row) > place["label"] else "" for row in rows],
            "other labels",
        )
        require(
            got.confidence.tolist() == [float(row[place["confidence"]]) for row in rows], "other confidences"
        )
        require(
            all(0 <= c <= 1 for c in got.confidence) and all(-1 <= m <= 1 for m in got.margin),
            "outside the range",
        )
        for name, column in (
            ("copy_of", got.copy_of),
            ("label_set", got.label_sets),
            ("provenance", got.provenance or None),
        ):
            if column is not None:
                cells = [row[header.index(name)] if len(row) > header.index(name) else "" for row in rows]
                require(
                    column == (list(map(slow_set, cells)) if name == "label_set" else cells), f"other {name}"
                )


class Rows(Door):
    name = "rows"
    ways = (mutators.blind, mutators.json_line, mutators.json_line)

    def make(self):
        def save(path):
            with RowStore(path) as store:
                for fold in range(3):
                    trial = Trial(
                        "own", "x", "grande", 10, fold, 0, 0, model="sgc", sigma=0.1, options=(("a", 1),)
                    )
                    error = "ValueError: no" if fold == 2 else None
                    store.append([Row(trial, "f" * 16, "here", 0.5, 7, None if error else 100 / 3, error)])

        return [written(save, "rows.jsonl")]

    def read(self, folder, files):
        with RowStore(folder / "rows.jsonl") as store:
            got = [*store.finished.values(), *store.failed.values()]
        data = files["rows.jsonl"]
        lines = [json.loads(line) for line in data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]]
        known = {(one.get("accuracy"), one["seconds"], one["fold"], one["dataset"]) for one in lines}
        for row in got:
            require(
                (row.accuracy, row.seconds, row.trial.fold, row.trial.dataset) in known,
                "a row that is not in the file",
            )
            require(row.error is not None or 0 <= row.accuracy <= 100, "an accuracy outside [0, 100]")
            require(Row.from_json(row.to_json()) == row, "a row that cannot be written again")


class Corrections(Door):
    name = "corrections"
    ways = Rows.ways

    def make(self):
        def save(path):
            journal = Journal(path.parent)
            journal.append(Decision("label", ("1.jpg", "\udcff.jpg"), "cat"))
            journal.append(Decision("rename", old="cat", label="dog"))
            journal.append(Decision("undo", of=2))
            journal.append(Decision("audit-start", ("2.jpg", "1.jpg"), population=9, expected=0.75))
            journal.append(Decision("audit", ("2.jpg",), "dog"))
            journal.append(Decision("audit-end", ("2.jpg",)))
            journal.append(Decision("merge", old="dog", label="cat"))
            journal.append(Decision("none", ("2.jpg",)))
            journal.append(Decision("start", given={"1.jpg": "dog"}))

        return [written(save, "corrections.jsonl")]

    def read(self, folder, files):
        journal = Journal(folder)
        data = files["corrections.jsonl"]
        lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        require(len(journal.decisions) + len(journal.problems) == len(lines), "a line was lost")
        contents = []
        for line in lines:
            try:
                contents.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
        rest = iter(content for content in contents if isinstance(content, dict))
        for decision in journal.decisions:  # in the order of the file
            shown = {"kind": decision.kind, "id": decision.id, "time": decision.time}
            for name in ("label", "old", "of", "population"):
                shown |= {name: getattr(decision, name)} if getattr(decision, name) else {}
            shown |= {"files": list(decision.files)} if decision.files else {}
            shown |= {"given": dict(decision.given)} if decision.given else {}
            require(
                any(all(content.get(key) == value for key, value in shown.items()) for content in rest),
                "a decision that nobody wrote",
            )
            require(
                Decision.from_line(decision.line()) == decision, "a decision that cannot be written again"
            )
        labels = apply_decisions(journal.decisions, {"1.jpg": "cat", "2.jpg": "dog"}).given
        require(all(isinstance(label, str) for label in labels.values()), "a label that is no text")


class ResultTables(Door):
    """The problems and the texts of a labelling."""

    name = "result-tables"

    def make(self):
        texts = [(file, f"text\nof {file}") for file in TABLE.files]
        problems = [Problem("x.jpg", "empty"), Problem("\udcff,.jpg", 'damaged: "x"')]
        return [
            written(lambda path: write_csv(path, ["file", "text"], texts), "texts.csv")
            | written(lambda path: write_problems(path, problems), "problems.csv")
        ]

    def read(self, folder, files):
        write_predictions(folder / "predictions.csv", TABLE)
        (folder / "settings.json").write_text('{"temperature": 1, "offset": null}')
        got = Labelling.load(folder)
        slow = {}
        for name in files:
            text = files[name].decode("utf-8-sig", "surrogateescape")
            header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
            places = [header.index(column) for column in ("file", header_of(name))]
            slow[name] = [row[i] if i < len(row) else "" for row in rows for i in places]
        require(
            [cell for pair in zip(got.files, got.texts, strict=True) for cell in pair] == slow["texts.csv"],
            "other texts",
        )
        shown = [cell for problem in got.problems for cell in (problem.file, problem.reason)]
        require(shown == slow["problems.csv"], "other problems")


def header_of(name: str) -> str:
    return "text" if name == "texts.csv" else "reason"


class ClassNumbers(Door):
    name = "classes"
    ways = (mutators.blind, mutators.json_field, mutators.json_field)

    def make(self):
        ids = {"rose": 0, "da,isy": 1, "\udcff": 4}
        return [written(lambda path: write_class_ids(path, ids), "classes.json")]

    def read(self, folder, files):
        got = read_class_ids(folder / "classes.json")
        slow = json.loads(files["classes.json"])["classes"]
        require(list(got.items()) == [(one["name"], one["id"]) for one in slow], "other numbers")
        names = class_list(updated_ids(got, ["rose", "tulip"]))
        require(
            len(set(got.values())) == len(got) and all(names[number] == name for name, number in got.items()),
            "lost",
        )


class Silent(Session):
    """A review that never trains."""

    def _train(self) -> None:
        pass

    def _answer_quickly(self) -> None:
        pass


class Requests(Door):
    """What the page sends, in the order in which it comes: each is refused, or its decision is in the journal."""

    name = "requests"
    ways = Rows.ways

    @cached_property
    def labelling(self) -> Labelling:
        """Twelve samples in two classes."""
        given = ["a", "b", "a", "b", "a", "b", *[""] * 6]
        clf = GrandeClassifier("sgc", n_neighbors=4, epochs=2, device="cpu", random_state=0).fit(X, given)
        return assess(clf, given, [f"{i}.jpg" for i in range(12)])

    def make(self):
        assert self.labelling
        bodies = [
            {"do": "decide", "kind": "label", "rows": [7, 8], "label": "a"},
            {"do": "decide", "kind": "rename", "old": "a", "label": "c"},
            {"do": "undo", "id": 2},
            {"do": "audit", "action": "start"},
            {"do": "audit", "action": "judge", "row": 9, "label": "b"},
            {"do": "audit", "action": "end"},
            {"do": "queue", "name": "unsure", "label": "a"},
        ]
        return [{"requests.jsonl": b"".join(json.dumps(body).encode() + b"\n" for body in bodies)}]

    def read(self, folder, files):
        session = Silent(folder, self.labelling)
        answers = {"decide": server._decide, "undo": server._undo, "audit": server._audit, "queue": ask_queue}
        for line in files["requests.jsonl"].split(b"\n"):
            try:
                body = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(body, dict) or body.get("do") not in list(answers):
                continue
            before = len(session.journal.decisions)
            try:
                answer = answers[body["do"]](session, body)
            except GrandeError as error:
                require("\n" not in str(error) and len(str(error)) < 5000, "not one sentence")
                require(len(session.journal.decisions) == before, "refused, yet written")
                continue
            json.dumps(answer, allow_nan=False).encode("ascii")
            if body["do"] == "decide":
                last = session.journal.decisions[-1]
                require(last.kind == body["kind"] and answer["id"] == last.id, "another decision")
                require(list(last.files) == [f"{row}.jpg" for row in dict.fromkeys(body.get("rows", []))] or not last.files,
                        "other samples")  # fmt: skip
                require(last.label == body.get("label", "").strip() or not last.label, "another label")
        session.close()
        require(
            Journal(folder).decisions == session.journal.decisions,
            "the journal differs from what was answered",
        )
        require(not Journal(folder).problems, "a line that cannot be read again")


def ask_queue(session: Session, body: dict[str, object]) -> dict[str, object]:
    """The rows of a queue."""
    name, label = server._text(body, "name"), server._text(body, "label")
    return {"rows": session.queue(name, label)}
