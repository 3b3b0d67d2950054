import math

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.experiments import evaluate
from grande_gnn.experiments.compare import SystemResult, compare_systems, image_paths, paper_sign
from grande_gnn.internal.features_file import FeaturesFile


@pytest.fixture(scope="module")
def content():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (rng.normal(size=(3, 5)) * 2)[y] + rng.normal(size=(60, 5))
    names = np.array([f"images/{i}.png" for i in range(60)])
    return FeaturesFile(X.astype(np.float32), names, np.array(["ant", "bee", "cat"])[y])


@pytest.fixture(scope="module")
def results(content):
    return list(compare_systems(content, ["knn", "comatch", "grande", "knn"], folds=3, repeats=2, epochs=9))


def test_the_reference_goes_first_with_both_models(results):
    assert [(r.system, r.model) for r in results] == [
        ("grande", "sgc"), ("grande", "appnp"), ("knn", None), ("comatch", None)
    ]  # fmt: skip


def test_grande_is_what_evaluate_measures(content, results):
    for result in results[:2]:
        (expected,) = evaluate(
            content.features, content.labels, model=result.model, folds=3, repeats=1, epochs=9
        )
        np.testing.assert_allclose(result.accuracies[0], expected.accuracies[0])
        assert result.accuracies.shape == (2, 3)


def test_a_system_without_chance_runs_once(results):
    assert results[2].accuracies.shape == (1, 3)


def test_differences_are_paired_with_the_better_grande(results):
    best = max(results[:2], key=lambda result: result.accuracy_mean)
    other, knn = next(r for r in results[:2] if r is not best), results[2]
    assert best.difference is None
    for result in (other, knn):
        gaps = result.accuracies.mean(0) - best.accuracies.mean(0)
        assert result.difference.mean == pytest.approx(gaps.mean())
        reach = 4.302652729 * gaps.std(ddof=1) / math.sqrt(3)  # Student's t, two degrees of freedom
        assert result.difference.high == pytest.approx(gaps.mean() + reach)


def test_a_failure_is_a_row_and_not_the_end(results):
    row = results[3].as_row()
    assert row["accuracy_mean"] is None
    assert "--images" in row["error"]


def test_rows_hold_plain_numbers(results):
    for result in results:
        row = result.as_row()
        assert {"system", "accuracy_mean", "accuracy_std", "seconds"} <= set(row)
        assert all(value is None or type(value) in (str, int, float) for value in row.values())
        assert not any(isinstance(value, float) and math.isnan(value) for value in row.values())
    one = SystemResult("knn", accuracies=np.array([[50.0, 60.0]])).as_row()
    assert one["accuracy_std"] == pytest.approx(math.sqrt(50))
    assert one["std_repetitions"] is None
    assert one["difference"] is None


def test_names_are_checked_before_anything_runs(content):
    with pytest.raises(InvalidInputError, match="got 'vgg'"):
        compare_systems(content, ["knn", "vgg"])
    with pytest.raises(FileFormatError, match="no array 'labels'"):
        compare_systems(FeaturesFile(content.features, content.files, None), ["knn"])


def test_the_papers_signs():
    assert paper_sign("svm") == "-9"
    assert paper_sign("wsef") == "-8 +1"
    assert paper_sign("gnn-lds") == "-8"  # one cell is empty
    assert paper_sign("grande") is None
    assert paper_sign("knn") is None


def test_images_are_found_by_path_or_by_name(tmp_path):
    inner = tmp_path / "images"
    inner.mkdir()
    (inner / "a.png").touch()
    files = ["images/a.png"]
    assert image_paths(files, tmp_path) == image_paths(files, inner) == [str(inner / "a.png")]
    with pytest.raises(FileFormatError, match=r"b\.png"):
        image_paths(["images/a.png", "images/b.png"], tmp_path)
    with pytest.raises(FileFormatError, match=r"got no c\.png"):
        image_paths(["c.png"], tmp_path)
