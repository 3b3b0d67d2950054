"""``grande figure`` as a user calls it."""

from pathlib import Path

import numpy as np
import pytest


def test_failed_trials_are_counted_in_the_exit_status(data, tmp_path, monkeypatch, grande, fast):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    monkeypatch.setattr("grande_gnn.classifier.problem.LearningProblem.train", None)
    result = grande("figure", "sigma", "--data", data, "-o", tmp_path / "out", *fast)
    assert result.exit_code == 1
    assert "66 trials failed" in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_the_degree_figure_finds_the_images_or_notes_that_it_does_not(
    data, tmp_path, monkeypatch, grande, save_features
):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    from PIL import Image

    from grande_gnn.experiments.figures import figure_degree as degree

    names = [f"photos/{i}.png" for i in range(18)]
    save_features(data / "own" / "features_a.npz", files=np.array(names))
    for name in names:
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 9), "red").save(tmp_path / "own" / name)
    tiles, real = [], degree.thumbnail
    monkeypatch.setattr(degree, "thumbnail", lambda path: tiles.append(real(path)) or tiles[-1])
    options = ["figure", "degree", "--data", data, "-o", tmp_path / "out", "--neighbors", 6, "--folds", 3]
    gray = grande(*options)
    assert gray.exit_code == 0, gray.output
    (sentence,) = gray.stderr.splitlines()
    assert "--images" in sentence
    assert "; got no photos/" in sentence
    assert all((tile == 200).all() for tile in tiles)
    for folder in ("own", "own/photos"):  # as the features file names them, or by their bare names
        tiles.clear()
        found = grande(*options, "--images", tmp_path / folder)
        assert found.exit_code == 0, found.output
        assert found.stderr == ""
        assert all((tile == [255, 0, 0]).all() for tile in tiles)


def test_figures(data, tmp_path, grande, fast):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    sigma = grande("figure", "sigma", "--data", data, "-o", tmp_path / "out", *fast)
    assert sigma.exit_code == 0, sigma.output
    degree = grande(
        "figure",
        "degree",
        "--data",
        data,
        "-o",
        tmp_path / "out",
        "--neighbors",
        6,
        "--folds",
        3,
        "--nodes",
        0,
        1,
    )
    assert degree.exit_code == 0, degree.output
    for line in (sigma.stdout + degree.stdout).splitlines():
        assert Path(line).stat().st_size > 1000
