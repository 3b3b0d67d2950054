"""The paper's comparison on features of your own: degree centrality against GRaNDe, folds paired.

python examples/paper_table.py features.npz          without a file: scikit-learn's digits
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from grande_gnn import evaluate
from grande_gnn.experiments import paired_interval

if len(sys.argv) > 1:
    with np.load(sys.argv[1]) as file:
        X, y = file["features"], file["labels"]
else:
    X, y = (part[:400] for part in load_digits(return_X_y=True))

print("| model | degree centrality | GRaNDe, σ = 0.2 | difference, 95 % |\n|---|---|---|---|")
for model in ("sgc", "appnp"):
    (plain,) = evaluate(X, y, model=model, degree="centrality", repeats=1)
    (ours,) = evaluate(X, y, model=model, degree="grande", sigma=(0.2,), repeats=1)
    gain = paired_interval(ours.accuracies, plain.accuracies)
    print(
        f"| {model} | {plain.accuracy_mean:.2f} | {ours.accuracy_mean:.2f} "
        f"| {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}] |"
    )
