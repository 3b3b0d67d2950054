"""The CSV files of the paper's tables against its LaTeX source, number by number."""

import re
from pathlib import Path

import pytest

from grande_gnn.experiments.paper import FEATURES, paper_features, paper_row, read_table


@pytest.fixture
def tex_rows(paper_source):
    """A function from a label to the rows of its table: cells as plain text, in the paper's order."""

    def rows(label):
        body = paper_source[paper_source.index(f"\\label{{{label}}}") :]
        body = re.sub(r"\\(hline|cline\{[0-9-]+\})", "", body[: body.index("\\end{tabular}")])
        return [[plain(cell) for cell in row.split("&")] for row in body.split("\\\\")]

    return rows


def plain(cell):
    cell = re.sub(r"\\(cellcolor|textcolor|color)\{\w+\}", "", cell)
    cell = re.sub(r"\\multirow\{\d+\}\{\*\}|\\rotatebox\{45\}|\\textbf", "", cell)
    return re.sub(r"[{}$~\s]", "", cell.replace(r"\pm", "±").replace(r"\%", "%"))


def fill_down(rows, columns):
    """Repeat what a multirow cell says in the rows below it."""
    last = {}
    for row in rows:
        for column in columns:
            last[column] = row[column] = row[column] or last[column]
    return rows


def test_table_1(tex_rows):
    rows = [row for row in tex_rows("tab:grande_gains") if len(row) == 8 and "±" in row[3]]
    expected = [
        [
            *row[:3],
            *row[3].split("±"),
            *row[4].split("±"),
            *row[5].split("±"),
            row[6],
            row[7].removesuffix("%"),
        ]
        for row in fill_down(rows, (0, 1))
    ]
    assert len(expected) == 40
    assert [list(row.values()) for row in read_table(1)] == expected


def test_table_2(tex_rows):
    rows = [row for row in tex_rows("tab:appnp_neurons") if len(row) >= 6 and row[2].isdigit()]
    expected = fill_down([row + [""] * (7 - len(row)) for row in rows], (0, 1, 6))
    assert len(expected) == 27
    assert [list(row.values()) for row in read_table(2)] == expected


def test_table_3(tex_rows):
    rows = [
        row for row in tex_rows("tab:baselines_classification") if len(row) == 16 and row[3][:1].isdigit()
    ]
    expected = [[cell.replace("---", "") for cell in row] for row in fill_down(rows, (0, 2))]
    assert len(expected) == 9
    assert [list(row.values()) for row in read_table(3)] == expected
    assert sum(cell == "" for row in expected for cell in row) == 1


def gain_range(row):
    """The gains that rounding to two decimals allows."""
    low, high = (float(row["best"]) + end for end in (-0.005, 0.005))
    base = float(row["centrality"])
    return 100 * (low / (base + 0.005) - 1) - 0.005, 100 * (high / (base - 0.005) - 1) + 0.005


def test_printed_gains_that_disagree_are_listed():
    """Every gain follows from its row but the one that docs/deviations.md names."""
    wrong = []
    for row in read_table(1):
        low, high = gain_range(row)
        if not low <= float(row["gain_percent"]) <= high:
            wrong.append((row["gnn"], row["dataset"], row["features"], row["gain_percent"]))
    assert wrong == [("APPNP", "CUB200", "SENet", "+12.03")]
    text = (Path(__file__).parents[3] / "docs" / "deviations.md").read_text(encoding="utf-8")
    assert "+12.03" in text
    assert "+14.97" in text


def test_lookup():
    assert paper_row(1, "corel5k", "ViT-B16", gnn="SGC")["best"] == "95.77"
    assert paper_row(3, "corel5k", "ViT-B16")["grande"] == "95.77"
    assert paper_row(2, "cub200", "ViT-B16", neurons="64")["dgcg"] == "61.31"
    assert paper_row(3, "pets", "ResNet") is None
    assert paper_row(1, "elsewhere", "ResNet") is None
    assert [paper_features(names[0]) for names in FEATURES.values()] == list(FEATURES)
    assert paper_features("lite0") is None
