"""Convolutions with merged normalizations: the same function and gradients as one after the other."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from grande_gnn.images.networks.conv_norm import ConvNorm, MobileBlock


def pair(seed: int = 0) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    generator = torch.Generator().manual_seed(seed)
    conv, norm = nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(6)
    for values in (conv.weight, norm.weight, norm.bias, norm.running_mean):
        nn.init.normal_(values, generator=generator)
    nn.init.uniform_(norm.running_var, 0.5, 2, generator=generator)
    return conv, norm


def images() -> torch.Tensor:
    return torch.randn(2, 4, 9, 9, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("is_activated", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_function_and_gradients_are_those_of_one_after_the_other(is_activated: bool, training: bool) -> None:
    conv, norm = pair()
    plain = nn.Sequential(*copy.deepcopy((conv, norm)), *[nn.ReLU6()] * is_activated).train(training)
    merged = ConvNorm(conv, norm, is_activated=is_activated).train(training)
    torch.testing.assert_close(merged(images()), plain(images()))
    one = torch.autograd.grad(merged(images()).square().sum(), list(merged.parameters()))
    two = torch.autograd.grad(plain(images()).square().sum(), list(plain.parameters()))
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(norm.running_mean, plain[1].running_mean)


def test_statistics_stay_unless_training() -> None:
    conv, norm = pair()
    before = norm.running_mean.clone()
    ConvNorm(conv, norm, is_activated=True).eval()(images())
    assert torch.equal(norm.running_mean, before)
    ConvNorm(conv, norm, is_activated=True).train()(images())
    assert not torch.equal(norm.running_mean, before)


def test_a_norm_that_is_already_merged() -> None:
    conv = nn.Conv2d(4, 6, 3)
    expected = conv(images()).clamp(0, 6)
    torch.testing.assert_close(ConvNorm(conv, nn.Identity(), is_activated=True)(images()), expected)
    bare = nn.Conv2d(4, 6, 3, bias=False)
    torch.testing.assert_close(
        ConvNorm(bare, nn.Identity(), is_activated=True)(images()), bare(images()).clamp(0, 6)
    )


def test_a_block_adds_its_input_if_told_to() -> None:
    step = ConvNorm(nn.Conv2d(4, 4, 1), nn.Identity(), is_activated=False)
    x = images()
    torch.testing.assert_close(MobileBlock([step], adds_input=True)(x), step(x) + x)
    torch.testing.assert_close(MobileBlock([step], adds_input=False)(x), step(x))
