"""What is printed cannot control the terminal, and a warning is one sentence."""

import io
import sys
import warnings

import click
import pytest
from click.testing import CliRunner

from grande_gnn.cli import main
from grande_gnn.cli.failures import one_sentence
from grande_gnn.cli.terminal import plain, plain_output
from grande_gnn.errors import InvalidInputError

COLOR = "\x1b[31mred\x07\x9b2J"


def test_control_characters_are_spelled():
    assert plain(COLOR) == r"\x1b[31mred\x07\x9b2J"
    assert plain("é\tä\n花\r") == "é\tä\n花\r"


def test_streams_are_plain_inside_the_block_only(monkeypatch):
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with plain_output():
        print(COLOR)
        print(COLOR, file=sys.stderr)
        assert sys.stdout.getvalue() == out.getvalue()  # all else is the stream's own
    assert sys.stdout is out
    assert sys.stderr is err
    assert out.getvalue() == err.getvalue() == plain(COLOR) + "\n"


def test_streams_that_were_closed_before_the_start_stay_none(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with plain_output():
        assert sys.stdout is None
        print("nobody reads this")


def test_a_warning_for_users_has_no_line_of_code(capsys):
    with plain_output():
        warnings.warn("only one class is labelled", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: only one class is labelled\n"
    with plain_output(), pytest.warns(DeprecationWarning, match="gone"):
        warnings.warn("gone soon", DeprecationWarning, stacklevel=1)


def test_the_sentence_of_an_error_is_plain():
    with pytest.raises(click.ClickException) as raised, one_sentence():
        raise InvalidInputError(f"no such class; got {COLOR}")
    assert raised.value.message == f"no such class; got {plain(COLOR)}"


def test_names_in_results_and_in_errors_are_plain(tmp_path, tiny_png):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.png").write_bytes(tiny_png)
    (tmp_path / "l.csv").write_text(f"file,label\na.png,{COLOR}\n", encoding="utf-8")
    args = ["label", str(tmp_path / "p"), "--labels", str(tmp_path / "l.csv")]
    shown = CliRunner().invoke(main, [*args, "--dry-run"], color=True)  # as in a terminal
    assert shown.exit_code == 0
    assert r"\x1b[31mred" in shown.output
    (tmp_path / "l.csv").write_text("file,label\n\x1b]0;title\x07.png,x\n")
    refused = CliRunner().invoke(main, [*args, "--dry-run"], color=True)
    assert refused.exit_code == 1
    assert "\x1b" not in shown.output + refused.output


@pytest.fixture
def tiny_png():
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")
    return file.getvalue()
