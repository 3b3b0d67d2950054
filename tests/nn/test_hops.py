"""The dropout of edges between hops."""

import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra pyg")

from grande_gnn.nn import GrandeAPPNP


class TestDropout:
    def test_each_hop_drops_from_the_whole(self):
        """An isolated node keeps (0.5/0.5)ᴷ of itself or nothing; P(kept) = ½ a hop, not ½, ¼, ⅛ …"""
        torch.manual_seed(0)
        n, K = 20_000, 4
        layer = GrandeAPPNP(K, alpha=0.0, dropout=0.5)
        out = layer(torch.ones(n, 1), torch.empty(2, 0, dtype=torch.long))
        assert set(out.round(decimals=5).unique().tolist()) == {
            0.0,
            1.0,
        }  # weight ½ doubled by inverted dropout
        assert out.mean().item() == pytest.approx(0.5**K, abs=5 * np.sqrt(0.5**K / n))  # compounding: 2⁻¹⁰

    def test_none_in_evaluation(self, x, edges):
        layer = GrandeAPPNP(dropout=0.9).eval()
        torch.testing.assert_close(layer(x, edges), GrandeAPPNP()(x, edges))
