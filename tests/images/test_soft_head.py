"""The head that an adaptation starts from."""

import torch

from grande_gnn.images.soft_head import PENALTY, fit_head


def problem(n=60, d=5, c=3):
    generator = torch.Generator().manual_seed(0)
    x = 3 + 2 * torch.randn(n, d, generator=generator)
    p = torch.softmax(x @ torch.randn(d, c, generator=generator), 1)
    return x, p


def test_the_gradient_is_zero_at_the_solution():
    x, p = problem()
    weight, bias = (t.double() for t in fit_head(x, p))
    x = x.double()
    mean = x.mean(0)
    scale = (x - mean).square().mean().sqrt()
    z, W, b = (x - mean) / scale, (weight * scale).requires_grad_(), (bias + weight @ mean).requires_grad_()
    loss = -(p * torch.log_softmax(z @ W.T + b, 1)).sum(1).mean() + PENALTY / 2 * W.square().sum()
    for gradient in torch.autograd.grad(loss, [W, b]):
        assert gradient.abs().max() < 1e-3


def test_it_answers_as_the_soft_labels_do():
    x, p = problem()
    weight, bias = fit_head(x, p)
    answers = torch.softmax(x @ weight.T + bias, 1)
    assert (answers.argmax(1) == p.argmax(1)).float().mean() > 0.9
    assert (answers - p).abs().mean() < 0.1


def test_other_scales_of_the_features_give_the_same_answers():
    x, p = problem()
    one, other = (fit_head(f, p) for f in (x, 100 * x - 7))
    torch.testing.assert_close(
        x @ one[0].T + one[1], (100 * x - 7) @ other[0].T + other[1], atol=2e-3, rtol=1e-3
    )
