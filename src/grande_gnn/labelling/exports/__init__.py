"""Labels for other tools, one file per format, behind one registry."""

from grande_gnn.labelling.exports.class_folders import (
    IMAGE_FOLDER,
    check_copies,
    copy_to_class_folders,
    folder_name,
)
from grande_gnn.labelling.exports.coco import COCO
from grande_gnn.labelling.exports.export import (
    EXPORTS,
    Export,
    check_text_exports,
    export_names,
    register_export,
)
from grande_gnn.labelling.exports.fiftyone_folder import FIFTYONE
from grande_gnn.labelling.exports.hugging_face import HUGGING_FACE
from grande_gnn.labelling.exports.label_studio import LABEL_STUDIO, write_label_studio
from grande_gnn.labelling.exports.parquet_table import PARQUET_TABLE
from grande_gnn.labelling.exports.plain_csv import PLAIN_CSV

__all__ = [
    "EXPORTS",
    "Export",
    "check_copies",
    "check_text_exports",
    "copy_to_class_folders",
    "export_names",
    "folder_name",
    "register_export",
    "write_label_studio",
]

for _export in (PLAIN_CSV, IMAGE_FOLDER, LABEL_STUDIO, COCO, FIFTYONE, HUGGING_FACE, PARQUET_TABLE):
    register_export(_export)
