"""From images or features and a few labels to a label, a confidence and flags for every image.

Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.labelling.audit import AuditEstimate, audit_classes, audit_interval, audit_order
    from grande_gnn.labelling.confidence import AccuracyEstimate, Calibration, ReliabilityBin
    from grande_gnn.labelling.label_options import LabelOptions
    from grande_gnn.labelling.result import Labelling, Suspicion
    from grande_gnn.labelling.run import Progress, Step, label_features, label_images, reuse
    from grande_gnn.labelling.suggest import suggest_labels, write_template

__all__ = [
    "AccuracyEstimate",
    "AuditEstimate",
    "Calibration",
    "LabelOptions",
    "Labelling",
    "Progress",
    "ReliabilityBin",
    "Step",
    "Suspicion",
    "audit_classes",
    "audit_interval",
    "audit_order",
    "label_features",
    "label_images",
    "reuse",
    "suggest_labels",
    "write_template",
]

_HOMES = {
    "AuditEstimate": "audit", "audit_classes": "audit", "audit_interval": "audit", "audit_order": "audit",
    "AccuracyEstimate": "confidence", "Calibration": "confidence", "ReliabilityBin": "confidence",
    "LabelOptions": "label_options", "Labelling": "result", "Suspicion": "result",
    "Progress": "run", "Step": "run", "label_features": "run", "label_images": "run", "reuse": "run",
    "suggest_labels": "suggest", "write_template": "suggest",
}  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
