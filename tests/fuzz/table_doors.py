"""Doors for tables that people write: edges, labels and texts."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata

import numpy as np
from door import Door, require

from grande_gnn.graph.graph_files import load_graph
from grande_gnn.images.labels_csv import read_label_csv
from grande_gnn.texts import read_texts

ENCODINGS = ("utf-8-sig", "cp1252", "utf-16")


def slow_table(content: bytes) -> list[list[str]]:
    """The cells of every line that is not blank."""
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = content.decode("utf-16", "replace") if is_wide else content.decode("utf-8-sig", "surrogateescape")
    first = text.split("\n")[0]
    separator = sorted(",;\t", key=lambda one: (-first.count(one), ",;\t".index(one)))[0]
    return [
        row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if "".join(row).strip()
    ]


def slow_cell(cell: str) -> str:
    """A cell in Unicode: what is not UTF-8 is Western."""
    try:
        cell.encode("utf-8", "strict")
    except UnicodeEncodeError:
        cell = cell.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
    return cell.strip()


class EdgeTables(Door):
    name = "edges"
    names = ("a", "é", "c d", "7")

    def make(self):
        texts = (
            "source,target\na,é\n7,c d\n",
            "Weight;From;To\n1;0;1\n1;3;3\n0;2;1\n",
            "0\t3\n1\t2\n",
            "0,1,1e0\n1,2,1\n",
        )
        return [{"g.csv": text.encode(code)} for text in texts for code in ("utf-8", "utf-16")]

    def read(self, folder, files):
        got = load_graph(folder / "g.csv", names=self.names).to_scipy(int).toarray()
        require(got.shape == (4, 4) and (got == got.T).all() and got.trace() == 4, "not a graph")
        content = files["g.csv"]
        known = {name: row for row, name in enumerate(self.names)} | {str(row): row for row in range(4)}
        pairs = set()
        for code in ENCODINGS:  # every edge that is found stands in some line
            for line in content.decode(code, "replace").replace('"', "").replace("\r", "\n").split("\n"):
                cells = re.split("[,;\t]", line)
                rows = [
                    {known[name] for name in (cell.strip(), cell.strip().lstrip("0") or "0") if name in known}
                    | ({3} if cell.strip() == "3" else set())
                    for cell in cells
                ]
                pairs |= {(q, i) for a in rows for b in rows for q in a for i in b}
        found = {(int(q), int(i)) for q, i in np.argwhere(got) if q != i}
        require(found <= pairs | {(i, q) for q, i in pairs}, "an edge that is not in the file")
        for cells in slow_table(content)[1:]:
            ends = [known.get(cell.strip()) for cell in cells]
            if len(ends) == 2 and None not in ends and ends[0] != ends[1]:
                require(tuple(ends) in found, "an edge was lost")


class LabelCsv(Door):
    name = "label-csv"
    names = ("a/1.jpg", "a/2.jpg", "b/é.png", "c.png")

    def make(self):
        texts = (
            'file,label\na/1.jpg,rose\na/2.jpg,\nb/é.png,"da,isy"\n',
            "File Name;Class\n1;rose\nc;daisy\n",
            "a/1.jpg\trose\nc.png\t\n",
        )
        return [{"labels.csv": text.encode(code)} for text in texts for code in ("utf-8", "utf-16", "cp1252")]

    def read(self, folder, files):
        labels, problems = read_label_csv(folder / "labels.csv", folder, self.names)
        require(
            len(labels) == len(self.names) and all(isinstance(label, str) for label in labels),
            "not one label each",
        )
        rows = [[slow_cell(cell) for cell in row] for row in slow_table(files["labels.csv"])]
        for name, label in zip(self.names, labels, strict=True):
            stem = name.split("/")[-1].split(".")[0]
            naming = [row for row in rows if any(stem in unicodedata.normalize("NFC", cell) for cell in row)]
            require(
                not label or any(label in row for row in naming), "a label that stands beside no such file"
            )
            pairs = {row[1] for row in naming if row[0] == name and len(row) == 2 and row[1]} - {
                "Class",
                "label",
            }
            require(
                len(pairs) != 1 or label in pairs | {""} or len(naming) > 1, "another label than the file's"
            )
        require(all(problem.reason for problem in problems), "a problem without a reason")


def slow_file(content: bytes) -> str:
    """The text of a file."""
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = content.decode("utf-16", "replace") if is_wide else content.decode("utf-8-sig", "surrogateescape")
    return slow_cell(text)


def slow_text(parts: list[str]) -> str:
    """The parts of a text on lines of their own, without control characters."""
    text = "\n".join(part for part in map(str.strip, parts) if part)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", " ", text).strip()


def slow_texts(name: str, content: bytes) -> list[str]:
    """The text of each row; ``""`` where there is none."""
    if name == "t.csv":
        header, *rows = slow_table(content)
        header = [slow_cell(cell) for cell in header]
        records = [dict(zip(header, map(slow_cell, row), strict=False)) for row in rows]
    else:
        records = []
        for line in content.decode("utf-8-sig", "replace").split("\n"):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = {}
            if line.strip():
                records.append(record if isinstance(record, dict) else {})
    return [slow_text([plain(record.get(part)) for part in ("title", "body")]) for record in records]


def plain(value: object) -> str:
    """Texts and numbers as text."""
    return str(value).strip() if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


class Texts(Door):
    name = "texts"

    def make(self):
        table = 'id,title,body,label\n1,Fox,"jumps,\nhigh",a\n2,Café,,\n3,,stops,b\n'
        lines = '{"id": 1, "title": "Fox", "body": "é", "label": "a"}\n{"title": "x", "body": null}\n'
        return [
            *({"t.csv": table.encode(code)} for code in ENCODINGS),
            {"t.jsonl": lines.encode()},
            *({"1.txt": "Fox\tjumps café".encode(code), "2.txt": b"x"} for code in ENCODINGS),
        ]

    def read(self, folder, files):
        name = min(files)
        if name == "1.txt":
            got = read_texts(folder)
            slow = [slow_text([slow_file(content)]) for _, content in sorted(files.items())]
        else:
            got = read_texts(folder / name, ["title", "body"])
            slow = slow_texts(name, files[name])
        require(got.texts == [text for text in slow if text], "other texts")
        require(len(got.texts) == len(got.names) == len(got.labels) == len(set(got.names)), "columns differ")
        require(all(text.strip() for text in got.texts), "an empty text")
        require(
            not any(ord(c) < 32 and c not in "\n\t" for text in got.texts for c in text), "control characters"
        )
        "\n".join([*got.names, *got.texts, *got.labels]).encode("utf-8", "surrogateescape")
