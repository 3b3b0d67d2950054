"""Import paths of version 0.1 that have moved: they work for one more version, with a DeprecationWarning.

Importing an old module gives the new module itself, so that there is one copy of every class. If its names went to
several modules, or got new names, the old path gives a module that looks each of them up.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED_MODULES", "MOVED_NAMES", "install", "moved_name"]

MOVED_MODULES: dict[str, tuple[str, ...]] = {
    "validation": ("internal.validation",),
    "files": ("internal.files", "internal.features_file", "graph.graph_files"),
    "precision": ("internal.device",),
    "ray_cluster": ("internal.cluster",),
    "selection": (
        "classifier.tuning",
        "classifier.committee",
        "classifier.held_out",
        "classifier.preparation",
    ),
    "inductive": ("classifier.new_samples",),
    "persistence": ("classifier.saving",),
    "normalization": ("classifier.normalizer",),
    "model_selection": ("classifier.splits",),
    "confidence": ("labelling.confidence",),
    "exports": ("labelling.exports",),
    "cli.label_output": ("labelling.folder",),
    "cli.experiments": ("cli.experiment_options",),
    "images.order": ("labelling.suggest",),
    "images.template": ("labelling.suggest",),
    "images.csv_file": ("internal.csv_file",),
    "images.features_file": ("internal.features_file",),
    "images.label_csv": ("images.labels_csv",),
    "images.transform": ("images.preprocess",),
    "images.pipeline": ("images.workers",),
    "images.slots": ("images.shared_pixels",),
    "images.fixed_batch": ("images.gpu",),
    "images.ray_runner": ("images.ray",),
    "images.walk": ("images.find",),
    "images.thumbnail": ("images.read",),
    "images.extractors": ("images.networks",),
    "images.extractors.base": ("images.networks.extractor", "images.networks.registry"),
    "images.extractors.lite": ("images.networks.efficientnet_lite",),
    "images.extractors.pixels": ("images.networks.tiny_pixels",),
    "images.extractors.timm_models": ("images.networks.timm_models",),
    "images.extractors.weights": ("images.networks.weights",),
    "graph.registry": ("graph.kinds",),
    "engine.plan": ("engine.replica",),
    "engine.train": ("engine.training", "internal.device"),
    "baselines.augment": ("images.augment",),
    "baselines.protocol": ("baselines.base",),
    "baselines.graphs": ("baselines.graph_networks", "graph.mgcn"),
    "report.view": ("report.page",),
    "report.layout": ("report.map",),
    "experiments.protocol": ("experiments.folds", "experiments.evaluate"),
    "experiments.plan": ("experiments.trials",),
    "experiments.work": ("experiments.measure",),
    "experiments.run": ("experiments.schedule", "experiments.forecast"),
    "experiments.scores": ("experiments.statistics",),
    "experiments.comparison": ("experiments.compare",),
    "experiments.tables.evidence": ("experiments.tables.results",),
    "experiments.tables.layout": ("experiments.tables.table",),
    "experiments.tables.gains": ("experiments.tables.table1_gains",),
    "experiments.tables.neurons": ("experiments.tables.table2_neurons",),
    "experiments.tables.systems": ("experiments.tables.table3_systems",),
    "experiments.figures.degree": ("experiments.figures.figure_degree",),
    "experiments.figures.sigma": ("experiments.figures.figure_sigma",),
    "experiments.runners.cluster": ("experiments.runners.ray_tasks",),
}
"""Old module → the modules that hold its names now, all below ``grande_gnn``."""

MOVED_NAMES: dict[str, dict[str, str]] = {
    "images": {
        "labelling_order": "labelling.suggest:labelling_order",
        "write_template": "labelling.suggest:write_template",
        "summarise": "images.summary:summarize",
    },
    "labelling": {
        "COLUMNS": "labelling.result:COLUMNS",
        "label_new_features": "labelling.assess:assess_new",
        "write_predictions": "labelling.result:write_predictions",
    },
    "graph.neighbors": {"pair_distances": "graph.exact_search:pair_distances"},
    "images.slots": {
        "Slots": "images.shared_pixels:SharedPixels",
        "WORKERS_BORN_BY": "images.shared_pixels:START_METHOD",
        "shared_slots": "images.shared_pixels:allocate_pixels",
    },
    "images.summary": {"summarise": "images.summary:summarize"},
    "images.transform": {"centre_box": "images.preprocess:center_box"},
    "selection": {"FAVOURITE": "classifier.tuning:FAVORITE"},
}
"""Module → names that it no longer has, each with the module that has it now and its name there."""


def install() -> None:
    """Let Python find the old modules; done once, when ``grande_gnn`` is imported."""
    if _OldPaths not in sys.meta_path:
        # First in the list: the path of an old package would otherwise lead to second copies of its new modules.
        sys.meta_path.insert(0, _OldPaths)


def moved_name(package: str, name: str) -> Any:
    """The object that ``package`` exported as ``name`` in 0.1; an AttributeError if there was none."""
    home = MOVED_NAMES.get(package.removeprefix("grande_gnn."), {}).get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, new = home.partition(":")
    _warn(f"{package}.{name}", f"grande_gnn.{module}.{new}", stacklevel=4)
    return getattr(import_module(f"grande_gnn.{module}"), new)


def _warn(old: str, new: str, stacklevel: int) -> None:
    text = f"{old} has moved and will not be found under this name in version 0.3: use {new}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


class _OldPaths:
    """Finds the modules of ``MOVED_MODULES`` under their old names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith("grande_gnn.") or name[11:] not in MOVED_MODULES:
            return None
        homes = [f"grande_gnn.{home}" for home in MOVED_MODULES[name[11:]]]
        return ModuleSpec(name, _Loader(homes, name[11:] in MOVED_NAMES))  # type: ignore[arg-type]


class _Loader:
    """Gives the new module in place of the old one, or a module that forwards if the names are not all there."""

    def __init__(self, homes: list[str], has_renamed: bool) -> None:
        self._homes = homes
        self._forwards = has_renamed or len(homes) > 1
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _warn(spec.name, " or ".join(self._homes), stacklevel=3)
        if self._forwards:
            return _Forwarding(spec.name, self._homes)
        module = import_module(self._homes[0])
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if self._spec is not None:  # importing has written the old path's specification into the new module
            module.__spec__ = self._spec


class _Forwarding(ModuleType):
    """Looks names up in the modules that have them now."""

    def __init__(self, name: str, homes: list[str]) -> None:
        super().__init__(name, f"Moved to {', '.join(homes)}.")
        self._homes = homes

    def __getattr__(self, name: str) -> Any:
        for home in () if name.startswith("__") else self._homes:
            module = import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
        return moved_name(self.__name__, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of the module's own name.

        Importing the old module ``engine.train`` puts it in the place of the function ``engine.train``.
        """
        return getattr(self, self.__name__.rpartition(".")[2])(*arguments, **options)
