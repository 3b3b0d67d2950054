"""The offline report: content in, one HTML file out."""

from grande_gnn.report.content import CalibrationBin, Estimate, Problem, ReportContent, Suspicion
from grande_gnn.report.render import Thumbnails, render_report, write_report

__all__ = [
    "CalibrationBin",
    "Estimate",
    "Problem",
    "ReportContent",
    "Suspicion",
    "Thumbnails",
    "render_report",
    "write_report",
]
