"""``grande label`` from a folder to labels, as a user runs it."""

import csv
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from grande_gnn import GrandeClassifier, Labelling
from grande_gnn.cli import main
from grande_gnn.graph import GRAPHS, knn_graph, ranked_lists
from grande_gnn.graph.graph_files import save_graph, save_lists
from grande_gnn.images import extract_features, find_images, load_extractor


@pytest.fixture
def photos(tmp_path):
    """Red, green and blue images; four of each labelled by their folder, eight loose, and a broken file."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    for i in range(36):
        color = i % 3
        pixels = rng.integers(0, 90, size=(24, 24, 3))
        pixels[..., color] += 150
        place = folder / ("red", "green", "blue")[color] if i < 12 else folder
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{i:02d}.png")
    (folder / "broken.jpg").write_bytes(b"not an image")
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))

    def call(*arguments, code=0):
        result = CliRunner().invoke(main, ["label", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    return call


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FAST = ("--extractor", "pixels", "--workers", 0, "--device", "cpu", "--model", "sgc")


def test_every_readable_image_gets_its_colour(photos, run, tmp_path):
    out = tmp_path / "out"
    said = run(
        photos,
        "-o",
        out,
        *FAST,
        "--export",
        "label-studio",
        "--export",
        "csv",
        "--copy-to",
        tmp_path / "sorted",
    )
    rows = rows_of(out / "predictions.csv")
    assert list(rows[0]) == ["file", "label", "confidence", "runner_up", "margin", "given_label", "flags",
                             "unfamiliar", "copy_of"]  # fmt: skip
    assert len(rows) == 36
    for row in rows:
        number = int(row["file"].split("/")[-1][:2])
        assert row["label"] == ("red", "green", "blue")[number % 3]
        assert row["given_label"] == (row["label"] if number < 12 else "")
        assert 0 <= float(row["confidence"]) <= 1
    assert [row["file"] for row in rows_of(out / "problems.csv")] == ["broken.jpg"]
    assert "Expected accuracy" in said
    assert (out / "report.html").stat().st_size > 10_000
    tasks = json.loads((out / "label-studio.json").read_text())
    assert len(tasks) == 36
    assert [row["label"] for row in rows_of(out / "grande-labels.csv")] == [row["label"] for row in rows]
    assert tasks[0]["predictions"][0]["result"][0]["value"]["choices"] == [rows[0]["label"]]
    assert len(list((tmp_path / "sorted").glob("*/*.png"))) == 36


def test_an_existing_output_is_kept_and_reuse_labels_new_images(photos, run, tmp_path):
    out, more = tmp_path / "out", tmp_path / "more"
    run(photos, "-o", out, *FAST, "--paper")
    before = (out / "predictions.csv").read_bytes()
    assert "--overwrite" in run(photos, "-o", out, *FAST, code=1)
    assert (out / "predictions.csv").read_bytes() == before
    new = tmp_path / "new"
    new.mkdir()
    Image.new("RGB", (24, 24), (220, 40, 40)).save(new / "a.png")
    run(new, "-o", more, "--reuse", out, "--workers", 0)
    assert [row["label"] for row in rows_of(more / "predictions.csv")] == ["red"]
    assert "settings.json" in run(new, "-o", tmp_path / "x", "--reuse", photos, code=1)


def test_only_an_earlier_result_is_overwritten(photos, run, tmp_path):
    """Whatever the flags, no file of the user's is deleted."""
    everything = sorted(photos.rglob("*"))
    for output in (photos, tmp_path, photos.parent / "photos" / ".."):
        assert "folder of their own" in run(photos, "-o", output, *FAST, "--overwrite", code=1)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    out = foreign  # an empty folder is as good as none
    run(photos, "-o", out, *FAST, "--paper")
    (out / "predictions.csv").write_text("old", encoding="utf-8")
    run(photos, "-o", out, *FAST, "--paper", "--overwrite")
    assert len(rows_of(out / "predictions.csv")) == 36
    (out / "predictions.csv").rename(out / "mine.csv")
    assert "not the result of an earlier run" in run(photos, "-o", out, *FAST, "--overwrite", code=1)
    assert (out / "mine.csv").exists()
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    assert "not the result of an earlier run" in run(photos, "-o", file, *FAST, "--overwrite", code=1)
    assert file.read_text(encoding="utf-8") == "mine"
    assert sorted(photos.rglob("*")) == everything


def test_files_of_the_user_beside_a_result_stay(photos, run, tmp_path):
    """--overwrite replaces an earlier result and nothing else, and leaves nothing of it behind."""
    out = tmp_path / "out"
    here = ("-o", out, *FAST, "--store", out / "store", "--paper")
    run(photos, *here, "--export", "label-studio")
    (out / "mine.csv").write_text("file,label\nred/00.png,warm\ngreen/01.png,cold\n", encoding="utf-8")
    (out / "model" / "old").touch()
    run(photos, *here, "--overwrite", "--labels", out / "mine.csv")
    assert {row["label"] for row in rows_of(out / "predictions.csv")} == {"warm", "cold"}
    assert "warm" in (out / "mine.csv").read_text(encoding="utf-8")
    assert list((out / "store").glob("*.sqlite"))
    assert sorted(os.listdir(out)) == [
        "classes.json", "mine.csv", "model", "predictions.csv", "problems.csv", "report.html", "settings.json", "store",
    ]  # fmt: skip
    assert not (out / "model" / "old").exists()


@pytest.mark.parametrize("place", ["working folder", "link", "link to nothing yet"])
def test_any_empty_folder_will_do(photos, run, tmp_path, monkeypatch, place):
    out = tmp_path / "out"
    if place != "link to nothing yet":
        out.mkdir()
    (tmp_path / "link").symlink_to(out)
    if place == "working folder":
        monkeypatch.chdir(out)
    run(photos, "-o", "." if place == "working folder" else tmp_path / "link", *FAST, "--paper")
    assert len(rows_of(out / "predictions.csv")) == 36
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("option", ["--labels", "--store", "--weights", "--copy-to"])
def test_a_result_never_replaces_what_the_command_names(photos, run, tmp_path, option):
    out = tmp_path / "out"
    (out / "model").mkdir(parents=True)
    for name in ("settings.json", "predictions.csv"):
        (out / name).write_text("file,label\nred/00.png,warm\n", encoding="utf-8")
    named = out / ("predictions.csv" if option == "--labels" else "model")
    assert f"what {option} names" in run(photos, "-o", out, *FAST, "--overwrite", option, named, code=1)
    assert sorted(os.listdir(out)) == ["model", "predictions.csv", "settings.json"]


def test_places_that_cannot_work_are_refused_before_the_work(photos, run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert "does not hold the results" in run(photos, "-o", out, *FAST, "--copy-to", out, code=1)
    monkeypatch.setattr(os, "access", lambda _, mode: mode == os.R_OK)
    assert "may write to" in run(photos, "-o", out, *FAST, code=1)
    assert not (tmp_path / "cache").exists()


def test_a_result_that_cannot_be_moved_is_kept_beside_the_earlier_one(photos, run, tmp_path, monkeypatch):
    out, replace = tmp_path / "out", os.replace
    run(photos, "-o", out, *FAST, "--paper")
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}

    def fail_at_the_end(source, target):
        if target == out / "predictions.csv" and source.parent.name != "old":
            raise PermissionError("open in a spreadsheet")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_the_end)
    said = run(photos, "-o", out, *FAST, "--paper", "--overwrite", "--export", "label-studio", code=1)
    monkeypatch.undo()
    (part,) = out.glob("grande-kept-*")
    assert f"kept in {part}" in said
    assert said.strip().endswith("got open in a spreadsheet")
    assert (part / "predictions.csv").is_file()
    assert (part / "label-studio.json").is_file()
    after = {
        file: file.read_bytes() for file in out.rglob("*") if file.is_file() and part not in file.parents
    }
    assert after == before


def test_a_run_that_stops_leaves_no_result_and_the_next_goes_on(photos, run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    here = ("-o", out, *FAST, "--paper")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("grande_gnn.labelling.folder.write_problems", fail)
    run(photos, *here, code=1)
    assert not out.exists()
    run(photos, *here, "--store", out / "store", code=1)
    assert os.listdir(out) == ["store"]
    monkeypatch.undo()
    part = out / ".grande-abcd1234.part"
    part.mkdir()  # as a killed run leaves it
    run(photos, *here, "--store", out / "store")
    assert not part.exists()
    assert len(rows_of(out / "predictions.csv")) == 36
    (part / "earlier").mkdir(parents=True)  # version 0.1, killed while it replaced the result
    (out / "predictions.csv").rename(part / "earlier" / "predictions.csv")
    assert "--overwrite" in run(photos, *here, code=1)
    run(photos, *here, "--overwrite")
    assert len(rows_of(out / "predictions.csv")) == 36
    assert (part / "earlier" / "predictions.csv").exists()


def test_a_result_that_came_up_meanwhile_is_not_replaced(photos, run, tmp_path, monkeypatch):
    from grande_gnn.labelling import folder

    out, write = tmp_path / "out", folder.write_problems

    def meanwhile(*arguments):
        (out / "report.html").write_text("of another run", encoding="utf-8")
        write(*arguments)

    monkeypatch.setattr(folder, "write_problems", meanwhile)
    assert "kept in" in run(photos, "-o", out, *FAST, "--paper", code=1)
    assert (out / "report.html").read_text(encoding="utf-8") == "of another run"


def test_a_report_on_another_drive_than_the_images_has_no_links(photos, run, tmp_path, monkeypatch):
    def other_drive(*_):
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("grande_gnn.labelling.folder.os.path.relpath", other_drive)
    run(photos, "-o", tmp_path / "out", *FAST, "--paper")
    assert '"root":""' in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_place_for_copies_that_is_taken_is_refused_before_the_work(photos, run, tmp_path):
    said = run(photos, "-o", tmp_path / "out", *FAST, "--copy-to", photos, code=1)
    assert "new or empty" in said
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "cache").exists()


def test_a_model_made_on_a_gpu_is_reused_where_the_command_says(photos, run, tmp_path):
    out = tmp_path / "out"
    run(photos, "-o", out, *FAST, "--paper")
    GrandeClassifier.load(out / "model").set_params(device="cuda").save(out / "model", overwrite=True)
    saved = json.loads((out / "model" / "model.json").read_text(encoding="utf-8"))
    assert saved["parameters"]["device"] == "cuda"
    run(photos, "-o", tmp_path / "more", "--reuse", out, "--workers", 0, "--device", "cpu")
    again = json.loads((tmp_path / "more" / "model" / "model.json").read_text(encoding="utf-8"))
    assert again["parameters"]["device"] == "cpu"


@pytest.mark.parametrize("option", [("--sigma", 0.5), ("--graph", "knn"), ("--neighbors", "auto")])
def test_paper_and_a_setting_it_fixes_are_refused(photos, run, tmp_path, option):
    said = run(photos, "-o", tmp_path / "out", *FAST, *option, "--paper", code=2)
    assert f"got --paper and {option[0]}" in said
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "option",
    [
        ("--extractor", "pixels"), ("--labels", "l.csv"), ("--graph", "auto"), ("--model", "gcn"), ("--degree", "grande"),
        ("--sigma", 0.5), ("--neighbors", 5), ("--normalize", "none"), ("--paper",), ("--graph-file", "g.npz"),
        ("--lists-file", "l.npz"),
    ],
)  # fmt: skip
def test_an_option_that_reuse_ignores_is_named(photos, run, tmp_path, option):
    said = run(photos, "-o", tmp_path / "more", "--reuse", tmp_path / "out", *option, code=1)
    assert f"--reuse labels with the model of the earlier run, so {option[0]} has no effect." in said


def test_options_that_reuse_ignores_are_not_checked_either(photos, run, tmp_path):
    """A command that is repeated on other images still names the labels and the files of the first ones."""
    out = tmp_path / "out"
    run(photos, "-o", out, *FAST, "--paper")
    new = tmp_path / "new"
    new.mkdir()
    Image.new("RGB", (24, 24), (220, 40, 40)).save(new / "a.png")
    (new / "labels.csv").write_text("file,label\nelsewhere.png,green\n")
    ignored = (
        "--labels",
        tmp_path / "none.csv",
        "--paper",
        "--graph",
        "knn",
        "--graph-file",
        "g.npz",
        "--lists-file",
        "l.npz",
    )
    said = run(new, "-o", tmp_path / "more", "--reuse", out, *ignored, "--workers", 0)
    assert "so --graph has no effect" in said
    assert [row["label"] for row in rows_of(tmp_path / "more" / "predictions.csv")] == ["red"]
    assert not rows_of(tmp_path / "more" / "problems.csv")


def test_reuse_and_a_template_are_refused(photos, run, tmp_path):
    said = run(photos, "--reuse", tmp_path / "out", "--template", "t.csv", code=2)
    assert "leave out one of the two; got --reuse and --template" in said


@pytest.mark.parametrize("option", [("--dry-run",), ("--template", "t.csv")])
def test_json_is_refused_where_there_are_no_results(photos, run, tmp_path, option):
    said = run(photos, "--json", *option, code=2)
    assert f"--json describes results: leave out {option[0]}; got both" in said
    assert not (tmp_path / "cache").exists()


def test_a_class_whose_images_cannot_be_read_is_named(photos, run, tmp_path):
    for file in (photos / "blue").glob("*.png"):
        file.write_bytes(b"not an image")
    said = run(photos, "-o", tmp_path / "out", *FAST, "--paper")
    assert "No label is left of the class blue: see the problems that are listed." in said
    assert f"5 problems are listed in {tmp_path / 'out' / 'problems.csv'}." in said


def test_reuse_with_other_weights_is_refused(photos, run, tmp_path):
    out = tmp_path / "out"
    run(photos, "-o", out, *FAST, "--paper")
    settings = json.loads((out / "settings.json").read_text(encoding="utf-8"))
    (out / "settings.json").write_text(json.dumps(settings | {"weights": "other"}), encoding="utf-8")
    assert "same --weights" in run(photos, "-o", tmp_path / "more", "--reuse", out, code=1)


def test_a_template_keeps_the_labels_there_are(photos, run, tmp_path):
    run(photos, "--template", tmp_path / "labels.csv", *FAST)
    rows = rows_of(tmp_path / "labels.csv")
    assert len(rows) == 36
    assert [bool(row["label"]) for row in rows] == [False] * 24 + [True] * 12
    assert all(row["file"].startswith(row["label"]) for row in rows)


def test_without_labels_the_error_names_the_template(photos, run, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for i in range(3):
        Image.new("RGB", (8, 8), (80 * i, 0, 0)).save(bare / f"{i}.png")
    assert "--template" in run(bare, "-o", tmp_path / "o", *FAST, code=1)
    assert not (tmp_path / "o").exists()
    run(bare, "--template", tmp_path / "labels.csv", *FAST)
    rows = rows_of(tmp_path / "labels.csv")
    assert sorted(row["file"] for row in rows) == ["0.png", "1.png", "2.png"]
    assert {row["label"] for row in rows} == {""}


def test_a_dry_run_writes_nothing(photos, run, tmp_path):
    said = run(photos, "--dry-run")
    assert "36" in said or "37" in said
    assert "red" in said
    assert not (tmp_path / "cache").exists()


def test_a_class_with_one_label_is_reported(photos, run, tmp_path):
    for file in sorted((photos / "blue").glob("*.png"))[1:]:
        file.unlink()
    said = run(photos, "-o", tmp_path / "out", *FAST)
    assert "Expected accuracy" in said  # one label of a class is no obstacle


def test_a_graph_or_ranked_lists_can_be_brought_along(photos, run, tmp_path):
    fixed = ("--neighbors", 6, "--normalize", "none", "--sigma", 0.2)
    run(photos, "-o", tmp_path / "built", *FAST, "--graph", "knn", *fixed)
    features = extract_features(
        find_images(photos), load_extractor("pixels"), store=tmp_path / "cache", device="cpu", workers=0
    ).features()
    save_lists(tmp_path / "lists.npz", ranked_lists(features, 6))
    save_graph(tmp_path / "graph.npz", knn_graph(features, 6))
    run(photos, "-o", tmp_path / "1", *FAST, "--graph", "knn", *fixed, "--lists-file", tmp_path / "lists.npz")
    run(photos, "-o", tmp_path / "2", *FAST, *fixed, "--graph-file", tmp_path / "graph.npz")
    built = (tmp_path / "built" / "predictions.csv").read_bytes()
    assert (tmp_path / "1" / "predictions.csv").read_bytes() == built
    assert (tmp_path / "2" / "predictions.csv").read_bytes() == built


def test_files_of_graphs_that_do_not_fit_are_refused_in_one_sentence(photos, run, tmp_path):
    X = np.random.default_rng(0).normal(size=(35, 4))
    lists, graph = tmp_path / "lists.npz", tmp_path / "graph.npz"
    save_lists(lists, ranked_lists(X, 5))
    save_graph(graph, knn_graph(X, 5))
    for option, file in (("--lists-file", lists), ("--graph-file", graph)):
        said = run(photos, "-o", tmp_path / "out", *FAST, option, file, code=1)
        assert f"{file} must have one" in said
        assert "36 samples; got 35" in said
    said = run(photos, "-o", tmp_path / "out", *FAST, "--lists-file", lists, "--graph-file", graph, code=1)
    assert said == (
        f"Error: a graph file needs no file of ranked lists: give one of the two; got {graph} and {lists}\n"
    )
    said = run(photos, "-o", tmp_path / "out", *FAST, "--graph-file", lists, code=1)
    assert "so it is not a graph file" in said
    assert not (tmp_path / "out").exists()


def test_a_graph_registered_later_is_a_choice(photos, run, tmp_path, monkeypatch):
    kind = replace(GRAPHS["knn"], name="mine")
    monkeypatch.setitem(GRAPHS, "mine", kind)
    assert "mine" in run("--help")
    run(photos, "-o", tmp_path / "out", *FAST, "--graph", "mine", "--neighbors", 6)
    settings = json.loads((tmp_path / "out" / "settings.json").read_text(encoding="utf-8"))
    assert settings["graph"] == "mine"


def test_without_a_place_for_the_results_nothing_is_done(photos, run, tmp_path):
    assert "-o FOLDER" in run(photos, *FAST, code=2)
    assert not (tmp_path / "cache").exists()


def test_the_command_prints_what_was_done(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    arguments = ("label", photos, "-o", out, *FAST, "--copy-to", tmp_path / "sorted")
    lines = CliRunner().invoke(main, [str(argument) for argument in arguments]).stdout.splitlines()
    sentences = [
        "Labels are the names of the class folders.",
        "36 images have features, 0 of them from earlier runs.",
        f"36 images copied into class folders in {tmp_path / 'sorted'}.",
        "24 images labelled in 3 classes with a committee of ",
        "Expected accuracy ",
        f"1 problem is listed in {out / 'problems.csv'}.",
        f"Open {out / 'report.html'}; the labels are in {out / 'predictions.csv'}.",
        f"grande review {out} corrects labels in the browser.",
    ]
    unsure = (
        "are flagged; see the report.",
        "label more images.",
        "images of each class.",
        "picked at random.",
    )
    said = [line for line in lines if not line.endswith(unsure)]
    assert len(said) == len(sentences)
    assert all(line.startswith(text) for line, text in zip(said, sentences, strict=True)), said


@pytest.mark.parametrize(
    ("before", "after", "said", "on"),
    [
        ([], [], True, "stdout"),
        ([], ["--json"], True, "stderr"),
        (["--quiet"], [], False, "stdout"),
    ],
)
def test_the_review_is_named_unless_only_results_are_wanted(photos, tmp_path, before, after, said, on):
    out = tmp_path / "my labels"
    arguments = [*before, "label", photos, "-o", out, *FAST, *after]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    assert (f"grande review '{out}' corrects labels" in getattr(result, on)) == said


# -- features files ---------------------------------------------------------------------------------------


@pytest.fixture
def samples(tmp_path):
    """Two groups of samples, of which a few have a label."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 4)) * 0.3 + 3 * np.eye(2, 4)[y]
    path = tmp_path / "texts.npz"
    names = [f"text {i}" for i in range(40)]
    np.savez(
        path, features=X, files=names, labels=np.where(np.arange(40) < 6, np.array(["no", "yes"])[y], "")
    )
    return path


def test_a_features_file_is_labelled(grande, samples, tmp_path):
    fixed = ["--model", "sgc", "--graph", "knn", "--neighbors", 8, "--normalize", "none", "--sigma", 0.2]
    result = grande("label", samples, "-o", tmp_path / "out", *fixed, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "34 samples labelled in 2 classes" in result.stdout
    with (tmp_path / "out" / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["no", "yes"] * 20
    assert rows[0]["file"] == "text 0"


def test_the_outcome_as_json_and_nothing_else_on_stdout(grande, samples, tmp_path):
    result = grande("label", samples, "-o", tmp_path / "out", "--paper", "--json")
    found, saved = json.loads(result.stdout), Labelling.load(tmp_path / "out")
    assert found["output"] == str(tmp_path / "out")
    assert (found["samples"], found["given"]) == (len(saved.files), sum(map(bool, saved.given)))
    assert found["classes"] == len(set(saved.labels))
    assert (found["expected_accuracy"] or {}).get("value") == (saved.accuracy and saved.accuracy.value)
    assert found["flagged"] == sum(map(bool, saved.flags()))


def test_quiet_prints_the_result_without_messages(photos, grande, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    options = ("label", photos, "--extractor", "pixels", "--paper", "--workers", 0)
    loud = grande(*options, "-o", tmp_path / "loud").output
    quiet = grande("--quiet", *options, "-o", tmp_path / "quiet").output
    assert "images have features" in loud
    assert "images have features" not in quiet
    assert "predictions.csv" in quiet


def test_quiet_gives_no_hints(photos, grande, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "grande_gnn.labelling.adapt_hint.adapt_hint", lambda result, options: "--adapt would help."
    )
    options = ("label", photos, "--extractor", "pixels", "--model", "sgc", "--paper", "--workers", 0)
    assert "--adapt would help." in grande(*options, "-o", tmp_path / "loud").output
    assert "--adapt would help." not in grande("--quiet", *options, "-o", tmp_path / "quiet").output


def test_a_features_file_is_exported_as_a_table(grande, samples, tmp_path):
    result = grande("label", samples, "-o", tmp_path / "out", "--paper", "--export", "csv")
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path / "out" / "grande-labels.csv")
    assert [row["file"] for row in rows] == [f"text {i}" for i in range(40)]
    assert {row["label"] for row in rows} == {"no", "yes"}


def test_a_template_for_a_features_file(grande, samples, tmp_path):
    result = grande("label", samples, "--template", tmp_path / "labels.csv")
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "labels.csv").read_text("utf-8").splitlines()
    assert lines[0] == "file,label"
    assert len(lines) == 41
    assert lines[-1] == "text 5,yes"


@pytest.mark.parametrize("option", [["--dry-run"], ["--reuse", "old"], ["--adapt"]])
def test_options_about_images_are_refused_for_a_features_file(refused, samples, option):
    assert "need a folder of images" in refused("label", samples, *option)


def test_a_features_file_with_edges_of_its_own(grande, refused, samples, tmp_path):
    edges, weighted = tmp_path / "edges.csv", tmp_path / "weighted.csv"
    edges.write_text("source,target\n" + "".join(f"text {i},text {i + 2}\n" for i in range(36)))
    weighted.write_text("".join(f"{i + 2},{i},{1 + i % 3}\n" for i in range(36)))
    fixed = ["--model", "sgc", "--normalize", "none", "--sigma", 0.2, "--device", "cpu"]
    said = refused("label", samples, "-o", tmp_path / "out", *fixed, "--graph-file", weighted)
    assert "--ignore-weights" in said
    assert "got weights from 1 to 3" in said
    tables = []
    for out, options in (("1", [edges]), ("2", [weighted, "--ignore-weights"])):
        result = grande("label", samples, "-o", tmp_path / out, *fixed, "--graph-file", *options)
        assert result.exit_code == 0, result.output
        assert f"samples labelled in 2 classes with the graph in {options[0]}." in result.output
        with (tmp_path / out / "predictions.csv").open(newline="") as file:
            tables.append(list(csv.DictReader(file)))
    assert tables[0] == tables[1]
    assert [row["label"] for row in tables[0][:38]] == ["no", "yes"] * 19
    assert ["unreached" in row["flags"] for row in tables[0]] == [False] * 38 + [True] * 2
    assert "only a graph file can have weights" in refused(
        "label", samples, "-o", tmp_path / "3", "--ignore-weights"
    )
    edges.write_text("source,target\ntext 1,text 40\n")
    assert "is it the graph of other samples? got 'text 40' in line 2" in refused(
        "label", samples, "-o", tmp_path / "3", *fixed, "--graph-file", edges
    )


def test_adapting_is_off_unless_asked_for_and_needs_weights(photos, run, tmp_path):
    said = run(photos, "-o", tmp_path / "out", *FAST, "--adapt", code=1)
    assert "the extractor pixels has no weights, so there is nothing to adapt" in said
    said = run(photos, "-o", tmp_path / "out", *FAST, "--adapt", "off")
    assert "adapt" not in json.loads((tmp_path / "out" / "settings.json").read_text())
    said = run("--adapt", photos, "-o", tmp_path / "other", code=2)
    assert "is not one of 'off', 'auto', 'full', 'last'" in said
    assert "write --adapt at the end" in said
    said = run(photos, "-o", tmp_path / "other", "--reuse", tmp_path / "out", "--adapt", code=1)
    assert "the network of an earlier run is used as it is, adapted or not: leave out --adapt" in said
    assert not (tmp_path / "other").exists()


def test_an_adapted_network_labels_and_is_found_by_reuse(photos, run, tmp_path, tiny_network, monkeypatch):
    from grande_gnn.images import adapt
    from grande_gnn.images.adapt_training import Recipe

    monkeypatch.setitem(adapt.DEFAULTS["cpu"], "recipe", Recipe(steps=3, batch=4, lr=0.01))
    out = tmp_path / "out"
    said = run(photos, "-o", out, *FAST, "--extractor", "tiny", "--adapt")
    assert "tiny is adapted with all labels." in said
    settings = json.loads((out / "settings.json").read_text())
    assert settings["adapt"]["form"] == "last"
    assert (out / "adapted.safetensors").exists() == (settings["adapt"]["used"] != "frozen")
    run(photos, "-o", tmp_path / "new", "--reuse", out, "--workers", 0, "--device", "cpu")
    assert json.loads((tmp_path / "new" / "settings.json").read_text())["weights"] == settings["weights"]
    run(photos, "-o", tmp_path / "newer", "--reuse", tmp_path / "new", "--workers", 0, "--device", "cpu")
    new, newer = (rows_of(tmp_path / name / "predictions.csv") for name in ("new", "newer"))
    assert new == newer


def test_two_extractors_work_side_by_side(photos, run, tmp_path, tiny_network):
    run(photos, "-o", tmp_path / "out", *FAST, "--extractor", "pixels+tiny")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["extractor"] == "pixels+tiny"
    run(photos, "-o", tmp_path / "new", "--reuse", tmp_path / "out", "--workers", 0, "--device", "cpu")
    rows = rows_of(tmp_path / "new" / "predictions.csv")
    assert all(
        row["label"] == ("red", "green", "blue")[int(row["file"].split("/")[-1][:2]) % 3] for row in rows
    )


# -- texts --------------------------------------------------------------------------------------------------


def test_texts_from_the_template_to_new_texts(grande, refused, tmp_path):
    words = {"animals": ["fox", "dog", "cat", "owl"], "tools": ["hammer", "saw", "drill", "nail"]}
    rows = [(name, " ".join(np.roll(words[name], i)[:3])) for i in range(20) for name in words]
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["story"], *([text] for _, text in rows)])
    source = ["label", tmp_path / "texts.csv", "--text", "story"]
    fixed = [
        "--graph",
        "knn",
        "--neighbors",
        8,
        "--normalize",
        "center-l2",
        "--sigma",
        0.2,
        "--device",
        "cpu",
    ]
    assert "with --text: one of story; got none" in refused(
        "label", tmp_path / "texts.csv", "-o", tmp_path / "out"
    )
    unlabelled = grande(*source, "-o", tmp_path / "out")
    assert unlabelled.exit_code != 0
    assert "--template labels.csv" in unlabelled.stderr
    assert "40 texts" in grande(*source, "--dry-run").stdout
    assert grande(*source, "--template", tmp_path / "labels.csv").exit_code == 0
    with (tmp_path / "labels.csv").open(newline="") as file:
        template = list(csv.DictReader(file))
    assert [*template[0]] == ["file", "label", "text"]
    for row in template[:12]:
        row["label"] = rows[int(row["file"]) - 1][0]
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["file", "label", "text"])
        writer.writeheader()
        writer.writerows(template)
    result = grande(*source, "--labels", tmp_path / "labels.csv", "-o", tmp_path / "out", *fixed)
    assert result.exit_code == 0, result.output
    assert "28 texts labelled in 2 classes" in result.stdout
    with (tmp_path / "out" / "predictions.csv").open(newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == [name for name, _ in rows]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.txt").write_text("the saw and the drill")
    more = grande(
        "label", tmp_path / "new", "--reuse", tmp_path / "out", "-o", tmp_path / "more", "--device", "cpu"
    )
    assert more.exit_code == 0, more.output
    assert "tools" in (tmp_path / "more" / "predictions.csv").read_text()


def test_texts_and_images_are_not_mixed(photos, refused, tmp_path):
    assert "leave it out for images" in refused("label", photos, "--text", "body", "-o", tmp_path / "out")
