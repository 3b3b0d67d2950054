"""``grande extract``: a features file from a folder, and one sentence for what does not work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from grande_gnn.cli import main
from grande_gnn.cli.extract import image_bar
from grande_gnn.images.networks import DEFAULT, EXTRACTORS


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("cat/1.png", "cat/2.png", "dog/1.png", "x.png"):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    return tmp_path / "pictures"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["extract", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_a_folder_becomes_a_features_file(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    output = tmp_path / "features.npz"
    code, text = run(pictures, "-o", output, "--extractor", "pixels")
    assert code == 0, text
    assert "4 images, 3 labelled in 2 classes; 0 reused" in text
    assert len(list((tmp_path / "cache").glob("pixels-*.sqlite"))) == 1
    with np.load(output) as saved:
        assert saved["features"].shape == (4, 768)
        assert saved["files"].tolist() == ["cat/1.png", "cat/2.png", "dog/1.png", "x.png"]
        assert saved["labels"].tolist() == [0, 0, 1, -1]
    assert not output.with_suffix(".problems.csv").exists()

    code, text = run(pictures, "-o", output, "--extractor", "pixels")
    assert code == 1
    assert "--overwrite" in text
    code, text = run(pictures, "-o", output, "--extractor", "pixels", "--overwrite")
    assert code == 0
    assert "4 reused" in text


def test_the_outcome_as_json_is_all_that_is_printed(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    (pictures / "broken.png").write_bytes(b"no image")
    output = tmp_path / "features.npz"
    result = CliRunner().invoke(
        main, ["extract", str(pictures), "-o", str(output), "--extractor", "pixels", "--json"]
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "output": str(output), "images": 4, "labelled": 3, "classes": {"cat": 2, "dog": 1}, "reused": 0,
        "problems": 1, "problems_file": str(tmp_path / "features.problems.csv"),
    }  # fmt: skip
    assert "Labels are the names of the class folders." in result.stderr


def test_progress_shows_images_per_second(pictures: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main,
        [
            "extract",
            str(pictures),
            "-o",
            str(tmp_path / "f.npz"),
            "--extractor",
            "pixels",
            "--store",
            str(tmp_path),
        ],
    )
    assert "image/s" in result.stderr
    assert "image/s" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "-o", "f.npz"], "does not exist"),
        ([".", "-o", "f.npz", "--labels", "no.csv"], "no.csv"),
        ([".", "-o", "f.npz", "--extractor", "pixels", "--weights", "w.pth"], "has no weights"),
        ([".", "-o", "f.npz", "--extractor", "lite0", "--weights", "w.pth"], "w.pth"),
        ([".", "-o", "f.npz", "--extractor", "pixels", "--workers", "-1"], "--workers"),
        ([".", "-o", "nowhere/f.npz", "--extractor", "pixels"], "does not exist"),
        (["."], "--output"),
        ([".", "-o", "f.txt", "--extractor", "pixels"], "name it f.npz; got f.txt"),
        (
            [".", "-o", "f.npz", "--extractor", "lite0+lite2"],
            "only a labelling joins several with +: name one of them, or use grande label; got lite0+lite2",
        ),
    ],
)
def test_errors_are_one_sentence(
    pictures: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(pictures)
    monkeypatch.setenv("GRANDE_CACHE", str(pictures.parent / "cache"))
    code, text = run(*arguments)
    assert code != 0
    assert message in text
    assert "Traceback" not in text


@pytest.mark.parametrize("options", [["-o", "f.txt"], ["-o", "f.npz", "--extractor", "pixels+lite0"]])
def test_what_cannot_work_is_refused_before_the_work(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    code, _ = run(pictures, "--extractor", "pixels", *options)
    assert code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]


def test_help_lists_the_extractors_of_the_registry() -> None:
    words = " ".join(CliRunner().invoke(main, ["extract", "--help"]).output.split())
    assert f"{', '.join(EXTRACTORS)} or a timm model [default: {DEFAULT}]" in words


def test_the_bar_closes_when_the_work_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with image_bar() as report:
            report(0, 10)
            report(3, 10)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert "3/10" in capsys.readouterr().err
    with image_bar():
        pass
    assert capsys.readouterr().err == ""  # nothing to do, nothing shown


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from grande_gnn.cli import main\n"
        "try: main(['extract', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'numpy', 'PIL'} & set(sys.modules), 'heavy'"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "--extractor" in result.stdout
