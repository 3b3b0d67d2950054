"""Import paths of version 0.1: they give the same objects as the new ones, with a warning, and we use none of them."""

import ast
import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import grande_gnn
from grande_gnn.internal.moved import MOVED_MODULES, MOVED_NAMES, install, moved_name

HERE = Path(__file__).parent
ROOT = Path(grande_gnn.__file__).parent
OLD = json.loads((HERE / "names_0_1.json").read_text())
"""What the modules of 0.1 exported (``__all__``), without the command line's and the engine's own parts."""
GONE = {
    # how new samples are attached to the graph: rewritten, reached through predict
    "inductive": ["FrozenModel", "Joins", "distances_to", "join", "last_listed_distance", "softmax"],
    # builders of networks: reached through EXTRACTORS and load_extractor
    "images.extractors.lite": ["lite"],
    "images.extractors.pixels": ["pixels"],
    "images.extractors.timm_models": ["timm_model"],
    # the content of a report: it is a Labelling now
    "report": ["CalibrationBin", "Estimate", "Problem", "ReportContent", "Suspicion", "Thumbnails"],
    "report.content": ["CalibrationBin", "Estimate", "Problem", "ReportContent", "Suspicion"],
    "report.render": ["Thumbnails"],
    "report.view": ["build_page"],
    # the estimate of 0.1: replaced by labelling.expected_accuracy, labelling.calibration and labelling.suspicion
    "confidence": ["estimate_accuracy", "fit_offset", "fit_temperature", "suspicious_labels"],
    # inner parts of the experiments that have plainer names now
    "baselines.augment": ["centre_view"],
    "experiments.work": ["Material", "Tick", "work"],
    "experiments.runners": ["Materials"],
    "experiments.scores": ["honest_sigmas"],
    "experiments.tables": ["Evidence"],
    "experiments.tables.evidence": ["Evidence"],
    "experiments.tables.gains": ["without_uncut"],
    # what systems and graphs know of themselves is asked of SYSTEMS, GRAPHS and the degree's definition
    "baselines.graphs": ["BUILDERS"],
    "experiments.figures.degree": ["edge_distances", "learned_distances"],
    "experiments.systems": [
        "FEATURE_SYSTEMS",
        "chosen",
        "graph_of",
        "make_system",
        "system_trials",
        "title_of",
    ],
}
"""Names of 0.1 that are gone on purpose: what they named is no longer there. None was documented for users."""
KEPT = [(m, n) for m in OLD for n in OLD[m] if n not in GONE.get(m.removeprefix("grande_gnn."), ())]


@pytest.fixture(autouse=True)
def _other_tests_do_not_see_old_modules():
    """An imported module becomes an attribute of its package; here such attributes go again."""
    packages = {f"grande_gnn.{old}".rpartition(".")[0] for old in MOVED_MODULES}
    before = {name: dict(vars(sys.modules[name])) for name in packages if name in sys.modules}
    yield
    for old in MOVED_MODULES:
        sys.modules.pop(f"grande_gnn.{old}", None)
    for name, attributes in before.items():
        package = vars(sys.modules.get(name) or {})
        for child in {old.rpartition(".")[2] for old in MOVED_MODULES} & set(package):
            if child in attributes:
                package[child] = attributes[child]
            else:
                del package[child]


def import_anew(module):
    """Import a module as if for the first time: an old path warns when it is loaded, not when it is looked up."""
    if module.removeprefix("grande_gnn.") in MOVED_MODULES:
        sys.modules.pop(module, None)
    return importlib.import_module(module)


@pytest.mark.parametrize("old", MOVED_MODULES)
@pytest.mark.filterwarnings("ignore:.*images.extractors has moved:DeprecationWarning")  # the package of some
def test_an_old_module_is_the_new_one_and_warns(old):
    homes = MOVED_MODULES[old]
    with pytest.warns(DeprecationWarning, match=rf"grande_gnn\.{old} has moved.*use grande_gnn\.{homes[0]}"):
        module = import_anew(f"grande_gnn.{old}")
    new = importlib.import_module(f"grande_gnn.{homes[0]}")
    if len(homes) == 1 and old not in MOVED_NAMES:
        assert module is new
        assert module.__spec__.name == module.__name__ == f"grande_gnn.{homes[0]}"
    for name in new.__all__:
        assert getattr(module, name) is getattr(new, name)


@pytest.mark.parametrize(("module", "name"), KEPT)
@pytest.mark.filterwarnings("ignore:.*has moved:DeprecationWarning")
def test_names_of_the_first_version_are_found(module, name):
    assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize(("package", "name"), [(p, n) for p in MOVED_NAMES for n in MOVED_NAMES[p]])
def test_a_name_that_left_its_package_warns(package, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the package, if it has moved too
        old = importlib.import_module(f"grande_gnn.{package}")
    vars(old).pop(name, None)
    module, _, new = MOVED_NAMES[package][name].partition(":")
    with pytest.warns(DeprecationWarning, match=rf"grande_gnn\.{package}\.{name} has moved.*{new}") as caught:
        value = getattr(old, name)
    assert value is getattr(importlib.import_module(f"grande_gnn.{module}"), new)
    assert caught[0].filename == __file__  # the line that has to change


def test_the_warning_names_the_line_that_imports():
    sys.modules.pop("grande_gnn.selection", None)
    with pytest.warns(DeprecationWarning, match="has moved") as caught:
        from grande_gnn.selection import Choice  # noqa: F401
    assert caught[0].filename == __file__


def test_what_never_existed_is_still_missing():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("grande_gnn.nonsense")
    with pytest.raises(AttributeError, match=r"module 'grande_gnn.images' has no attribute 'nonsense'"):
        moved_name("grande_gnn.images", "nonsense")
    with pytest.warns(DeprecationWarning, match="has moved"):
        files = import_anew("grande_gnn.files")
    with pytest.raises(AttributeError, match=r"module 'grande_gnn.files' has no attribute 'nonsense'"):
        files.nonsense  # noqa: B018


def test_installed_once():
    before = list(sys.meta_path)
    install()
    assert sys.meta_path == before


def test_looking_for_an_old_module_does_not_warn():
    sys.modules.pop("grande_gnn.selection", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert importlib.util.find_spec("grande_gnn.selection") is not None


def test_an_old_module_does_not_hide_the_function_of_its_name():
    """``grande_gnn.engine.train`` was a module and, in its package, a function."""
    script = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from grande_gnn.engine.train import resolve_device\n"
        "from grande_gnn.engine import train\n"
        "import grande_gnn.engine.training as new, numpy as np\n"
        "from grande_gnn import Graph\n"
        "from grande_gnn.engine import Replica, Settings\n"
        "problem = [[0.0], [1.0]], Graph.from_edges([0], [1], 2), [Replica(np.array([0, 1]))], 2\n"
        "short = Settings(epochs=1, device='cpu')\n"
        "old, now = (f(*problem, short, keep_models=True)[0].logits for f in (train, new.train))\n"
        "assert (old == now).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_module_has_moved_to_where_one_is():
    """An old name that is also a new module's would hide it."""
    for old in MOVED_MODULES:
        path = ROOT.joinpath(*old.split("."))
        assert not path.with_suffix(".py").exists()
        assert not (path / "__init__.py").exists()


# -- we ourselves use the new names -------------------------------------------------------------------


def imported(path):
    """Everything a file imports, and every dotted path of ours it names in a string, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            left = MOVED_NAMES.get(node.module.removeprefix("grande_gnn."), {})
            exported = set(OLD.get(node.module, [])) - set(
                left
            )  # grande_gnn.engine.train may be the function
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in exported)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(":")[0]


def test_nothing_of_ours_uses_an_old_name():
    old = {f"grande_gnn.{module}" for module in MOVED_MODULES}
    old |= {f"grande_gnn.{package}.{name}" for package in MOVED_NAMES for name in MOVED_NAMES[package]}
    repository = ROOT.parents[1]
    files = [
        p for folder in ("src", "tests", "benchmarks", "scripts") for p in (repository / folder).rglob("*.py")
    ]
    assert len(files) > 200
    on_purpose = {Path(__file__), repository / "tests/attack/findings.py"}  # it also runs on version 0.1
    uses = {str(p.relative_to(repository)): old & set(imported(p)) for p in files if p not in on_purpose}
    assert not {path: names for path, names in uses.items() if names}


def test_importing_everything_warns_of_nothing():
    script = (
        "import importlib, pkgutil, warnings, grande_gnn\n"
        "warnings.filterwarnings('error', '.*has moved', DeprecationWarning)\n"
        "for module in pkgutil.walk_packages(grande_gnn.__path__, 'grande_gnn.'):\n"
        "    if '__main__' in module.name: continue\n"
        "    try: importlib.import_module(module.name)\n"
        "    except ImportError as error:\n"
        "        if (error.name or '').startswith('grande_gnn'): raise\n"  # else an extra is not installed
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
