"""The doors through which files of another's making come in, one class for each.

A door makes files that are right, damages them, and judges what the package does with the damaged ones. :meth:`Door.judge`
returns ``"refused"`` (an error of this package, in one line) or ``"accepted"`` (the answer agrees with an independent,
slow reading of the same bytes, or with the undamaged file where a checksum must tell). Whatever else it raises is a
failure.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import sqlite3
import tempfile
import warnings
from functools import cached_property
from pathlib import Path
from random import Random

import mutators
import numpy as np
import safetensors.numpy
from PIL import Image

from grande_gnn import GrandeClassifier
from grande_gnn.errors import GrandeError
from grande_gnn.experiments.rows import Row, RowStore
from grande_gnn.experiments.trials import Trial
from grande_gnn.graph import knn_graph, ranked_lists
from grande_gnn.graph.graph_files import load_graph, load_lists, save_graph, save_lists
from grande_gnn.images.labels_csv import read_label_csv
from grande_gnn.images.read import read_image
from grande_gnn.images.store import FeatureStore, StoredImage
from grande_gnn.internal.block_sums import BlockSums
from grande_gnn.internal.features_file import FeaturesFile, load_features, save_features
from grande_gnn.labelling.decisions import Decision, Journal
from grande_gnn.labelling.result import Labelling, write_predictions
from grande_gnn.texts import read_texts

Files = dict[str, bytes]
"""An input: the content of each file by its name."""

CORPUS = Path(__file__).with_name("corpus")
X = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)


def require(condition: object, what: str) -> None:
    """Fail if an accepted input was not read as it is."""
    if not condition:
        raise AssertionError(what)


class Door:
    """One kind of file."""

    name: str
    ways: tuple = (mutators.blind,)
    """How one of its files is damaged."""

    @cached_property
    def seeds(self) -> list[Files]:
        """Right inputs to start from."""
        return self.make()

    @cached_property
    def broken(self) -> list[Files]:
        """What broke something once; some inputs start from here."""
        return [files for _, files in kept(self.name)]

    def start(self, random: Random) -> Files:
        """An undamaged input, or one that broke something once."""
        return dict(random.choice(self.broken if self.broken and random.random() < 0.2 else self.seeds))

    def make(self) -> list[Files]:
        """Right inputs."""
        raise NotImplementedError

    def mutate(self, random: Random) -> Files:
        """A damaged input."""
        files = self.start(random)
        name = random.choice(sorted(files))
        files[name] = random.choice(self.ways)(random, files[name])
        return files

    def read(self, folder: Path, files: Files) -> None:
        """Give the files in ``folder`` to the package; raises unless they are refused or read as they are."""
        raise NotImplementedError

    def judge(self, files: Files, folder: Path) -> str:
        """``"refused"`` or ``"accepted"``; raises where it is neither."""
        for name, content in files.items():
            (folder / name).write_bytes(content)
        try:
            self.read(folder, files)
        except GrandeError as error:
            require("\n" not in str(error), "the error has several lines")
            require(len(str(error)) < 5000, "the error is very long")
            return "refused"
        finally:
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return "accepted"


def kept(door: str) -> list[tuple[str, Files]]:
    """The inputs of the corpus for a door, by name."""
    cases = sorted((CORPUS / door).iterdir()) if (CORPUS / door).is_dir() else []
    return [(case.name, {file.name: file.read_bytes() for file in sorted(case.iterdir())}) for case in cases]


def written(save, name: str) -> Files:
    """The file that ``save`` writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / name)
        return {name: (Path(folder) / name).read_bytes()}


def slow_npz(content: bytes, *names: str) -> dict[str, np.ndarray]:
    """The named arrays of an archive, where it has them, as numpy reads them."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in names if name in archive.files}


class Features(Door):
    name = "features"
    ways = (mutators.blind, mutators.npz_member, mutators.npz_member)

    def make(self):
        files = np.array([f"d/é{i}.jpg" for i in range(12)])
        named = FeaturesFile(X, files, np.array(["a", "", "b"] * 4))
        extra = {
            "features": X.astype(np.float16),
            "labels": np.arange(12) % 3 - 1,
            "classes": np.array(["a", "b"]),
        }
        return [
            written(lambda path: save_features(path, named), "f.npz"),
            written(
                lambda path: np.savez_compressed(path, **extra, files=np.char.encode(files, "utf-8")), "f.npz"
            ),
        ]

    def read(self, folder, files):
        got = load_features(folder / "f.npz")
        slow = slow_npz(files["f.npz"], "features", "files", "labels", "classes")
        np.testing.assert_array_equal(got.features, slow["features"].astype(np.float32))
        require(np.isfinite(got.features).all(), "features that are not finite")
        if "files" in slow:
            names = slow["files"]
            names = np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names
            np.testing.assert_array_equal(got.files, names)
        if "labels" in slow and "classes" in slow and slow["labels"].dtype.kind in "iu":
            classes = [
                one.decode() if isinstance(one, bytes) else str(one) for one in slow["classes"].tolist()
            ]
            require(
                got.labels.tolist() == [classes[i] if i >= 0 else "" for i in slow["labels"].tolist()],
                "other labels",
            )
        elif "labels" in slow:
            labels = slow["labels"]
            labels = np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels
            np.testing.assert_array_equal(got.labels, labels)


class Lists(Door):
    name = "lists"
    ways = Features.ways

    def make(self):
        lists = ranked_lists(X, 5)
        return [
            written(lambda path: save_lists(path, lists), "l.npz"),
            written(lambda path: np.savez_compressed(path, lists=lists.astype(np.uint8)), "l.npz"),
        ]

    def read(self, folder, files):
        got = load_lists(folder / "l.npz")
        np.testing.assert_array_equal(got, slow_npz(files["l.npz"], "lists")["lists"])
        for number, row in enumerate(got.tolist()):
            require(
                row[0] == number and len(set(row)) == len(row) and max(row) < len(got), "not ranked lists"
            )


class Graphs(Door):
    name = "graph"
    ways = Features.ways

    def make(self):
        graph = knn_graph(X, 3)
        return [
            written(lambda path: save_graph(path, graph), "g.npz"),
            written(lambda path: np.savez_compressed(path, indptr=[0, 1, 1, 2], indices=[2, 0]), "g.npz"),
        ]

    def read(self, folder, files):
        got = load_graph(folder / "g.npz").to_scipy(int).toarray()
        slow = slow_npz(files["g.npz"], "indptr", "indices")  # no weights: see EdgeTables
        pointers, n = slow["indptr"].tolist(), len(slow["indptr"]) - 1
        dense = np.eye(n, dtype=int)
        for row in range(n):
            for column in slow["indices"].tolist()[pointers[row] : pointers[row + 1]]:
                dense[row, column] = dense[column, row] = 1
        np.testing.assert_array_equal(got, dense)


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


def resigned(files: Files) -> Files:
    """The files of a model with checksums that fit, as somebody would write them who means harm."""
    try:
        rest = json.loads(files["model.json"])
        del rest["checksums"]
        spelled = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return files
    contents = {"model.json": spelled, "model.safetensors": files["model.safetensors"]}
    rest["checksums"] = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    if len(spelled) % 2:  # the other kind of checksum that is read
        sums = BlockSums()
        sums.update(contents["model.safetensors"])
        rest["checksums"]["model.safetensors"] = "sums:" + sums.hexdigest()
    return {"model.json": json.dumps(rest).encode(), "model.safetensors": files["model.safetensors"]}


class Models(Door):
    """Damaged folders with the old checksums: nothing but the saved model may come back."""

    name = "model"
    sign = staticmethod(lambda files: files)

    def make(self):
        out = []
        chosen = dict.fromkeys(("graph", "n_neighbors", "normalize", "sigma"), "auto")  # a committee
        for options in (
            {"model": "sgc", "n_neighbors": 4},
            {"model": "appnp", "n_neighbors": 4, "hidden": 4, "normalize": "center-l2", "graph": "knn"},
            {"model": "sgc"} | chosen,
        ):
            clf = GrandeClassifier(**options, epochs=2, device="cpu", random_state=0)
            clf.fit(X, ["a", "b", "a", "b", "a", "b", *[""] * 6])
            with tempfile.TemporaryDirectory() as folder:
                clf.save(Path(folder) / "model")
                out.append(
                    {path.name: path.read_bytes() for path in sorted((Path(folder) / "model").iterdir())}
                )
        return out

    @cached_property
    def contents(self):
        """What the right folders hold."""
        return [(json.loads(files["model.json"]), files["model.safetensors"]) for files in self.seeds]

    def mutate(self, random):
        files = self.start(random)
        name = random.choice(sorted(files))
        way = mutators.json_field if name == "model.json" else mutators.safetensors_header
        files[name] = random.choice((mutators.blind, way))(random, files[name])
        return self.sign(files)

    def read(self, folder, files):
        clf = self.load(folder)
        require(
            (json.loads(files["model.json"]), files["model.safetensors"]) in self.contents,
            "damage was not noticed",
        )
        self.answer(clf)

    def load(self, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return GrandeClassifier.load(folder)

    def answer(self, clf):
        new = np.vstack([clf.features_[:2], clf.features_[:2] + np.float32(0.01)])
        p = clf.predict_proba(new)
        require(np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1), "no distribution")
        require(set(clf.predict(new).tolist()) <= set(clf.classes_.tolist()), "a class that is none")


class SignedModels(Models):
    """Damaged folders with fitting checksums: a right answer or a sentence, and arrays as the library reads them."""

    name = "model-signed"
    sign = staticmethod(resigned)

    def read(self, folder, files):
        clf = self.load(folder)
        slow = safetensors.numpy.load(files["model.safetensors"])
        np.testing.assert_array_equal(clf.features_, slow["features"])
        np.testing.assert_array_equal(clf.graph_.indices, slow["graph.indices"])
        np.testing.assert_array_equal(clf.label_distributions_, slow["label_distributions"])
        require(
            clf.get_params() | {"device": 0}
            == clf.get_params() | json.loads(files["model.json"])["parameters"] | {"device": 0},
            "other parameters",
        )
        self.answer(clf)


class OldModels(SignedModels):
    """Damaged folders of version 0.1, which have no checksums."""

    name = "model-0.1"
    sign = staticmethod(lambda files: files)

    def make(self):
        folder = Path(__file__).parents[1] / "data" / "version_0_1" / "labelling" / "out" / "model"
        return [{path.name: path.read_bytes() for path in sorted(folder.iterdir())}]


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
        return [
            {"settings.json": json.dumps(content, indent=1).encode()}
            for content in (old, old | {"offset": None, "images": "../photos", "estimate": estimate})
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
        shown = [got.accuracy, *got.class_accuracy.values()]
        require(all(one is None or 0 <= one.value <= 1 for one in shown), "an accuracy outside [0, 1]")
        got.summary()


TABLE = Labelling(
    ["a.jpg", "b,\"é.jpg", "\udcff.jpg"], ["x", "y", "x"], np.array([0.5, 1.0, 0.25]), ["y", "x", "y"],
    np.array([0.1, -0.5, 0.0]), ["", "y", ""], np.array([True, False, False]), np.array([False, False, True]),
)  # fmt: skip


class Predictions(Door):
    name = "predictions"

    def make(self):
        return [written(lambda path: write_predictions(path, TABLE), "predictions.csv")]

    def read(self, folder, files):
        from grande_gnn.labelling.result import read_predictions

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


IMAGES = [
    StoredImage(bytes([n]) * 20, b"thumbnail%d" % n, np.full(9, n, dtype=np.float32)) for n in range(40)
]


class Store(Door):
    name = "store"

    def make(self):
        def save(path):
            FeatureStore(path.parent, "s").add(IMAGES)

        return [written(save, "s.sqlite")]

    def read(self, folder, files):
        store = FeatureStore(folder, "s")
        digests = [image.digest for image in IMAGES]
        damaged = store.remove_damaged(digests)
        intact = [image for image in IMAGES if image.digest not in damaged]
        if intact:
            got = np.concatenate(list(store.features([image.digest for image in intact])))
            np.testing.assert_array_equal(got, np.stack([image.feature for image in intact]))
        for image, thumbnail in zip(IMAGES, store.thumbnails(digests), strict=True):
            require(thumbnail in (b"", image.thumbnail), "another thumbnail")
        store.add(IMAGES)
        np.testing.assert_array_equal(
            np.concatenate(list(store.features(digests))), np.stack([image.feature for image in IMAGES])
        )


class EditedStore(Store):
    """Values changed by SQL, so that the file itself is sound."""

    name = "store-edited"

    def mutate(self, random):
        (seed, *_) = self.seeds
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.sqlite"
            path.write_bytes(seed["s.sqlite"])
            connection = sqlite3.connect(path)
            for _ in range(random.choice((1, 1, 3))):
                column = random.choice(("digest", "thumbnail", "feature", "feature_check", "thumbnail_check"))
                rows = random.choice(("", " WHERE rowid = 7", " WHERE rowid % 3 = 1"))
                value = random.choice(
                    (random.randbytes(random.choice((0, 16, 20, 36, 5000))), "text", 3, 0.5)
                )
                if random.random() < 0.02:
                    value, rows = bytes(2 << 20), " WHERE rowid = 7"
                try:
                    connection.execute(f"UPDATE images SET {column} = ?{rows}", (value,))
                except sqlite3.IntegrityError:
                    connection.execute(
                        f"UPDATE images SET feature = zeroblob(?){rows}", (random.randrange(100),)
                    )
            connection.commit()
            connection.close()
            return {"s.sqlite": path.read_bytes()}


ENCODINGS = ("utf-8-sig", "cp1252", "utf-16")


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
        content = files["labels.csv"]
        plain = ["".join(content.decode(code, "replace").split()).replace('"', "") for code in ENCODINGS]
        shown = ["".join(label.split()).replace('"', "") for label in labels]
        require(
            all(any(label in text for text in plain) for label in shown), "a label that is not in the file"
        )
        require(all(problem.reason for problem in problems), "a problem without a reason")


class Texts(Door):
    name = "texts"

    def make(self):
        table = 'id,title,body,label\n1,Fox,"jumps,\nhigh",a\n2,Café,,\n3,,stops,b\n'
        lines = '{"id": 1, "title": "Fox", "body": "é", "label": "a"}\n{"title": "x", "body": null}\n'
        return [
            *({"t.csv": table.encode(code)} for code in ENCODINGS),
            {"t.jsonl": lines.encode()},
        ]

    def read(self, folder, files):
        (name,) = files
        got = read_texts(folder / name, ["title", "body"])
        require(len(got.texts) == len(got.names) == len(got.labels) == len(set(got.names)), "columns differ")
        require(all(text.strip() for text in got.texts), "an empty text")
        require(
            not any(ord(c) < 32 and c not in "\n\t" for text in got.texts for c in text), "control characters"
        )
        "\n".join([*got.names, *got.texts, *got.labels]).encode("utf-8", "surrogateescape")


class Corrections(Door):
    name = "corrections"
    ways = Rows.ways

    def make(self):
        def save(path):
            journal = Journal(path.parent)
            journal.append(Decision("label", ("1.jpg", "\udcff.jpg"), "cat"))
            journal.append(Decision("rename", old="cat", label="dog"))
            journal.append(Decision("undo", of=2))

        return [written(save, "corrections.jsonl")]

    def read(self, folder, files):
        journal = Journal(folder)
        data = files["corrections.jsonl"]
        lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        require(len(journal.decisions) + len(journal.problems) == len(lines), "a line was lost")
        for decision in journal.decisions:
            require(
                Decision.from_line(decision.line()) == decision, "a decision that cannot be written again"
            )


class Images(Door):
    name = "images"

    def make(self):
        rng = np.random.default_rng(0)
        photo = Image.fromarray(
            (rng.random((40, 56, 3)) * 60 + np.arange(56)[None, :, None] * 3).astype(np.uint8)
        )
        grey = photo.convert("L")
        deep = Image.fromarray(np.arange(40 * 56, dtype=np.uint16).reshape(40, 56) * 20)
        exact = {"I": photo.convert("I"), "F": photo.convert("F"), "CMYK": photo.convert("CMYK")}
        made = [
            (photo, "JPEG", {}), (photo, "JPEG", {"progressive": True}), (exact["CMYK"], "JPEG", {}), (grey, "JPEG", {}),
            (photo, "PNG", {}), (photo.convert("P"), "PNG", {}), (photo.convert("RGBA"), "PNG", {}), (deep, "PNG", {}),
            (photo.convert("1"), "PNG", {}), (photo, "WEBP", {}), (photo, "WEBP", {"lossless": True}), (photo, "GIF", {}),
            (photo, "GIF", {"save_all": True, "append_images": [grey] * 2}), (photo, "TIFF", {}), (photo, "BMP", {}),
            (photo, "TIFF", {"compression": "tiff_lzw"}), (photo, "TIFF", {"compression": "jpeg"}), (exact["I"], "TIFF", {}),
            (exact["F"], "TIFF", {}), (grey.convert("P"), "BMP", {}),
        ]  # fmt: skip
        out = []
        for image, kind, options in made:
            file = io.BytesIO()
            image.save(file, kind, **options)
            out.append({"image": file.getvalue()})
        return out

    def read(self, folder, files):
        image = read_image(folder / "image", 32)
        require(image.mode == "RGB" and min(image.size) >= 1, "not a picture")
        last = image.crop((image.width - 1, image.height - 1, image.width, image.height))
        require(
            len(last.tobytes()) == 3, "pixels that are not there"
        )  # all at once would take as much memory again


DOORS: dict[str, Door] = {
    door.name: door()
    for door in (
        Features, Lists, Graphs, EdgeTables, Models, SignedModels, OldModels, Settings, Predictions, Rows, Store,
        EditedStore, LabelCsv, Texts, Corrections, Images,
    )
}  # fmt: skip
"""Every door by name."""
