"""README, the documentation site and the examples: links lead somewhere, nothing is missing, and what is shown runs."""

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), *(PROJECT / n for n in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page):
    return {slug(line.lstrip("#")) for line in page.read_text("utf-8").splitlines() if line.startswith("#")}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for target in LINK.findall(page.read_text("utf-8")):
        if "://" in target or target.startswith("generated/"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(file), (
            f"{page.name} links to {target}, which has no such heading"
        )


def test_ten_questions_are_answered_within_two_clicks():
    index, questions = ((DOCS / name).read_text("utf-8") for name in ("index.md", "questions.md"))
    assert "(questions.md)" in index
    answers = re.findall(r"^\d+\. \[.+\?\]\((\S+)\)$", questions, re.MULTILINE)
    assert len(answers) == 10
    assert all("#" in target for target in answers)  # each leads to a heading, which the test above looks for


def test_the_reference_has_every_command_and_every_public_name():
    pytest.importorskip("torch_geometric")
    reference = load(DOCS / "reference.py")
    from grande_gnn.cli.main import COMMANDS

    page = reference.commands_page()
    for name in COMMANDS:
        assert f"## grande {name}\n" in page
    assert "Usage: grande cache clear [OPTIONS]" in page
    seen = {}
    for package in reference.PACKAGES:
        text = reference.names_page(package, seen)
        missing = [
            n
            for n in import_module(package).__all__
            if f"{package}.{n}\n" not in text + "\n" and f"``{package}.{n}``" not in text
        ]
        assert not missing, f"{package}: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_imports_is_there(page):
    imports = re.findall(
        r"^ *from (grande_gnn[\w.]*) import ([\w, ]+)$", page.read_text("utf-8"), re.MULTILINE
    )
    for module, names in imports:
        for name in names.split(", "):
            assert hasattr(import_module(module), name), f"{page.name}: from {module} import {name}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_their_completion_and_it_completes(shell):
    command = [sys.executable, "-c", "from grande_gnn.cli import main; main(prog_name='grande')"]
    env = os.environ | {"_GRANDE_COMPLETE": f"{shell}_source"}
    script = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout
    if (
        shell != "bash" or script
    ):  # click asks bash for its version, and prints nothing where there is no bash
        assert "_GRANDE_COMPLETE" in script
    words = {"COMP_WORDS": "grande doc", "COMP_CWORD": "1" if shell != "fish" else "doc"}
    env |= {"_GRANDE_COMPLETE": f"{shell}_complete", **words}
    assert "doctor" in subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout
    assert f"_GRANDE_COMPLETE={shell}_source grande" in (DOCS / "shell.md").read_text("utf-8")


@pytest.fixture
def photos(tmp_path):
    """Red, green and blue images, twelve of 36 in class folders, and the truth about all."""
    rng = np.random.default_rng(0)
    truth = {}
    for i in range(36):
        name = ("red", "green", "blue")[i % 3]
        pixels = rng.integers(0, 90, size=(32, 32, 3))
        pixels[..., i % 3] += 150
        file = f"{name}/{i:02d}.png" if i < 12 else f"{i:02d}.png"
        (tmp_path / "photos" / file).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / file)
        truth[file] = name
    (tmp_path / "truth.csv").write_text("file,label\n" + "".join(f"{f},{n}\n" for f, n in truth.items()))
    return tmp_path


@pytest.fixture
def run(photos, monkeypatch):
    """Run a program in the folder of the photos, with this tree's package; its output."""
    monkeypatch.setenv("GRANDE_CACHE", str(photos / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "src"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # on busy cores, threads wait for each other

    def call(*command):
        done = subprocess.run(command, cwd=photos, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


NOT_RUN = re.compile(r"<!-- not run: \S[^>]* -->\n\s*```shell\n")
BLOCK = re.compile(r"^( *)```shell\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^ *(?:grande|pip|make|python|ray) ", re.MULTILINE)


def commands_of(page):
    """Every line of the shell blocks of a page that can run here, without comments."""
    text = NOT_RUN.sub("```not-run\n", page.read_text("utf-8"))
    lines = [line for _, block in BLOCK.findall(text) for line in block.splitlines()]
    return [line for line in lines if shlex.split(line, comments=True)]


def review(folder, command):
    """Start a review, open its page, and end it."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        link = next(line.split()[-1] for line in process.stdout if line.startswith("Review "))
        for _ in range(100):  # the link is printed before the server answers
            try:
                urllib.request.urlopen(link, timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert "predictions.csv" in process.stdout.read()
    assert process.returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_in_a_shell_block(page):
    """So that the test below finds it: what cannot run there has a comment with the reason in front of it."""
    without = re.sub(r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    indented = [line for line in without.splitlines() if line.startswith("    ") and COMMAND.match(line)]
    assert not indented or page.name == "CONTRIBUTING.md", indented
    plain = re.findall(r"^ *```\n(.*?)```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert not [block for block in plain if COMMAND.search(block)]


RUNNABLE = [page for page in PAGES if any("grande" in line for line in commands_of(page))]


@pytest.fixture
def materials(photos):
    """What the commands of the pages are about: photos, new photos, texts, samples, edges and tables of labels."""
    rng = np.random.default_rng(1)
    (photos / "new_photos").mkdir()
    for file in sorted((photos / "photos").glob("*.png"))[:4]:
        shutil.copy(file, photos / "new_photos" / file.name)
    truth = dict(line.split(",") for line in (photos / "truth.csv").read_text().splitlines()[1:])
    shutil.copy(photos / "truth.csv", photos / "labels.csv")
    names = [f"s{i:02d}" for i in range(36)]
    classes = [("red", "green", "blue")[i % 3] for i in range(36)]
    features = (
        rng.normal(size=(36, 8)) + np.repeat(np.eye(3) * 4, 3, axis=1)[:, :8][[i % 3 for i in range(36)]]
    )
    np.savez(photos / "samples.npz", features=features.astype(np.float32), files=names, labels=classes)
    edges = [f"s{i:02d},s{i + 3:02d}" for i in range(33)]
    (photos / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    words = {"red": "rose ruby cherry", "green": "grass leaf moss", "blue": "sea sky ink"}
    for file, ids in (("texts.csv", range(36)), ("new.csv", range(36, 40))):
        rows = [f"t{i:02d},{words[('red', 'green', 'blue')[i % 3]]} number {rng.integers(9)}" for i in ids]
        (photos / file).write_text("id,body\n" + "\n".join(rows) + "\n")
    truth |= {f"t{i:02d}": classes[i % 36] for i in range(40)} | dict(zip(names, classes, strict=True))
    return photos, truth


def fill_in(table, truth):
    """Label every row of a template, as a user would."""
    head, *rows = table.read_text("utf-8").splitlines()
    place = head.split(",").index("label")
    filled = [row.split(",") for row in rows]
    for row in filled:
        row[place] = truth[row[0]]
    table.write_text("\n".join([head, *(",".join(row) for row in filled)]) + "\n")


def make_room(folder, words):
    """Remove what an earlier command of the page wrote where this one writes."""
    for option in ("-o", "--template"):
        if option in words and words[1] != "review":
            old = folder / words[words.index(option) + 1]
            shutil.rmtree(old, ignore_errors=True)
            if old.is_file():
                old.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_the_commands_of_the_pages_run_as_written(run, materials, page, monkeypatch):
    """One after the other in one folder. `make` and `pip` prepare an environment, for which there are other tests."""
    pytest.importorskip("efficientnet_lite_pytorch")
    folder, truth = materials
    monkeypatch.setenv("BROWSER", "true")  # a page is opened by a program that does nothing
    for line in commands_of(page):
        words = shlex.split(line, comments=True)
        if words[0] != "grande":
            assert words[0] in ("make", "pip"), line
            continue
        make_room(folder, words)
        command = [sys.executable, "-m", "grande_gnn.cli", *words[1:]]
        if words[1] == "review" or "--review" in words:
            review(folder, command)
        else:
            run(*command)
        if "--template" in words:
            fill_in(folder / words[words.index("--template") + 1], truth)


@pytest.mark.slow
def test_the_examples_run(run):
    def example(name, *arguments):
        return run(sys.executable, str(PROJECT / "examples" / name), *arguments)

    assert "images labelled in 3 classes" in example("label_photos.py", "photos", "labelled", "pixels")
    said = example("review_in_code.py", "labelled", "truth.csv", "corrected")
    assert "after: 36 of 36" in said
    assert re.search(r"unlabelled: [789]\d\.\d%", example("pipeline_and_grid.py"))
    assert len(example("paper_table.py").splitlines()) == 4
    pytest.importorskip("torch_geometric")
    assert re.search(r"unlabelled: [789]\d\.\d%", example("pyg_model.py"))


@pytest.mark.slow
def test_the_notebook_runs(photos, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("GRANDE_CACHE", str(photos / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "src"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # on busy cores, threads wait for each other
    notebook = nbformat.read(PROJECT / "examples" / "first_steps.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # kept small: outputs are not committed
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(photos)}}).execute()
    assert "right" in "".join(o.get("text", "") for o in notebook.cells[-1]["outputs"])


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    for name in ("sphinx", "furo", "myst_parser", "torch_geometric"):
        pytest.importorskip(name)
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        tmp_path / "cache",
        DOCS,
        tmp_path / "site",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    assert {"index.html", "questions.html", "how.html", "searchindex.js"} <= {p.name for p in site.iterdir()}
    broken = [
        f"{page.name} -> {target}"
        for page in site.rglob("*.html")
        for target in re.findall(r'<a [^>]*href="([^"#?:]+\.html)', page.read_text("utf-8"))
        if not (page.parent / target).resolve().exists()
    ]
    assert not broken


@pytest.mark.slow
def test_wheel_and_source_install_and_run_elsewhere(tmp_path, monkeypatch):
    """In a fresh environment, outside the repository; torch comes through the constraints file."""
    pytest.importorskip("build")
    for name in ("PYTHONPATH", "PYTHONHOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))

    def call(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", PROJECT)
    (wheel,), (source,) = ((tmp_path / "dist").glob(p) for p in ("*.whl", "*.tar.gz"))
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", PROJECT / "constraints.txt"]
    grande = [python, "-m", "grande_gnn.cli"]
    for package in (source, wheel):
        call(*pip, "--force-reinstall", "--no-deps", package) if package is wheel else call(*pip, package)
        assert str(tmp_path) in call(python, "-c", "import grande_gnn; print(grande_gnn.__file__)")
        assert "device    cpu" in call(*grande, "doctor")
    assert "GRaNDe is" in call(*grande, "demo")
    label = ["label", "grande-demo/digits", "-o", "out", "--extractor", "pixels", "--model", "sgc", "--paper"]
    call(*grande, *label)
    assert (tmp_path / "out" / "report.html").is_file()
    shutil.rmtree(tmp_path / "venv")
