"""Keep the states that ``run.py`` found as rows of ``benchmarks/results/mutants.csv``.

python tests/mutation/record.py mutants.jsonl --where "2 cores"

Each mutation has one row: its id, the file that it changes, its state, the test that noticed it, and the machine on
which it was tried. A state that was found later, or in a file named later, replaces an earlier one. Mutations that are
no longer in the list lose their row; those that the list calls equivalent have one without a machine.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "mutants.csv"
COLUMNS = ("id", "file", "state", "noticed_by", "where")


def load_runner() -> ModuleType:
    """The module ``run.py`` beside this file."""
    if "mutation_run" not in sys.modules:
        spec = importlib.util.spec_from_file_location("mutation_run", Path(__file__).with_name("run.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    return sys.modules["mutation_run"]


def read_rows(path: Path = RESULTS) -> dict[str, dict[str, str]]:
    """The rows of a result file by their ids."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def updated(
    rows: Mapping[str, dict[str, str]], found: Sequence[dict[str, str]], where: str, mutations: Sequence
) -> list[dict[str, str]]:
    """The rows in the order of the list, with the states that were found."""
    newer = {row["id"]: row for row in found if row["state"] in ("killed", "survived", "unclear")}
    out = []
    for mutation in mutations:
        row = {"id": mutation.id, "file": mutation.file}
        if mutation.equivalent:
            out.append(row | {"state": "equivalent", "noticed_by": "", "where": ""})
        elif mutation.id in newer:
            state = newer[mutation.id]
            out.append(row | {"state": state["state"], "noticed_by": state.get("by", ""), "where": where})
        elif mutation.id in rows:
            out.append(rows[mutation.id] | row)
    return out


def write_rows(rows: Sequence[dict[str, str]], path: Path = RESULTS) -> None:
    """Write a result file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("states", type=Path, nargs="+", help="files that run.py --out wrote")
    parser.add_argument("--where", required=True, help="the machine on which the mutations were tried")
    options = parser.parse_args()
    found = [json.loads(line) for file in options.states for line in file.read_text("utf-8").splitlines()]
    rows = updated(read_rows(), found, options.where, load_runner().read_mutations())
    write_rows(rows)
    print(", ".join(f"{count} {state}" for state, count in Counter(row["state"] for row in rows).items()))


if __name__ == "__main__":
    main()
