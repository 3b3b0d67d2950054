"""Print the oldest versions that pyproject.toml allows, one requirement per line, for ``make test-min``.

torch is left out: the Makefile adds the version of constraints.txt, or another that ``MIN_TORCH`` names.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("images", "heif", "review", "plot", "pyg", "parquet")
"""Extras that are tested with their oldest versions too; faiss is not among them because it needs NumPy 2."""


def minimum_versions(project: dict) -> list[str]:
    """``name==version`` of every requirement ``name>=version`` of the package and of these extras, except torch.

    >>> minimum_versions({"dependencies": ["numpy>=1.26", "torch>=2.8"], "optional-dependencies": {}})
    ['numpy==1.26']
    """
    lines = list(project["dependencies"])
    for extra in EXTRAS:
        lines += project["optional-dependencies"].get(extra, [])
    pairs = (re.fullmatch(r"([\w.-]+)>=([\d.]+)", line) for line in lines)
    return [f"{pair[1]}=={pair[2]}" for pair in pairs if pair and pair[1] != "torch"]


if __name__ == "__main__":
    path = Path(__file__).resolve().parents[1] / "pyproject.toml"
    print("\n".join(minimum_versions(tomllib.loads(path.read_text("utf-8"))["project"])))
