"""Labels, confidences, runner-ups and flags agree with one another and with what was given."""

from types import SimpleNamespace

import numpy as np
import pytest

from grande_gnn import GrandeClassifier
from grande_gnn.classifier.halves import Halves
from grande_gnn.graph import Neighbors
from grande_gnn.internal.validation import encode_labels
from grande_gnn.labelling.assess import assess, assess_new
from grande_gnn.labelling.confidence import Calibration
from grande_gnn.labelling.label_sets import conformal_sets

NAMES = np.array(["cat", "dog", "elk"])


def classifier(**options):
    settings = {"n_neighbors": 10, "hidden": 8, "epochs": 60, "lr": 0.02, "device": "cpu", "random_state": 0}
    return GrandeClassifier(**(settings | options))


def labelled(X, given, **options):
    clf = classifier(**options).fit(X, given)
    return assess(clf, given, [f"{i}.jpg" for i in range(len(X))]), clf


def test_the_runner_up_is_another_label_and_the_margin_the_difference_to_it(groups):
    X, classes, given = groups()
    given[0] = "dog"  # a lie
    result, _ = labelled(X, given)
    assert result.labels[:30] == given[:30]
    assert all(a != b for a, b in zip(result.labels, result.runner_up, strict=True))
    second = result.confidence - result.margin
    assert ((second >= 0) & (second <= 1)).all()
    assert (result.margin[30:] >= 0).all()
    assert np.mean(np.array(result.labels[30:]) == NAMES[classes[30:]]) > 0.9


def test_a_lie_is_doubted_and_suspicious(groups):
    X, _, given = groups()
    given[0] = "dog"
    result, _ = labelled(X, given, epochs=300, n_neighbors=30)  # until it is sure
    assert result.confidence[0] < 0.3
    assert result.margin[0] < 0
    assert result.runner_up[0] == "cat"
    assert (0, "cat") in [(s.row, s.label) for s in result.suspicions]
    assert "suspicious_label" in result.flags()[0]


def test_one_label_for_each_class_gives_an_estimate_with_a_wide_interval(groups):
    X, _, given = groups()
    lone = [label if i < 3 else "" for i, label in enumerate(given)]
    result, clf = labelled(X, lone)
    assert "none could be held out" in result.note
    assert result.accuracy.high - result.accuracy.low > 0.3
    codes = [list(clf.classes_).index(label) for label in lone[:3]]
    expected = result.calibration.probabilities(clf.label_distributions_)[np.arange(3), codes]
    np.testing.assert_allclose(result.confidence[:3], expected)
    assert result.suspicions == []


@pytest.mark.filterwarnings("ignore:only one class")
def test_one_class_is_said(groups):
    X, _, _ = groups()
    result, _ = labelled(X, ["cat", "cat"] + [""] * (len(X) - 2))
    assert "another class" in result.note
    assert set(result.labels) == {"cat"}
    assert set(result.runner_up) == {""}


def test_new_images_far_from_everything_are_flagged(groups):
    X, classes, given = groups()
    _, clf = labelled(X, given)
    near, _, _ = groups(6, 0, seed=1)
    new = np.concatenate([near, np.full((1, 3), 300, dtype=np.float32)])
    result = assess_new(new, [str(i) for i in range(7)], clf, Calibration())
    assert result.out_of_distribution.tolist() == [False] * 6 + [True]
    assert result.labels[:6] == NAMES[classes[:6]].tolist()
    assert not result.unreached.any()


def test_new_images_beside_an_unreached_group_are_unreached():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    X[40:] += 100  # an island without a label
    given = ["cat" if i % 2 else "dog" for i in range(20)] + [""] * 40
    _, clf = labelled(X, given, n_neighbors=5)
    assert not clf.reached_[40:].any()
    result = assess_new(np.array([[0, 0], [100, 100]], dtype=np.float32), ["a", "b"], clf, Calibration())
    assert result.unreached.tolist() == [False, True]


def test_a_new_image_far_from_four_images_but_not_from_five_is_not_flagged(groups):
    """The fifth neighbor decides: a tight group of five new to the model lies far from it, copies of five do not."""
    X, _, given = groups()
    lonely = np.full((5, 3), 60, dtype=np.float32) + np.arange(5, dtype=np.float32)[:, None] / 10
    _, clf = labelled(np.concatenate([X, lonely]), given + [""] * 5)
    new = lonely[:1] + np.float32(0.01)  # near to five fitted images
    assert not assess_new(new, ["a"], clf, Calibration()).out_of_distribution.any()
    _, clf = labelled(np.concatenate([X, lonely[:4]]), given + [""] * 4)
    assert assess_new(new, ["a"], clf, Calibration()).out_of_distribution.all()  # the fifth neighbor is far


def test_labels_of_new_images_are_those_of_predict_and_do_not_depend_on_the_others(groups):
    X, _, given = groups()
    _, clf = labelled(X, given)
    new = X[:4] + np.float32(0.1)
    together = assess_new(new, list("abcd"), clf, Calibration())
    assert together.labels == clf.predict(new).tolist()
    np.testing.assert_allclose(together.confidence, clf.predict_proba(new).max(axis=1), atol=1e-12)
    for row in range(4):
        alone = assess_new(new[row : row + 1], ["x"], clf, Calibration())
        assert alone.labels == together.labels[row : row + 1]
        np.testing.assert_allclose(alone.confidence, together.confidence[row])


def test_new_images_are_calibrated_and_have_neighbors_of_their_own(groups):
    X, _, given = groups()
    _, clf = labelled(X, given)
    new = X[:5] + np.float32(0.1)
    plain, flat = (assess_new(new, list("abcde"), clf, Calibration(t)) for t in (1.0, 3.0))
    assert (flat.confidence < plain.confidence).all()
    assert flat.calibration == Calibration(3.0)
    assert flat.neighbors.lists(5).shape == (5, 5)
    assert flat.given == [""] * 5


def test_a_fitted_image_asked_again_is_as_reached_as_it_was(groups):
    X = np.concatenate([groups()[0], 100 + groups(9, 0, seed=1)[0]])
    _, clf = labelled(X, groups()[2] + [""] * 9, n_neighbors=5)
    result = assess_new(X, [str(i) for i in range(99)], clf, Calibration())
    np.testing.assert_array_equal(result.unreached, ~clf.reached_)
    assert result.unreached[90:].all()


def test_a_label_of_blanks_is_none(groups):
    X, _, given = groups()
    blank = [label or "  " for label in given]
    result, expected = labelled(X, blank)[0], labelled(X, given)[0]
    assert result.labels == expected.labels
    assert result.given == given


@pytest.mark.parametrize("n_labels", [12, 30])
def test_confidence_is_a_probability(groups, n_labels):
    X, _, given = groups(known=n_labels)
    result, _ = labelled(X, given)
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()
    assert result.accuracy.low <= result.accuracy.value <= result.accuracy.high


def test_mean_confidence_in_the_unlabelled_images_is_the_expected_accuracy(groups):
    X, _, given = groups()
    X = X + np.random.default_rng(1).normal(size=X.shape).astype(
        np.float32
    )  # hard enough to be wrong at times
    result, _ = labelled(X, given)
    assert result.confidence[30:].mean() == pytest.approx(result.accuracy.value, abs=1e-3)
    assert result.calibration.offset is not None


def test_the_estimate_is_made_from_the_labels_that_were_held_out(groups):
    """The interval of a few labels is wide, and many more unlabelled images do not narrow it."""
    X, _, given = groups(known=12)
    many = np.concatenate([X, groups(600, 0, seed=1)[0]])
    one, other = labelled(X, given)[0], labelled(many, given + [""] * 600)[0]
    assert one.accuracy.n == other.accuracy.n == 12
    assert other.accuracy.high - other.accuracy.low > 0.08


def test_a_given_label_has_the_confidence_of_the_half_that_did_not_know_it(groups):
    X, _, given = groups()
    result, clf = labelled(X, given)
    codes, _ = encode_labels(given)
    held_out = clf.train_halves(codes).held_out()
    own = np.exp(held_out.logits[np.arange(30), held_out.labels])
    sure = own == np.exp(held_out.logits).max(axis=1)
    assert np.abs(result.confidence[:30][sure] - own[sure]).mean() > 0.1  # it is calibrated
    order = np.argsort(own[sure])
    assert (np.diff(result.confidence[:30][sure][order]) >= -1e-9).all()  # the curve is monotonous
    assert not np.allclose(
        result.confidence[:30], clf.label_distributions_[np.arange(30), held_out.labels], atol=1e-3
    )


def test_the_accuracy_of_a_class_is_that_of_images_that_received_it(groups):
    X, _, given = groups()
    result, clf = labelled(X, given)
    codes, _ = encode_labels(given)
    received = clf.train_halves(codes).held_out().logits.argmax(axis=1)
    assert [result.class_accuracy[str(name)].n for name in NAMES] == np.bincount(
        received, minlength=3
    ).tolist()


def test_copies_are_named_and_flagged(groups):
    X, _, given = groups()
    X = np.concatenate([X, X[40:41] + np.float32(1e-5)])
    result, _ = labelled(X, [*given, ""])
    assert result.copy_of[90] == "40.jpg"
    assert result.copy_of[:90] == [""] * 90
    assert [flags for flags in result.flags() if "copy" in flags.split()] == [result.flags()[90]]


def test_a_class_that_nobody_labelled_is_unfamiliar_and_less_sure():
    rng = np.random.default_rng(0)
    classes = np.arange(240) % 4
    X = (5 * np.eye(4)[classes] + rng.normal(size=(240, 4))).astype(np.float32)
    given = [str(NAMES[c]) if i < 60 and c < 3 else "" for i, c in enumerate(classes)]
    result, _ = labelled(X, given, normalize="center-l2", epochs=200)
    unknown, labelled_ones = classes == 3, np.array([bool(label) for label in given])
    others = ~unknown & ~labelled_ones
    above = np.mean(result.unfamiliar[unknown][:, None] > result.unfamiliar[others])
    assert above > 0.9
    assert (result.unfamiliar[labelled_ones] == 0).all()
    assert result.confidence[unknown].mean() < result.confidence[others].mean() - 0.02
    assert unknown[result.is_unfamiliar].mean() >= 0.5 or not result.is_unfamiliar.any()


def test_the_confidence_of_unfamiliar_images_is_lowered_by_a_factor():
    rng = np.random.default_rng(0)
    classes = np.arange(600) % 4
    X = ((2.2 * rng.normal(size=(4, 8)))[classes] + rng.normal(size=(600, 8))).astype(np.float32)
    given = [str(NAMES[c]) if i < 120 and c < 3 else "" for i, c in enumerate(classes)]
    result, clf = labelled(X, given, model="sgc", graph="knn", n_neighbors=8, normalize="center-l2")
    flagged = result.is_unfamiliar
    assert flagged.any()
    calibrated = result.calibration.probabilities(clf.label_distributions_).max(axis=1)
    np.testing.assert_allclose(result.confidence[flagged], 0.7 * calibrated[flagged])


def test_sets_of_labels_hold_the_truth_as_often_as_asked(groups):
    X, classes, given = groups(300, 60)
    X = X / 2
    result, _ = labelled(X, given)
    assert result.label_sets is None
    clf = result.classifier
    result = assess(clf, given, result.files, coverage=0.9)
    assert result.sets_made.method == "split"
    assert result.sets_made.n in (30, 31)
    with_own = [(s, label) for s, label in zip(result.label_sets, result.labels, strict=True) if label in s]
    assert len(with_own) > 200
    assert all(found[0] == label for found, label in with_own)  # an image's own label comes first
    assert result.label_sets[:60] == [[label] for label in given[:60]]  # given is known
    holds = [NAMES[c] in found for c, found in zip(classes[60:], result.label_sets[60:], strict=True)]
    assert np.mean(holds) >= 0.85
    larger = assess(clf, given, result.files, coverage=0.97)
    assert sum(map(len, larger.label_sets)) >= sum(map(len, result.label_sets))


def test_sets_are_the_conformal_ones_of_the_halves(groups):
    X, _, given = groups(known=24)
    _, clf = labelled(X / 2, given)
    codes, _ = encode_labels(given)
    halves = clf.train_halves(codes)
    result = assess(clf, given, [str(i) for i in range(90)], coverage=0.9)
    assert (result.sets_made.method, result.sets_made.n) == ("cross", 24)
    scores = [1 - p for p in halves.probabilities]
    held_out = [s[other, codes[other]] for s, other in zip(scores, halves.known[::-1], strict=True)]
    expected, _, _ = conformal_sets(0.9, held_out, scores)
    for row in range(24, 90):
        assert sorted(result.label_sets[row]) == sorted(NAMES[expected[row]])


@pytest.mark.filterwarnings("ignore")
def test_sets_hold_the_truth_if_many_classes_have_one_label():
    """Labels whose class one half does not know cannot be predicted, and neither can the images of such classes."""
    holds, sizes = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        means, classes = rng.normal(size=(40, 16)), rng.integers(0, 40, 800)
        X = (means[classes] + 0.7 * rng.normal(size=(800, 16))).astype(np.float32)
        known = rng.choice(800, 80, replace=False)
        given = np.full(800, "", dtype=object)
        given[known] = [f"c{code:02d}" for code in classes[known]]
        _, clf = labelled(X, given.tolist())
        result = assess(clf, given.tolist(), [str(i) for i in range(800)], coverage=0.9)
        assert result.sets_made.method == "split"
        labelled_classes = np.unique(classes[known])
        for row in np.flatnonzero((given == "") & np.isin(classes, labelled_classes)):
            holds.append(f"c{classes[row]:02d}" in result.label_sets[row])
            sizes.append(len(result.label_sets[row]))
    assert np.mean(holds) >= 0.9
    assert np.mean(sizes) < 40


def test_a_set_is_empty_where_no_label_is_typical_enough():
    """Both halves are sure of every held-out label and unsure of the rest, so no class of the rest conforms."""
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(80) < 40, np.arange(80) % 2, -1)
    first = (codes >= 0) & (np.arange(80) < 20)
    own = np.eye(2)[np.maximum(codes, 0)]
    p = np.where(codes[:, None] >= 0, 0.01 + 0.98 * own, [[0.55, 0.45]])
    clf = SimpleNamespace(
        classes_=NAMES[:2], neighbors_=Neighbors(rng.normal(size=(80, 3)), device="cpu"), reached_=codes > -2,
        copies_=np.arange(80), halves_=Halves(codes, (first, (codes >= 0) & ~first), (p, p)), label_distributions_=p,
    )  # fmt: skip
    given = [str(NAMES[code]) if code >= 0 else "" for code in codes]
    result = assess(clf, given, [str(i) for i in range(80)], coverage=0.9)
    assert result.label_sets[40:] == [[]] * 40


def test_sets_are_calibrated_on_labels_that_a_half_did_not_know():
    """Each half is sure of the labels it knows and unsure of all others, so every set has both classes."""
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(80) < 40, np.arange(80) % 2, -1)
    first = (codes >= 0) & (np.arange(80) < 20)
    known = (first, (codes >= 0) & ~first)
    own = np.eye(2)[np.maximum(codes, 0)]
    probabilities = tuple(
        np.where(
            half[:, None], 0.01 + 0.98 * own, np.where(codes[:, None] >= 0, 0.6 - 0.2 * own, [[0.55, 0.45]])
        )
        for half in known
    )
    clf = SimpleNamespace(
        classes_=NAMES[:2], neighbors_=Neighbors(rng.normal(size=(80, 3)), device="cpu"), reached_=codes > -2,
        copies_=np.arange(80), halves_=Halves(codes, known, probabilities), label_distributions_=probabilities[0],
    )  # fmt: skip
    given = [str(NAMES[code]) if code >= 0 else "" for code in codes]
    result = assess(clf, given, [str(i) for i in range(80)], coverage=0.9)
    assert all(sorted(found) == ["cat", "dog"] for found in result.label_sets[40:])


def test_labels_in_series_make_the_promise_of_sets_doubtful():
    """Labelled images side by side in one corner of each class: the test of a random sample contradicts the promise."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 150)
    along = np.tile(np.linspace(0, 6, 150), 2)
    X = np.stack([3.0 * classes, along], axis=1) + rng.normal(size=(300, 2)) / 10
    given = [str(NAMES[c]) if i % 150 < 20 else "" for i, c in enumerate(classes)]
    _, clf = labelled(X.astype(np.float32), given)
    warned = assess(clf, given, [str(i) for i in range(300)], coverage=0.9)
    assert "not a random sample" in warned.sets_made.warning
    assert any("picked at random" in sentence for sentence in warned.doubts)


@pytest.mark.filterwarnings("ignore:only one class")
def test_sets_without_held_out_labels_promise_nothing(groups):
    X, _, given = groups()
    one = assess(classifier().fit(X, ["cat"] + [""] * 89), ["cat"] + [""] * 89, given, coverage=0.9)
    assert one.sets_made.method == "calibrated"
    _, clf = labelled(X, given)
    new = assess_new(X[:4] + np.float32(0.1), list("abcd"), clf, Calibration(), coverage=0.9)
    assert new.sets_made.method == "calibrated"
    assert all(found[0] == label for found, label in zip(new.label_sets, new.labels, strict=True))


def test_why_the_interval_is_wide_is_said_with_what_to_do(groups):
    X, _, given = groups(known=6)
    result, _ = labelled(X, given)
    assert result.doubts
    assert all(":" in sentence for sentence in result.doubts)
    assert result.doubts[0].replace("images", "samples") in result.summary()  # there are no images here


def test_numbers_are_labels_too(groups):
    X, classes, given = groups()
    codes = np.where(np.arange(len(X)) < 30, classes, -1)
    by_number, by_name = (assess(classifier().fit(X, y), y, given) for y in (codes, given))
    assert by_number.given == [str(c) if c >= 0 else "" for c in codes]
    assert [str(NAMES[int(label)]) for label in by_number.labels] == by_name.labels
    np.testing.assert_array_equal(by_number.confidence, by_name.confidence)


def test_where_everything_is_labelled_only_the_labels_were_checked(groups):
    X, classes, _ = groups()
    everything = [str(NAMES[c]) for c in classes]
    result, _ = labelled(X, everything)
    assert result.note.endswith("All images have labels, so these were only checked.")
    assert "unlabelled images" not in result.note
