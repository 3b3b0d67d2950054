"""The command itself: quick to answer, and errors are one sentence."""

import resource
import subprocess
import sys
from importlib import import_module

import click
import pytest

import grande_gnn
from grande_gnn.cli.main import COMMANDS

HEAVY = {"torch", "numpy", "scipy", "sklearn", "tqdm", "PIL", "jinja2"}


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command(grande, flag):
    result = grande(flag)
    assert result.exit_code == 0
    for name, words in COMMANDS.items():
        assert name in result.output
        assert words.split()[0] in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_is_there_and_has_help(grande, name):
    assert import_module(f"grande_gnn.cli.{name}").command.name == name
    result = grande(name, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {name}")


def options_of(command, path):
    """Every option of a command and its subcommands, with the words that a user would type."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from options_of(inner, f"{path} {name}")
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{path} {option.opts[-1]}", option


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name):
    command = import_module(f"grande_gnn.cli.{name}").command
    assert not [words for words, option in options_of(command, name) if not option.help]


def test_version(grande):
    assert grande("--version").output.strip().endswith(grande_gnn.__version__)


def test_an_unknown_command_is_named(refused):
    assert "'lable'" in refused("lable")


def test_help_answers_in_three_tenths_of_a_second():
    """Of processor time: on a busy machine the clock also counts the others' work."""

    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "grande_gnn.cli", "--help"], capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert b"evaluate" in done.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(5)) < 0.3


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments):
    script = (
        "import sys; from grande_gnn.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        f"sys.exit(', '.join(sorted({HEAVY!r} & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_failing_command_exits_with_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "grande_gnn.cli", "evaluate", tmp_path / "absent.npz"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: no such features file")
    assert done.stderr.count("\n") == 1
