"""Cells and tables in their three formats."""

from grande_gnn.experiments.statistics import Interval
from grande_gnn.experiments.tables.table import (
    Gap,
    Number,
    Table,
    Text,
    escape,
    to_csv,
    to_latex,
    to_markdown,
    write_table,
)


def test_merged_names_and_lines():
    cells = [("A", "x"), ("A", "x"), ("A", "y"), ("B", "y")]
    rows = [[Text(a), Text(b), Number(1.0)] for a, b in cells]
    body = to_latex(Table("c", {"a": "a", "b": "b", "n": "n"}, rows, n_groups=2)).split(r"\hline\hline")[1]
    lines = [line for line in body.splitlines() if line][:6]
    assert lines == [
        r"\multirow{3}{*}{\textbf{A}} & \multirow{2}{*}{\textbf{x}} & 1.00 \\",
        r" &  & 1.00 \\",
        r" & \textbf{y} & 1.00 \\",
        r"\hline",
        r"\textbf{B} & \textbf{y} & 1.00 \\",
        r"\hline",
    ]


def test_formats_of_a_cell():
    number = Number(85.5, 0.1, 1.5, paper="84.43", paper_std="0.088", bold=True)
    assert number.markdown() == "**85.50 ± 0.100** (paper 84.43 ± 0.088, +1.07)"
    assert Number(None, paper="84.43").markdown() == "– (paper 84.43)"
    assert Number(1.234, percent=True).markdown() == "+1.23%"
    assert Gap(Interval(1.0, -0.5, 2.5), "+2.00").markdown() == "+1.00 [-0.50, +2.50] (paper +2.00)"
    assert "$-$0.50" in Gap(Interval(1.0, -0.5, 2.5)).latex()
    assert escape("50 % of a_b & σ 中") == r"50 \% of a\_b \& $\sigma$ ?"


def test_a_table_is_written_in_three_formats(tmp_path):
    table = Table("A | b", {"a": "A", "n": "N"}, [[Text("x|y"), Number(1.0)]], n_groups=1, notes=["seen"])
    paths = write_table(table, tmp_path, "t")
    assert [path.name for path in paths] == ["t.md", "t.csv", "t.tex"]
    assert [path.read_text() for path in paths] == [to_markdown(table), to_csv(table), to_latex(table)]
    assert "| x\\|y | 1.00 |" in to_markdown(table)
    assert to_markdown(table).endswith("- seen\n")
    assert to_csv(Table("empty", {"a": "A"}, [], n_groups=1)) == "a\n"
