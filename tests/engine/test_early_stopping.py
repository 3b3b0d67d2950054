"""The epoch with the lowest validation loss counts."""

import numpy as np
import pytest
import torch
from torch import nn

from grande_gnn.engine import Replica, Settings, train
from grande_gnn.engine.early_stopping import BestEpoch
from grande_gnn.engine.plain import PlainTraining
from grande_gnn.errors import InvalidInputError
from grande_gnn.graph import Graph

GRAPH = Graph.from_edges([0], [1], n_nodes=4)
X = np.eye(4, dtype=np.float32)
LABELS = np.array([0, 1, -1, -1])
VALIDATION = np.array([-1, -1, 0, 1])


class Scripted(nn.Module):
    """Its validation loss in each epoch is what a list says, whatever is learned."""

    losses: tuple[float, ...] = ()

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.register_buffer("epoch", torch.zeros(1))

    def forward(self, X, graph, degree):
        if self.training:
            self.epoch += 1
            return self.weight * torch.ones(4, 2)
        p = torch.tensor(-self.losses[int(self.epoch) - 1]).exp()
        right = torch.stack([p, 1 - p]).log()
        return torch.stack([right, right.flip(0), right, right.flip(0)])


def epochs_of(losses, epochs, patience, **settings):
    """How many epochs are trained and which of them is kept."""
    module = type("Module", (Scripted,), {"losses": losses})
    settings = Settings(model=module, epochs=epochs, patience=patience, device="cpu", **settings)
    seen = []
    (outcome,) = train(
        X,
        GRAPH,
        [Replica(LABELS, validation=VALIDATION)],
        2,
        settings,
        keep_models=True,
        progress=seen.append,
    )
    return len(seen), int(outcome.parameters["epoch"][0])


@pytest.mark.parametrize(
    ("losses", "patience", "expected"),
    [
        ((0.9, 0.8, 0.7, 0.6, 0.5, 0.4), 2, (6, 6)),  # it always falls
        ((0.3, 0.8, 0.7, 0.6, 0.5, 0.4), 2, (6, 1)),  # the best was the first
        ((0.5, 0.6, 0.7, 0.8, 0.9, 0.95), 2, (4, 1)),  # rises, but never ends in the first half
        ((0.5, 0.4, 0.3, 0.2, 0.24, 0.1), 2, (6, 6)),  # 0.24 is below the mean of 0.3 and 0.2
        ((0.5, 0.4, 0.3, 0.2, 0.26, 0.1), 2, (5, 4)),  # 0.26 is not
        ((0.5, 0.4, 0.3, 0.2, 0.26, 0.1), 4, (6, 6)),  # but below the mean of four
    ],
)
def test_the_training_ends_by_the_rule_and_the_best_epoch_is_kept(losses, patience, expected):
    assert epochs_of(losses, 6, patience) == expected


def test_the_last_epoch_is_kept_on_request():
    assert epochs_of((0.5, 0.4, 0.3, 0.2, 0.26, 0.1), 6, 2, best_epoch=False) == (5, 5)


def test_the_kept_parameters_are_copies():
    settings = Settings(model=Scripted, epochs=2, patience=1, device="cpu")
    model = PlainTraining(torch.from_numpy(X), GRAPH, Replica(LABELS), 2, settings)
    model.module.losses, model.module.epoch[0] = (0.1, 0.2), 1
    watch = BestEpoch(model, VALIDATION, settings)
    watch.is_over()
    model.module.epoch += 1
    watch.restore()
    assert int(model.module.epoch) == 1


@pytest.mark.parametrize("name", ["sgc", "appnp"])
def test_diffusion_models_stop_too_and_without_patience_nothing_changes(name):
    replica = Replica(LABELS, hidden=4, validation=VALIDATION)
    plain = Settings(model=name, epochs=8, device="cpu", dropout=0.0)
    stopping = Settings(model=name, epochs=8, device="cpu", dropout=0.0, patience=8)
    whole, stopped = (train(X, GRAPH, [replica], 2, s, keep_models=True)[0].logits for s in (plain, stopping))
    again = train(X, GRAPH, [Replica(LABELS, hidden=4)], 2, plain, keep_models=True)[0].logits
    np.testing.assert_array_equal(whole, again)
    assert stopped.shape == whole.shape


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (None, "needs validation labels"),
        (np.full(4, -1), "one class code per sample"),
        (np.array([0, 1]), r"got shape \(2,\)"),
        (np.array([-1, -1, 0, 2]), "largest 2"),
    ],
)
def test_validation_labels_are_checked(validation, message):
    with pytest.raises(InvalidInputError, match=message):
        train(X, GRAPH, [Replica(LABELS, validation=validation)], 2, Settings(patience=3, device="cpu"))
    with pytest.raises(InvalidInputError, match="patience must be an integer of at least 1"):
        Settings(patience=0)
