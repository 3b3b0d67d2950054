"""Reciprocal neighbors as edges of PyTorch Geometric."""

import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from torch_geometric.data import Batch, Data

from grande_gnn.graph import reciprocal_knn_graph
from grande_gnn.nn import ReciprocalKNNGraph


def features(n=25, d=6, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def old_edges():
    return torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])


class TestReciprocalKNNGraph:
    def test_edges_are_those_of_the_package_without_loops(self):
        x = features(60)
        graph = reciprocal_knn_graph(x.numpy(), 8)
        edges = torch.stack(graph.edges())
        assert torch.equal(ReciprocalKNNGraph(8, loop=True)(Data(x=x)).edge_index, edges)
        assert torch.equal(ReciprocalKNNGraph(8)(Data(x=x)).edge_index, edges[:, edges[0] != edges[1]])

    def test_k_counts_the_sample_itself(self):
        x = features(30)
        assert ReciprocalKNNGraph(1)(Data(x=x)).edge_index.shape == (2, 0)
        degree = torch.bincount(ReciprocalKNNGraph(5)(Data(x=x)).edge_index[0])
        assert degree.max() <= 4

    def test_another_attribute(self):
        data = Data(x=features(), pos=features(d=2, seed=8))
        by_pos = ReciprocalKNNGraph(6, attr="pos")(data).edge_index
        assert torch.equal(by_pos, ReciprocalKNNGraph(6)(Data(x=data.pos)).edge_index)

    def test_a_batch_is_joined_graph_by_graph(self):
        parts = [Data(x=features(20, seed=s)) for s in (0, 1)]
        whole = ReciprocalKNNGraph(5)(Batch.from_data_list(parts)).edge_index
        alone = Batch.from_data_list([ReciprocalKNNGraph(5)(part) for part in parts]).edge_index
        assert torch.equal(whole, alone)

    def test_what_described_the_old_edges_goes_and_the_input_stays(self):
        data = Data(x=features(), edge_index=old_edges(), edge_weight=torch.ones(old_edges().size(1)))
        new = ReciprocalKNNGraph(6)(data)
        assert "edge_weight" not in new
        assert torch.equal(data.edge_index, old_edges())
        assert "edge_weight" in data
