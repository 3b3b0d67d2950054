"""A PyTorch Geometric model whose layers are normalized by the GRaNDe degree.

python examples/pyg_model.py          needs pip install "grande-gnn[pyg]"
"""

import torch
from sklearn.datasets import load_digits
from torch_geometric.data import Data

from grande_gnn.nn import GrandeGCNConv, ReciprocalKNNGraph

X, truth = load_digits(return_X_y=True)
data = Data(x=torch.tensor(X[:600], dtype=torch.float32) / 16, y=torch.tensor(truth[:600]))
data = ReciprocalKNNGraph(k=20)(data)
known = torch.arange(600) < 60


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = GrandeGCNConv(64, 32, sigma=0.2)
        self.second = GrandeGCNConv(32, 10, sigma=0.2)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(100):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(data.x, data.edge_index)[known], data.y[known]).backward()
    optimizer.step()

with torch.no_grad():
    labels = net.eval()(data.x, data.edge_index).argmax(1)
print(f"accuracy on the unlabelled: {(labels == data.y)[~known].float().mean():.1%}")
