"""Writes the reference pages from the package itself: the help of every command, the docstring of every public name."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

PACKAGES = ("grande_gnn", "grande_gnn.labelling", "grande_gnn.graph", "grande_gnn.nn", "grande_gnn.errors")
"""The packages whose ``__all__`` is public, as CONTRIBUTING.md says."""


PROJECT = Path(__file__).parents[1]
COPIES = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "notes.md",
}
"""Pages that lie outside this folder, and the names of their copies."""


def links_to_copies(text: str) -> str:
    """A page of this folder with links to the copies, instead of to files that the site does not have."""
    for path, name in COPIES.items():
        text = text.replace(f"](../{path})", f"](generated/{name})")
    return text


def copied(path: str) -> str:
    """The text of a page outside this folder, with the links that its copy needs."""
    text = (PROJECT / path).read_text("utf-8")
    for other, name in COPIES.items():
        text = text.replace(f"]({other})", f"]({name})")
    text = (
        text.replace("](docs/", "](../")
        .replace("](../docs/", "](../")
        .replace("](results/", "](../../benchmarks/results/")
    )
    return text


def plain_bars(line: str) -> str:
    """A line of a docstring in which |N(q)| is no substitution; indented lines are code or formulas, and stay.

    >>> print(plain_bars("|N(q)| of each node"))
    \\|N(q)\\| of each node
    """
    return line if line.startswith("    ") else re.sub(r"\|([\w()ᵢ]+)\|", r"\\|\1\\|", line)


def literal_blocks(text: str) -> Iterator[str]:
    """The lines of a module's docstring, with its indented formulas as they are."""
    before = ""
    for line in text.splitlines():
        if line.startswith("    ") and not before:
            yield from ("::", "")
        yield plain_bars(line)
        before = line


def commands() -> Iterator[tuple[str, str]]:
    """(``grande label``, its help) of every command, also of those below another command."""
    from grande_gnn.cli.main import main

    root = click.Context(main, info_name="grande", **main.context_settings)
    yield "grande", main.get_help(root)
    yield from _below(main, root)


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, **command.context_settings)
        yield inner.command_path, command.get_help(inner)
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def commands_page() -> str:
    """The page of all commands, in Markdown."""
    parts = [
        "# Commands\n\nEvery command with its options, as `--help` prints them. See also [the command line](../shell.md).\n"
    ]
    parts += [f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in commands()]
    return "".join(parts)


def names_page(package: str, seen: dict[int, str]) -> str:
    """The page of a package's public names, in reStructuredText; a name that ``seen`` has is referred to."""
    module = import_module(package)
    lines = [
        package,
        "=" * len(package),
        "",
        *literal_blocks(inspect.getdoc(module) or ""),
        "",
    ]
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        full = f"{package}.{name}"
        if id(value) in seen and not isinstance(value, (str, int, tuple)):
            lines += [f"``{full}`` is ``{seen[id(value)]}``.", ""]
            continue
        seen[id(value)] = full
        lines += _directive(full, value)
    return "\n".join(lines)


def _directive(full: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return [f".. autoclass:: {full}", "   :members:", ""]
    if callable(value):
        return [f".. autofunction:: {full}", ""]
    if isinstance(value, str):
        return [f"``{full}``: a text.", ""]
    home = _home(full.rpartition(".")[2], value)
    return [f"``{full}``", "", f".. autodata:: {home}.{full.rpartition('.')[2]}", "   :no-value:", ""]


def _home(name: str, value: Any) -> str:
    """The module whose source assigns the value, where its documentation is."""
    for module_name, module in sorted(sys.modules.items()):
        if not module_name.startswith("grande_gnn") or vars(module).get(name) is not value:
            continue
        if re.search(rf"^{name}\b[^=\n]*=", inspect.getsource(module), re.MULTILINE):
            return module_name
    raise LookupError(name)


def write(folder: Path) -> None:
    """Write all pages; files that are the same stay, so that a second build is quick."""
    folder.mkdir(exist_ok=True)
    pages, seen = {"commands.md": commands_page()}, {}
    for package in PACKAGES:
        pages[f"{package}.rst"] = names_page(package, seen)
    pages |= {name: copied(path) for path, name in COPIES.items()}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
