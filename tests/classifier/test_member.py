"""A member is one training with a temperature; new samples get the same equations."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax

from grande_gnn.classifier.member import Member
from grande_gnn.classifier.new_samples import attach, logits_of_new
from grande_gnn.classifier.preparation import Choice
from grande_gnn.classifier.problem import LabelSet, LearningProblem
from grande_gnn.degree import Centrality, Grande
from grande_gnn.engine import Settings
from grande_gnn.graph import Neighbors, build_graph
from grande_gnn.propagation import appnp, sgc

CHOICE = Choice("reciprocal", 10, "none", 0.2)


@pytest.fixture
def neighbors(three_blobs):
    return Neighbors(three_blobs[0])


@pytest.fixture
def problem(neighbors):
    graph = build_graph("reciprocal", neighbors, 10)
    return LearningProblem(neighbors.features, graph, 3, Grande(0.2), Settings(device="cpu", epochs=20), 8)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_probabilities_are_those_of_the_training_at_the_members_temperature(
    three_blobs, problem, neighbors, temperature
):
    X, _, codes = three_blobs
    weights = np.random.default_rng(0).uniform(0.5, 2, 90)
    labels = LabelSet(codes, weights=weights)
    member, p = Member.train(CHOICE, problem, labels, temperature=temperature, weight=0.3)
    (outcome,) = problem.train([labels], keep_models=True)
    np.testing.assert_array_equal(p, softmax(outcome.logits.astype(np.float64) / temperature, axis=1))
    np.testing.assert_array_equal(member.degree, outcome.degree)
    np.testing.assert_array_equal(member.reached, problem.graph.reached_from(codes >= 0))
    assert (member.weight, member.temperature, member.choice) == (0.3, temperature, CHOICE)
    new = X[:4] + np.float32(0.1)
    attachments = attach(new, neighbors, 10)
    logits = logits_of_new(problem, member.parameters, member.degree, new, attachments)
    np.testing.assert_array_equal(member.of_new(new, attachments), softmax(logits / temperature, axis=1))


@pytest.mark.parametrize("degree", [Grande(0.2), Centrality()], ids=["grande", "centrality"])
@pytest.mark.parametrize("model", ["sgc", "appnp", "gcn"])
def test_logits_of_the_fitted_samples_can_be_computed_again(three_blobs, problem, model, degree):
    problem = replace(problem, degree=degree, settings=replace(problem.settings, model=model))
    labels = LabelSet(three_blobs[2])
    member, _ = Member.train(CHOICE, problem, labels)
    (outcome,) = problem.train([labels], keep_models=True)
    np.testing.assert_allclose(member.fitted_logits(), outcome.logits, atol=1e-4)


@pytest.mark.parametrize("model", ["sgc", "appnp", "gcn"])
def test_features_are_diffused_like_the_output(three_blobs, problem, model):
    X, _, codes = three_blobs
    problem = replace(problem, settings=replace(problem.settings, model=model))
    member, _ = Member.train(CHOICE, problem, LabelSet(codes))
    h, degree = torch.from_numpy(X).double(), torch.from_numpy(member.degree)
    expected = (
        appnp(h, degree, problem.graph) if model == "appnp" else sgc(h, degree, problem.graph, n_hops=2)
    )
    found = member.diffused(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)
