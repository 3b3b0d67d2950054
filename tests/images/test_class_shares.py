"""The shares of the classes: predicted ones are trusted as far as they differ by more than the teacher errs."""

import pytest
import torch

from grande_gnn.images.class_shares import ALIGNMENTS, class_shares


def answers(*counts: int, confidence: float = 1.0) -> torch.Tensor:
    """A teacher that gives the first ``counts[0]`` images to class 0, and so on."""
    sure = torch.eye(len(counts)).repeat_interleave(torch.tensor(counts), 0)
    return confidence * sure + (1 - confidence) / (len(counts) - 1) * (1 - sure)


def test_a_teacher_without_errors_is_believed():
    shares = class_shares(answers(70, 20, 10), error=0.0)
    torch.testing.assert_close(shares, torch.tensor([71, 21, 11]) / 103)


def test_differences_that_errors_explain_are_ignored():
    shares = class_shares(answers(36, 33, 31), error=0.2)
    torch.testing.assert_close(shares, torch.full((3,), 1 / 3))


def test_between_both_they_shrink_by_the_share_that_errors_explain():
    predicted = torch.tensor([61.0, 21, 21]) / 103
    shrunk = 0.1**2 * predicted.square().sum() / (predicted - 1 / 3).square().sum()
    assert 0 < shrunk < 1
    expected = 1 / 3 + (1 - shrunk) * (predicted - 1 / 3)
    torch.testing.assert_close(class_shares(answers(60, 20, 20), error=0.1), expected)


def test_unknown_errors_are_those_that_the_teacher_admits():
    soft = answers(60, 20, 20, confidence=0.8)
    torch.testing.assert_close(class_shares(soft), class_shares(soft, error=0.2))


def test_a_teacher_that_knows_nothing_says_nothing_about_shares():
    torch.testing.assert_close(class_shares(torch.full((9, 2), 0.5)), torch.tensor([0.5, 0.5]))


def test_an_image_between_two_classes_counts_half_for_each():
    soft = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1], [1, 0, 0]])
    torch.testing.assert_close(class_shares(soft, error=0.0), torch.tensor([3.5, 1.5, 2]) / 7)


def test_every_known_class_keeps_a_share_and_an_unknown_one_gets_none():
    soft = torch.cat([answers(10, 0, confidence=0.9), torch.zeros(10, 1)], 1)
    for align in ("teacher", "uniform"):
        shares = class_shares(soft, align, error=0.0)
        assert shares.sum() == pytest.approx(1)
        assert shares[1] > 0
        assert shares[2] == 0


def test_other_alignments():
    soft = answers(3, 1, confidence=0.75)
    assert ALIGNMENTS == ("teacher", "predicted", "uniform", "none")
    torch.testing.assert_close(class_shares(soft, "predicted"), torch.tensor([0.625, 0.375]))
    torch.testing.assert_close(class_shares(soft, "uniform"), torch.tensor([0.5, 0.5]))
    assert class_shares(soft, "none") is None
