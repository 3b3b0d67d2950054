"""Count how the package is built: dispatches on names, private doors, loose files, missing tests, sizes, one label run.

python scripts/house.py                    this tree, as a table
python scripts/house.py old_tree .         several trees side by side, each counted in the same way
python scripts/house.py --list             with the places behind each count
python scripts/house.py --json             everything, as JSON
python scripts/house.py --no-run           without the label run, which takes some seconds

What is counted:

- *model names*, *degree names*: places outside the registries where a name decides something: a comparison with a
  name; a list, tuple, set or dict of nothing but names; an if-expression that yields a name; ``isinstance`` or
  ``callable`` asked of a degree or a model (but not whether a computed degree is a tensor); ``"weight1" in …``, which tells
  models apart by their parameters. Several of these in one line are one place. A reader of version 0.1 counted 15 and 17
  of them by hand, ladders of several lines once; this script finds the same 15, and all lines of the others.
- *private names*: modules that import an underscored name from another module of the package, or use an underscored
  attribute, not of ``self`` or ``cls``, that another file of the package defines and their own does not.
- *loose modules*: Python files in the package's root, ``__init__.py`` included.
- *without a test*: modules ``a/b.py`` without ``tests/a/test_b.py``. A package's ``__init__.py`` needs
  ``tests/a/test_a.py`` unless it only re-exports.
- *same basename*: module names that occur in two folders, except a CPU module and its CUDA twin, and a command in
  ``cli/`` and the module it is the command for.
- *modules of a label run*: distinct modules of the package in which a function is called (``sys.setprofile``) while
  ``grande label`` labels a folder of made images with automatic settings. The command runs twice in one process, and the
  second run is counted: everything is imported by then, and the features come from the store.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFINITIONS = {"degree.py", "propagation.py"}
REGISTRIES = {"engine/models.py": "register_model", "engine/degrees.py": "register_degree"}
"""Where names may be compared, besides the definitions: the two registries, known by the function they offer."""

MODEL_NAMES = frozenset({"appnp", "sgc"})
DEGREE_NAMES = frozenset({"grande", "centrality"})
DEGREE_CLASSES = frozenset({"Centrality", "Grande", "Custom"})
NAMED_TUPLE = frozenset({"_replace", "_asdict", "_fields", "_make"})

BARS = {
    "model names": 0,
    "degree names": 0,
    "private names": 0,
    "loose modules": 5,
    "without a test": 0,
    "lines of the longest module": 350,
    "lines of the longest function": 60,
    "same basename": 0,
    "modules of a label run": 30,
}
"""The most that each count may be."""


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: str
    """Below ``src/grande_gnn``, with slashes."""
    tree: ast.Module
    n_lines: int

    @property
    def base(self) -> str:
        """The file's name without its ending."""
        return Path(self.path).stem


def read_modules(package: Path) -> list[Module]:
    """All modules of the package, in the order of their paths."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text("utf-8")
        modules.append(Module(path.relative_to(package).as_posix(), ast.parse(text), text.count("\n")))
    return modules


# -- names that decide ----------------------------------------------------------------------------------


def is_name_of(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether the expression is one of the names, as a string or as a constant called like it."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value in names
    return isinstance(node, ast.Name) and node.id.isupper() and node.id.lower() in names


def last_identifier(node: ast.AST) -> str:
    """``degree`` of ``replica.degree``; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def asks_what_it_is(node: ast.AST, of: frozenset[str], classes: frozenset[str]) -> bool:
    """``isinstance`` or ``callable`` of something called like that, or ``isinstance`` with one of the classes."""
    if not (
        isinstance(node, ast.Call) and node.args and last_identifier(node.func) in ("isinstance", "callable")
    ):
        return False
    tested = {last_identifier(part) for argument in node.args[1:] for part in ast.walk(argument)}
    return (last_identifier(node.args[0]) in of and "Tensor" not in tested) or bool(tested & classes)


def decides_by(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether the node compares with a name, lists nothing but names, or yields a name by an if-expression."""
    match node:
        case ast.Compare():
            return any(
                is_name_of(part, names) for side in (node.left, *node.comparators) for part in _elements(side)
            )
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return len(parts) > 1 and all(is_name_of(part, names) for part in parts)
        case ast.Dict(keys=keys):
            return len(keys) > 1 and all(key is not None and is_name_of(key, names) for key in keys)
        case ast.IfExp():
            return is_name_of(node.body, names) or is_name_of(node.orelse, names)
        case ast.MatchValue(value=value):
            return is_name_of(value, names)
    return False


def _elements(node: ast.AST) -> Iterable[ast.AST]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else (node,)


def compares_models(node: ast.AST) -> bool:
    """Whether a model's name, type or parameters decide something here."""
    match node:
        case ast.Compare(left=ast.Constant(value="weight1"), ops=[ast.In() | ast.NotIn(), *_]):
            return True
    return decides_by(node, MODEL_NAMES) or asks_what_it_is(node, frozenset({"model"}), frozenset())


def compares_degrees(node: ast.AST) -> bool:
    """Whether a degree's name or type decides something here."""
    asked = asks_what_it_is(node, frozenset({"degree", "spec"}), DEGREE_CLASSES)
    return decides_by(node, DEGREE_NAMES) or asked


def is_registry(module: Module) -> bool:
    """Whether names of models and degrees are defined here."""
    function = REGISTRIES.get(module.path)
    return module.path in DEFINITIONS or any(
        isinstance(node, ast.FunctionDef) and node.name == function for node in module.tree.body
    )


def places(modules: Iterable[Module], found: Callable[[ast.AST], bool]) -> list[str]:
    """``file:line`` of what is found outside the registries."""
    return [
        f"{module.path}:{line}"
        for module in modules
        if not is_registry(module)
        for line in sorted({node.lineno for node in ast.walk(module.tree) if found(node)})  # type: ignore[attr-defined]
    ]


# -- private names --------------------------------------------------------------------------------------


def is_private(name: str) -> bool:
    """One underscore in front, as a promise to change without notice."""
    return name.startswith("_") and not name.startswith("__") and name != "_" and name not in NAMED_TUPLE


def defined_names(tree: ast.Module) -> set[str]:
    """Names the file itself binds: functions, classes, variables, fields, and attributes it assigns on ``self``."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                names.add(name)
    return names


def private_reads(module: Module, elsewhere: set[str]) -> Iterator[str]:
    """``file:line name`` of every private name that the module uses and only others, ``elsewhere``, define."""
    own = defined_names(module.tree)
    for node in ast.walk(module.tree):
        names: list[str] = []
        match node:
            case ast.ImportFrom(module=str(source), names=aliases) if source.startswith("grande_gnn"):
                names = [alias.name for alias in aliases]
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name):
                names = [name]
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ):
                names = [name]
        for name in names:
            if is_private(name) and name not in own and name in elsewhere:
                yield f"{module.path}:{node.lineno} {name}"  # type: ignore[attr-defined]


def private_names(modules: Sequence[Module]) -> list[str]:
    """Every use of a private name of another module."""
    defined = set().union(*(defined_names(module.tree) for module in modules))
    return [use for module in modules for use in private_reads(module, defined)]


# -- files ----------------------------------------------------------------------------------------------


def only_reexports(tree: ast.Module) -> bool:
    """Whether a package's ``__init__.py`` holds nothing to test: imports, names, and lazy look-up of names."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in (
            "__getattr__",
            "__dir__",
        ):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While)):
            return False
    return True


def expected_test(module: Module) -> str | None:
    """The mirrored test file; None if the module needs none."""
    path = Path(module.path)
    if path.stem == "__main__" or (path.stem == "__init__" and only_reexports(module.tree)):
        return None
    name = path.parent.name if path.stem == "__init__" else path.stem
    return (path.parent / f"test_{name}.py").as_posix()


def without_test(modules: Iterable[Module], tests: Path) -> list[str]:
    """Modules whose mirrored test file is not there."""
    expected = {module.path: expected_test(module) for module in modules}
    return [path for path, test in expected.items() if test is not None and not (tests / test).is_file()]


def same_basename(modules: Iterable[Module]) -> list[str]:
    """Groups of modules that share a basename without a reason."""
    groups: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        if module.base not in ("__init__", "__main__") and not module.path.startswith("cli/"):
            groups[module.base].append(module.path)
    return [" ".join(paths) for paths in groups.values() if len({_untwinned(path) for path in paths}) > 1]


def _untwinned(path: str) -> str:
    return path.replace("/cuda/", "/cpu/")


def functions(modules: Iterable[Module]) -> Iterator[tuple[int, str]]:
    """(lines, place) of every function, decorators not counted."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield (node.end_lineno or 0) - node.lineno + 1, f"{module.path}:{node.lineno} {node.name}"


# -- the walk of a label run ----------------------------------------------------------------------------


def modules_of_a_label_run(tree: Path) -> list[str]:
    """Modules in which a function is called by ``grande label`` once everything is imported and extracted."""
    environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).with_name("label_run.py")), folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"the label run in {tree} failed: {done.stderr}")
    return list(json.loads(done.stdout))


# -- all together ---------------------------------------------------------------------------------------


def count(tree: Path, *, run: bool = True) -> dict[str, dict[str, Any]]:
    """Every count of a tree with the places behind it; without the label run where ``run`` is false."""
    modules = read_modules(tree / "src" / "grande_gnn")
    private = private_names(modules)
    longest_module = max((module.n_lines, module.path) for module in modules)
    longest_function = max(functions(modules))
    found: dict[str, list[str]] = {
        "model names": places(modules, compares_models),
        "degree names": places(modules, compares_degrees),
        "private names": private,
        "loose modules": [module.path for module in modules if "/" not in module.path],
        "without a test": without_test(modules, tree / "tests"),
        "same basename": same_basename(modules),
    }
    if run:
        found["modules of a label run"] = modules_of_a_label_run(tree)
    counts = {name: {"count": len(where), "where": where} for name, where in found.items()}
    counts["private names"]["count"] = len({use.split(":")[0] for use in private})
    counts["lines of the longest module"] = {"count": longest_module[0], "where": [longest_module[1]]}
    counts["lines of the longest function"] = {"count": longest_function[0], "where": [longest_function[1]]}
    counts["modules"] = {"count": len(modules), "where": []}
    return counts


def print_table(trees: list[Path], counts: list[dict[str, dict[str, Any]]], *, with_places: bool) -> None:
    """One row per count and one column per tree, as Markdown."""
    print("| count | bar | " + " | ".join(str(tree) for tree in trees) + " |")
    print("|---|---|" + "---|" * len(trees))
    for name in counts[0]:
        values = " | ".join(str(one[name]["count"]) for one in counts)
        print(f"| {name} | {f'≤ {BARS[name]}' if name in BARS else ''} | {values} |")
    for tree, one in zip(trees, counts, strict=True):
        for name, entry in one.items() if with_places else ():
            print(f"\n{tree}: {name}", *entry["where"], sep="\n  ")


def main() -> int:
    """The command line; the exit status is 1 if the last tree misses a bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parents[1]
    parser.add_argument(
        "trees", nargs="*", type=Path, default=[here], help="project folders; the default is this one"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="also print the places behind each count")
    parser.add_argument("--no-run", action="store_true", help="leave the label run out")
    options = parser.parse_args()
    counts = [count(tree, run=not options.no_run) for tree in options.trees]
    if options.json:
        print(json.dumps(dict(zip(map(str, options.trees), counts, strict=True)), indent=1))
    else:
        print_table(options.trees, counts, with_places=options.list)
    return int(any(counts[-1][name]["count"] > bar for name, bar in BARS.items() if name in counts[-1]))


if __name__ == "__main__":
    sys.exit(main())
