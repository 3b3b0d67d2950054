"""The three tables by number: each is made from its own trials, and its LaTeX compiles."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from grande_gnn.experiments.tables import TABLES, write_table
from grande_gnn.experiments.trials import Plan


@pytest.mark.parametrize("number", TABLES)
def test_a_table_needs_no_other_trials_than_its_own(number, made):
    plan = Plan(data=(made.paper, made.lite), repeats=2, folds=3, widths=TABLES[number].widths)
    whole = made.results(plan, TABLES[number].trials(plan))
    tables = {name: build(whole) for name, build in TABLES[number].builders.items()}
    assert [name for name in tables if name.startswith(f"table{number}")] == list(tables)
    for table in tables.values():
        assert table.rows
        assert all(cell.value is not None for row in table.rows for cell in row if hasattr(cell, "value"))
    empty = made.results(plan, [])
    assert all(build(empty) for build in TABLES[number].builders.values())


@pytest.mark.latex
@pytest.mark.parametrize("number", TABLES)
def test_latex_compiles(number, tmp_path, made):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    plan = Plan(data=(made.paper, made.lite, made.custom), repeats=2, widths=TABLES[number].widths)
    found = made.results(plan, TABLES[number].trials(plan), compared_with={"lite0": "SENet"})
    failed = replace(
        next(iter(found.finished.values())), accuracy=None, error=r"OSError: C:\a_b {x} $1 ~^ # 100 % 中"
    )
    found = replace(found, failed={failed.trial: failed})
    for name, build in TABLES[number].builders.items():
        write_table(build(found), tmp_path, name)
        document = (
            "\\documentclass[12pt]{article}\\usepackage[utf8]{inputenc}\\usepackage[table]{xcolor}"
            f"\\usepackage{{multirow,graphicx}}\\begin{{document}}\\input{{{name}.tex}}\\end{{document}}"
        )
        (tmp_path / "paper.tex").write_text(document)
        result = subprocess.run(
            ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"],
            cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout[-2000:]
        assert not re.search(r"Overfull|undefined", result.stdout)
