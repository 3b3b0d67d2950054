"""The sections of the report, one file per section.

To add one, write a function ``(labelling, page) -> fragment``, wrap it in a :class:`Section` and pass that to
:func:`register_section`; the navigation and the counts at the top of the page follow.
"""

from grande_gnn.report.sections.class_table import CLASS_TABLE
from grande_gnn.report.sections.duplicate_pictures import DUPLICATE_PICTURES
from grande_gnn.report.sections.image_map import IMAGE_MAP
from grande_gnn.report.sections.least_sure import LEAST_SURE
from grande_gnn.report.sections.outside import OUTSIDE
from grande_gnn.report.sections.overview import OVERVIEW
from grande_gnn.report.sections.possible_labels import POSSIBLE_LABELS
from grande_gnn.report.sections.problem_list import PROBLEM_LIST
from grande_gnn.report.sections.section import SECTIONS, Highlight, Section, register_section
from grande_gnn.report.sections.settings_table import SETTINGS_TABLE
from grande_gnn.report.sections.suspicious_labels import SUSPICIOUS_LABELS
from grande_gnn.report.sections.trust import TRUST
from grande_gnn.report.sections.unfamiliar_images import UNFAMILIAR_IMAGES

__all__ = ["SECTIONS", "Highlight", "Section", "register_section"]

for _section in (
    OVERVIEW,
    IMAGE_MAP,
    TRUST,
    POSSIBLE_LABELS,
    LEAST_SURE,
    SUSPICIOUS_LABELS,
    UNFAMILIAR_IMAGES,
    OUTSIDE,
    DUPLICATE_PICTURES,
    CLASS_TABLE,
    PROBLEM_LIST,
    SETTINGS_TABLE,
):
    register_section(_section)
