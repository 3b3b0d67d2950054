"""A table as data, and its three formats: Markdown to read, CSV to compute with, LaTeX in the paper's layout."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from grande_gnn.experiments.statistics import Interval, Scores

__all__ = [
    "Cell",
    "Gap",
    "Number",
    "Table",
    "Text",
    "escape",
    "to_csv",
    "to_latex",
    "to_markdown",
    "write_table",
]


@dataclass(frozen=True)
class Text:
    """A cell with words, which may be empty."""

    text: str = ""

    def markdown(self) -> str:
        """For people."""
        return self.text

    def latex(self) -> str:
        """For papers."""
        return escape(self.text)

    def csv(self, name: str) -> dict[str, str]:
        """For programs: column → value."""
        return {name: self.text}


@dataclass(frozen=True)
class Number:
    """A measured number, its deviation, and the paper's number if there is one."""

    value: float | None
    std: float | None = None
    std_folds: float | None = None
    paper: str = ""
    paper_std: str = ""
    suffix: str = ""
    """A word after the number, such as the model that reached it."""
    percent: bool = False
    """A relative gain: signed, with a percent sign."""
    bold: bool = False
    blue: bool = False
    mean_only: bool = False
    """Whether LaTeX leaves the deviation out, as the paper does in tables 2 and 3."""

    @classmethod
    def of(
        cls, scores: Scores | None, row: Mapping[str, str] | None, column: str, suffix: str = ""
    ) -> Number:
        """From scores and the paper's row; without scores the cell is empty."""
        paper, paper_std = (row.get(column, ""), row.get(f"{column}_std", "")) if row else ("", "")
        if scores is None:
            return cls(None, paper=paper, paper_std=paper_std)
        return cls(scores.mean, scores.std, scores.std_folds, paper, paper_std, suffix)

    def _ours(self, plus_minus: str, percent: str) -> str:
        if self.value is None:
            return "–"
        shown = f"{self.value:+.2f}{percent}" if self.percent else f"{self.value:.2f}"
        return shown if self.std is None else f"{shown}{plus_minus}{self.std:.3f}"

    def _gap(self) -> str:
        return "" if self.value is None else f"{self.value - float(self.paper):+.2f}"

    def markdown(self) -> str:
        """Our number, followed by the paper's and the difference in parentheses."""
        shown = self._ours(" ± ", "%")
        shown = f"**{shown}**" if self.bold else shown
        shown += f" {self.suffix}" if self.suffix else ""
        if self.paper:
            theirs = self.paper + (f" ± {self.paper_std}" if self.paper_std else "")
            shown += f" (paper {theirs}{', ' * bool(self._gap())}{self._gap()})"
        return shown

    def latex(self) -> str:
        """Our number in the paper's format; the paper's and the difference are below it in gray."""
        shown = replace(self, std=None) if self.mean_only else self
        text = shown._ours(r" $\pm$ ", r"\%").replace("–", "--").replace("-", "$-$")
        text = rf"\textbf{{{text}}}" if self.bold else text
        text = rf"\textcolor{{DarkBlue}}{{{text}}}" if self.blue else text
        text += rf"$^{{\mathrm{{{self.suffix[0]}}}}}$" if self.suffix else ""
        if self.paper:
            gap = self._gap().replace("-", "$-$") or "--"
            text = rf"\shortstack{{{text}\\\footnotesize\color{{gray}}{self.paper} ({gap})}}"
        return text

    def csv(self, name: str) -> dict[str, str]:
        """Full precision, with each part in its own column."""
        parts = {"": self.value, "_std": self.std, "_std_folds": self.std_folds}
        row = {f"{name}{end}": "" if part is None else repr(part) for end, part in parts.items()}
        row |= {f"{name}_note": self.suffix, f"{name}_paper": self.paper, f"{name}_paper_std": self.paper_std}
        both = self.paper and self.value is not None
        return row | {f"{name}_minus_paper": f"{self.value - float(self.paper):.4f}" if both else ""}  # type: ignore[operator]


@dataclass(frozen=True)
class Gap:
    """A paired difference with its 95 % interval."""

    difference: Interval | None
    paper: str = ""

    def markdown(self) -> str:
        """The mean and the interval."""
        if self.difference is None:
            return "–"
        gap = self.difference
        shown = f"{gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]"
        return f"{shown} (paper {self.paper})" if self.paper else shown

    def latex(self) -> str:
        """The same with mathematical minus signs."""
        return self.markdown().replace("-", "$-$") if self.difference else "--"

    def csv(self, name: str) -> dict[str, str]:
        """Mean and both ends."""
        gap = self.difference
        row = {f"{name}{end}": "" for end in ("", "_low", "_high")}
        if gap is not None:
            row = {name: repr(gap.mean), f"{name}_low": repr(gap.low), f"{name}_high": repr(gap.high)}
        return row | {f"{name}_paper": self.paper}


Cell = Text | Number | Gap
"""Anything that can be in a table."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; the first ``n_groups`` columns name the row and repeat downwards."""

    caption: str
    columns: Mapping[str, str]
    """CSV name → title."""
    rows: Sequence[Sequence[Cell]]
    n_groups: int
    notes: Sequence[str] = ()
    latex_header: str = ""
    """The paper's header lines, if they are more than the titles."""
    latex_columns: str = ""
    """The paper's column specification."""


def to_markdown(table: Table) -> str:
    """A table with its notes below."""
    lines = [f"**{table.caption}**", "", _pipes(table.columns.values()), _pipes("---" for _ in table.columns)]
    lines += [_pipes(cell.markdown() for cell in row) for row in table.rows]
    lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_csv(table: Table) -> str:
    """One line per row, every part of a cell in its own column, full precision."""
    rows = []
    for cells in table.rows:
        row: dict[str, str] = {}
        for name, cell in zip(table.columns, cells, strict=True):
            row |= cell.csv(name)
        rows.append(row)
    file = io.StringIO()
    writer = csv.DictWriter(
        file, fieldnames=list(rows[0]) if rows else list(table.columns), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


_PREAMBLE = r"""% \input this file; it needs \usepackage[table]{xcolor} and \usepackage{multirow,graphicx}
\definecolor{cinza}{gray}{0.9}
\definecolor{DarkBlue}{RGB}{0,0,180}
"""


def to_latex(table: Table) -> str:
    """A floating table in the paper's layout, ready for ``\\input``."""
    columns = table.latex_columns or "l" * table.n_groups + "|" + "c" * (len(table.columns) - table.n_groups)
    titles = " & ".join(rf"\textbf{{{escape(title)}}}" for title in table.columns.values()) + r" \\"
    body = "\n".join(_latex_rows(table))
    notes = "\\\\[2pt]\n".join(escape(note) for note in table.notes)
    notes = rf"\vspace{{4pt}}\parbox{{\textwidth}}{{\raggedright\scriptsize {notes}}}" if notes else ""
    return (
        f"{_PREAMBLE}\\begin{{table*}}[!t]\n\\centering\n\\caption{{{escape(table.caption)}}}\n\\vspace{{4pt}}\n"
        f"\\resizebox{{\\ifdim\\width>\\textwidth\\textwidth\\else\\width\\fi}}{{!}}{{%\n\\begin{{tabular}}{{{columns}}}\n\\hline\n"
        f"{table.latex_header or titles}\n\\hline\\hline\n{body}\n\\hline\n\\end{{tabular}}\n}}\n{notes}\n\\end{{table*}}\n"
    )


def _latex_rows(table: Table) -> list[str]:
    """The rows, equal names merged downwards and a line between the groups."""
    names = [[cell.latex() for cell in row[: table.n_groups]] for row in table.rows]
    lines = []
    for i, row in enumerate(table.rows):
        cells = []
        for column in range(table.n_groups):
            prefix = names[i][: column + 1]
            if i and names[i - 1][: column + 1] == prefix:
                cells.append("")
                continue
            height = 1
            while i + height < len(names) and names[i + height][: column + 1] == prefix:
                height += 1
            name = rf"\textbf{{{names[i][column]}}}"
            cells.append(name if height == 1 else rf"\multirow{{{height}}}{{*}}{{{name}}}")
        cells += [cell.latex() for cell in row[table.n_groups :]]
        lines.append(" & ".join(cells) + r" \\")
    for i, (above, below) in reversed(list(enumerate(pairwise(names), start=1))):
        changed = next(
            (c for c, (a, b) in enumerate(zip(above, below, strict=True)) if a != b), table.n_groups
        )
        if changed == 0:
            lines.insert(i, r"\hline")
        elif changed < table.n_groups - 1:
            lines.insert(i, rf"\cline{{{changed + 1}-{len(table.columns)}}}")
    return lines


_SPECIAL = {"%": r"\%", "&": r"\&", "#": r"\#", "_": r"\_", "σ": r"$\sigma$", "δ": r"$\delta$", "±": r"$\pm$"}
_SPECIAL |= {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "^": r"\^{}", "~": r"\~{}"}
_SPECIAL |= {"−": "$-$", "–": "--", "…": r"\ldots{}", "’": "'"}


def escape(text: str) -> str:
    """Plain text for LaTeX; a letter its standard fonts lack becomes a question mark."""
    return "".join(_SPECIAL.get(letter, letter if ord(letter) < 0x180 else "?") for letter in text)


_FORMATS = {".md": to_markdown, ".csv": to_csv, ".tex": to_latex}


def write_table(table: Table, folder: Path, name: str) -> list[Path]:
    """Write the table in its three formats and return their paths."""
    paths = []
    for suffix, render in _FORMATS.items():
        path = folder / f"{name}{suffix}"
        path.write_text(render(table), encoding="utf-8")
        paths.append(path)
    return paths
