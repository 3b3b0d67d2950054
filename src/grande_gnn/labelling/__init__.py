"""From features and a few labels to a label, a confidence and flags for every image."""

from grande_gnn.labelling.result import (
    Labelling,
    Suspicion,
    label_features,
    label_new_features,
    write_predictions,
)

__all__ = ["Labelling", "Suspicion", "label_features", "label_new_features", "write_predictions"]
