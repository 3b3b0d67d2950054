"""The ``grande`` command: loads its commands by name and prints errors as one sentence."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Any

import click

from grande_gnn import __version__
from grande_gnn.cli.failures import one_sentence, printable
from grande_gnn.cli.terminal import plain_output

COMMANDS = {
    "label": "Label a folder of images from the few that have a label.",
    "review": "Correct labels in the browser and have the others labelled again at once.",
    "demo": "Label partly covered digits, check the labels, and compare the two degrees.",
    "extract": "Turn a folder of images into a features file.",
    "evaluate": "Measure accuracy on a features file with the paper's protocol.",
    "compare": "Compare GRaNDe with every other system on a features file.",
    "table": "Reproduce table 1, 2 or 3 of the paper on your features; can be stopped and resumed.",
    "figure": "Draw the paper's figures: accuracy against sigma, the worked degree example.",
    "cache": "Show or clear the kept features and adapted networks.",
    "doctor": "Report versions, devices, the cache, and what is missing for which feature.",
}
"""The one-line help of each command, whose code is ``grande_gnn/cli/<name>.py`` and is imported when it runs."""


class LazyGroup(click.Group):
    """A group that imports the module of a command only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"grande_gnn.cli.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        printable()
        with plain_output(), one_sentence():
            return super().invoke(ctx)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="grande")
@click.option("-v", "--verbose", is_flag=True, help="Print more about what is being done.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Print results, warnings and errors only: no messages, no bars."
)
def main(verbose: bool, quiet: bool) -> None:
    """Label many images from few labels with the GRaNDe degree."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(message)s",
        stream=sys.stderr,
        force=True,
    )
