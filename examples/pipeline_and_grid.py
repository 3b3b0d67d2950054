"""A scikit-learn pipeline with grid search: unlabelled samples stay in the graph of every fold.

python examples/pipeline_and_grid.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from grande_gnn import GrandeClassifier, LabelledKFold, labelled_accuracy

X, truth = load_digits(return_X_y=True)
X, truth = X[:600], truth[:600]
y = np.where(np.arange(len(truth)) < 60, truth, -1)  # −1: unlabelled

pipeline = make_pipeline(
    PCA(30, random_state=0), GrandeClassifier(model="sgc", random_state=0, epochs=50, lr=0.01)
)
grid = {"grandeclassifier__n_neighbors": [10, 20], "grandeclassifier__sigma": [0.2, 0.5]}
search = GridSearchCV(pipeline, grid, cv=LabelledKFold(3), scoring=labelled_accuracy).fit(X, y)

print("best settings:", search.best_params_)
labels = search.best_estimator_[-1].transduction_
print(f"accuracy on the unlabelled: {np.mean(labels[60:] == truth[60:]):.1%}")
