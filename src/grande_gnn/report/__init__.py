"""The offline report: a labelling in, one HTML file out; :mod:`~grande_gnn.report.sections` says what it shows."""

from grande_gnn.report.cards import Line
from grande_gnn.report.page import Page
from grande_gnn.report.render import render_report, write_report
from grande_gnn.report.sections import SECTIONS, Highlight, Section, register_section

__all__ = [
    "SECTIONS",
    "Highlight",
    "Line",
    "Page",
    "Section",
    "register_section",
    "render_report",
    "write_report",
]
