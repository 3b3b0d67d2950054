"""The house: who may import whom, which test belongs to which module, what every public name has, examples that run."""

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from itertools import zip_longest
from pathlib import Path

import pytest

import grande_gnn

ROOT = Path(grande_gnn.__file__).parent
PROJECT = Path(__file__).parents[1]
MODULES = sorted(
    m.name for m in pkgutil.walk_packages([str(ROOT)], "grande_gnn.") if "__main__" not in m.name
)

EVERYONE_MAY = {"errors", "internal"}
"""Exceptions and plumbing."""

MAY_IMPORT = {
    "errors": set(),
    "internal": set(),
    "degree": {"graph"},
    "propagation": {"degree", "graph"},
    "graph": set(),
    "engine": {"degree", "propagation", "graph"},
    "nn": {"degree", "graph"},
    "classifier": {"degree", "engine", "graph"},
    "images": set(),
    "texts": {"images"},
    "labelling": {"classifier", "engine", "graph", "images", "texts"},
    "report": {"labelling"},
    "review": {"images", "labelling", "report", "texts"},
    "baselines": {"classifier", "engine", "graph", "images"},
    "experiments": {"baselines", "classifier", "engine", "graph"},
}
"""Who may import whom, exactly: what is not here is forbidden, and what is here is used."""

MAY_IMPORT["cli"] = set(MAY_IMPORT)

LIGHT = (
    "grande_gnn.engine.models",
    "grande_gnn.engine.degrees",
    "grande_gnn.graph.kinds",
    "grande_gnn.images.networks",
    "grande_gnn.texts",
    "grande_gnn.baselines",
    "grande_gnn.report.sections",
)
"""The registries: reading the names they hold must not cost an import of torch."""


def load_house():
    spec = importlib.util.spec_from_file_location("house", PROJECT / "scripts" / "house.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


house = load_house()
FILES = house.read_modules(ROOT)


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_type_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def source_of(module):
    path = ROOT.joinpath(*module.split(".")[1:])
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8"))


def imports_of(module, *, types=True):
    """Every module of ours imported anywhere in the file; ``types=False`` leaves out what only type checkers see."""
    stack, found = [source_of(module)], set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} uses a relative import"
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= submodules & set(MODULES) or {node.module}
        stack += node.orelse if is_type_checking(node) and not types else ast.iter_child_nodes(node)
    return {name for name in found if name.startswith("grande_gnn.")}


IMPORTS = {module: imports_of(module) for module in MODULES}


def test_every_room_is_in_the_table():
    assert {room_of(m) for m in MODULES} <= set(MAY_IMPORT)
    assert {room for allowed in MAY_IMPORT.values() for room in allowed} <= set(MAY_IMPORT)


@pytest.mark.parametrize("module", MODULES)
def test_imports_only_what_the_table_allows(module):
    room = room_of(module)
    allowed = MAY_IMPORT[room] | {room} | EVERYONE_MAY
    assert {room_of(name) for name in IMPORTS[module]} <= allowed


@pytest.mark.parametrize(
    ("room", "other"), [(r, o) for r, others in MAY_IMPORT.items() if r != "cli" for o in sorted(others)]
)
def test_every_permission_is_used(room, other):
    used = {room_of(name) for module in MODULES if room_of(module) == room for name in IMPORTS[module]}
    assert other in used


def test_no_cycle_between_rooms():
    graph = {}
    for module in MODULES:
        room = room_of(module)
        others = {room_of(name) for name in imports_of(module, types=False)}
        graph.setdefault(room, set()).update(others - {room})
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"rooms import each other: {error.args[1]}")


def test_no_two_modules_share_a_name():
    assert house.same_basename(FILES) == []


def test_every_module_has_its_test_file():
    assert house.without_test(FILES, PROJECT / "tests") == []


@pytest.mark.parametrize("module", LIGHT)
def test_registries_import_no_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def load(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = error.name or str(error)
        if name.startswith("grande_gnn"):
            raise
        pytest.skip(f"needs {name}, which is not installed")


def is_text(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def documented(module):
    """The names of a module's top level that have a docstring (or a string after the assignment)."""
    body = source_of(module).body
    body += [inner for node in body if is_type_checking(node) for inner in node.body]
    names = set()
    for node, after in zip_longest(body, body[1:]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names |= {node.name} if ast.get_docstring(node) else set()
        elif isinstance(node, (ast.Import, ast.ImportFrom)):  # documented where they are defined
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and is_text(after):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {t.id for t in targets if isinstance(t, ast.Name)}
    return names


@pytest.mark.parametrize("module", MODULES)
def test_every_module_and_public_name_is_documented(module):
    loaded = load(module)
    assert loaded.__doc__ or not source_of(module).body, f"{module} has no docstring"
    public = getattr(loaded, "__all__", [])
    assert len(set(public)) == len(public)
    missing = {name for name in public if not hasattr(loaded, name)}
    assert not missing, f"{module}.__all__ names what is not there: {missing}"
    assert set(public) <= documented(module), f"without a docstring: {set(public) - documented(module)}"


def test_the_package_offers_what_it_promises():
    promised = {"GrandeClassifier", "grande_degree", "grande_norm", "reciprocal_knn_graph", "evaluate"}
    assert promised <= set(grande_gnn.__all__) == set(dir(grande_gnn))
    for name in grande_gnn.__all__:
        assert getattr(grande_gnn, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        grande_gnn.nothing  # noqa: B018


@pytest.mark.parametrize("module", ["grande_gnn", *MODULES])
def test_examples_run(module):
    results = doctest.testmod(load(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
