"""The doors through which files of another's making come in, by name.

A door makes files that are right, damages them, and judges what the package does with the damaged ones. :meth:`Door.judge`
returns ``"refused"`` (an error of this package, in one line) or ``"accepted"`` (the answer agrees with an independent,
slow reading of the same bytes, or with the undamaged file where a checksum must tell). Whatever else it raises is a
failure.
"""

from __future__ import annotations

from array_doors import Checkpoints, Features, Graphs, Lists, SparseFeatures, SplitGraphs, Weights
from door import Door
from image_doors import EditedStore, Images, Store
from model_doors import Models, OldModels, SignedModels
from result_doors import ClassNumbers, Corrections, Predictions, Requests, ResultTables, Rows, Settings
from table_doors import EdgeTables, LabelCsv, Texts

DOORS: dict[str, Door] = {
    door.name: door()
    for door in (
        Features, SparseFeatures, Lists, Graphs, EdgeTables, SplitGraphs, Weights, Checkpoints, Models, SignedModels,
        OldModels, Settings, Predictions, ResultTables, ClassNumbers, Rows, Store, EditedStore, LabelCsv, Texts,
        Corrections, Requests, Images,
    )
}  # fmt: skip
"""Every door by name."""
