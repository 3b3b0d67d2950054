"""A diffusion model is its head followed by its hops, and nothing else."""

import numpy as np
import torch

from grande_gnn.engine import Replica, Settings
from grande_gnn.engine.trainable import Diffusion


def test_evaluation_is_hops_of_head_without_dropout(problem, built):
    model = built([Replica(problem.labels, 0.2, r, hidden=16) for r in range(3)], Settings(device="cpu"))
    assert isinstance(model, Diffusion)
    Z, H, degree = (t.clone() for t in model.evaluate())
    np.testing.assert_array_equal(H, model.head.forward(training=False))
    np.testing.assert_array_equal(Z, model.hops.forward(H))
    np.testing.assert_array_equal(degree, model.hops.delta)
    assert (Z.shape, H.shape, degree.shape) == ((3, 40, 3), (3, 40, 3), (3, 40))
    again, _, _ = model.evaluate()
    np.testing.assert_array_equal(Z, again)


def test_training_gives_logits_of_the_labelled_rows_with_dropout(problem, built):
    replicas = [Replica(problem.labels, 0.2, r, hidden=16) for r in range(2)]
    dropped, whole = (
        built(replicas, Settings(dropout=p, device="cpu")).forward().clone() for p in (0.5, 0.0)
    )
    assert dropped.shape == whole.shape == (36, 3)
    assert not torch.allclose(dropped, whole)
    Z, _, _ = built(replicas, Settings(dropout=0.0, device="cpu")).evaluate()
    np.testing.assert_array_equal(whole, Z[:, :18].flatten(0, 1))


def test_a_step_of_the_optimizer_lowers_the_loss(problem, built):
    settings = Settings(dropout=0.0, device="cpu", lr=1e-2)
    model = built([Replica(problem.labels, 0.2, hidden=16)], settings)
    optimizer = model.optimizer(settings)
    losses = []
    for _ in range(5):
        logits = model.forward()
        losses.append(torch.nn.functional.cross_entropy(logits, model.labelled.target).item())
        model.backward(model.labelled.loss_gradient(logits))
        optimizer.step()
    assert losses == sorted(losses, reverse=True)
