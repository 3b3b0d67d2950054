"""The contrast between the pseudo-label graph and the embedding graph."""

import pytest
import torch

from grande_gnn.images.contrast import contrast_loss


def test_it_is_its_definition():
    generator = torch.Generator().manual_seed(0)
    p = torch.softmax(4 * torch.randn(6, 3, generator=generator), 1)
    similarity = torch.randn(6, 6, generator=generator)
    expected = 0.0
    for i in range(6):
        q = [1.0 if i == j else float(p[i] @ p[j]) for j in range(6)]
        q = [value if value >= 0.4 else 0.0 for value in q]
        s = torch.softmax(similarity[i], 0)
        expected -= sum(value / sum(q) * float(s[j].log()) for j, value in enumerate(q)) / 6
    assert contrast_loss(similarity, p, 0.4).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_least_where_views_of_one_image_are_alike():
    p = torch.full((4, 4), 0.25)  # nobody is known to be of one class
    assert contrast_loss(8 * torch.eye(4), p, 0.8) < contrast_loss(-8 * torch.eye(4), p, 0.8)
