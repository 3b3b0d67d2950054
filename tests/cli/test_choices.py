"""Names that a registry holds when the command runs."""

import click
import pytest
from click.testing import CliRunner

from grande_gnn.cli.choices import AutoOr, ChoiceOf, Place


@pytest.fixture
def registry():
    return {"one": 1, "two": 2}


@pytest.fixture
def command(registry):
    @click.command()
    @click.option("--number", type=ChoiceOf(lambda: ["auto", *registry]), default="auto", show_default=True)
    @click.option("--size", type=AutoOr(click.IntRange(min=1)), default="auto")
    def command(number, size):
        click.echo(f"{number} {size!r}")

    return command


def run(command, *arguments):
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output


def test_names_are_read_when_the_command_runs(command, registry):
    assert run(command, "--number", "two") == (0, "two 'auto'\n")
    assert run(command, "--number", "three")[0] == 2
    registry["three"] = 3
    assert run(command, "--number", "three")[0] == 0
    assert "[auto|one|two|three]" in run(command, "--help")[1]
    assert "'one', 'two', 'three'" in run(command, "--number", "four")[1]


def test_auto_or_another_type(command):
    assert run(command, "--size", "3") == (0, "auto 3\n")
    assert run(command, "--size", "0")[0] == 2
    assert "auto|integer range" in run(command, "--help")[1].lower()


def test_an_empty_path_is_not_the_present_folder():
    @click.command()
    @click.argument("folder", type=Place())
    def command(folder):
        click.echo(folder)

    assert run(command, ".") == (0, ".\n")
    status, said = run(command, "")
    assert status == 2
    assert "a path must not be empty: is a variable of the shell not set?" in said


@pytest.mark.parametrize("name", ["label", "extract", "review", "evaluate", "compare"])
def test_no_command_takes_an_empty_path(name):
    from grande_gnn.cli import main

    assert "must not be empty" in run(main, name, "")[1]
