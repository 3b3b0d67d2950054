"""None of the attacker's findings is left, and each is in the table that says how it showed in version 0.1."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import findings

SLOW = {
    "npz_bomb_in_an_array_that_nobody_asked_for",
    "image_that_declares_much",
    "gif_that_declares_much",
    "tiff_that_declares_much",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in findings.FINDINGS],
)
def test_what_the_attacker_found_is_gone(name, tmp_path, monkeypatch):
    monkeypatch.setenv("GRANDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    findings.FINDINGS[name](tmp_path)


def test_every_finding_is_in_the_table_and_fails_on_version_0_1():
    text = Path(findings.__file__).with_name("findings.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert [row[1].strip("`") for row in rows] == list(findings.FINDINGS)
    assert not [row[1] for row in rows if row[2].strip(" |") in ("", "passes")]
