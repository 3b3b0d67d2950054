"""The command line: one file per command; nothing heavy is imported until a command runs."""

from grande_gnn.cli.main import main

__all__ = ["main"]
