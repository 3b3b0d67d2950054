"""The paper's five datasets, the user's features files, and a check whether a file holds one of the five.

A data folder holds ``<dataset>/features_<name>.npz`` (which ``grande extract`` writes). A folder named after one of the five
datasets must have its number of classes. If the number of images is neither the paper's nor the source's, it is another
edition, which runs as a custom dataset and is not compared with the paper's numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError, InvalidInputError
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.validation import UNLABELLED, encode_labels

__all__ = [
    "DATASETS",
    "Dataset",
    "FeatureSet",
    "LoadedSet",
    "find_feature_sets",
    "fingerprint",
    "image_paths",
    "load_feature_set",
]


@dataclass(frozen=True)
class Dataset:
    """One of the paper's datasets: its expected size, and its source."""

    name: str
    """The folder's name."""
    title: str
    classes: int
    paper_images: int
    """The number of images the paper states."""
    source_images: tuple[int, ...]
    """The numbers of images of the source's own editions."""
    source: str
    layout: str
    """How the source's images are to be arranged under ``<dataset>/`` for ``grande extract``."""
    per_class: int | None = None
    """Images per class; None if classes differ in size."""
    lr: float = 1e-3
    """The paper's learning rate."""


DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {
        dataset.name: dataset
        for dataset in [
            Dataset(
                "flowers17",
                "Flowers17",
                classes=17,
                paper_images=1360,
                source_images=(1360,),
                source="https://www.robots.ox.ac.uk/~vgg/data/flowers/17/ (17flowers.tgz)",
                layout="images/image_0001.jpg … image_1360.jpg; 80 consecutive images per class, labels.csv",
                per_class=80,
            ),
            Dataset(
                "corel5k",
                "Corel5k",
                classes=50,
                paper_images=5000,
                source_images=(5000,),
                source="G.-H. Liu and J.-Y. Yang, Pattern Recognition 46(1), 2013: the authors' Corel-5K",
                layout="images/<class>/*.jpg; 50 class folders of 100 images",
                per_class=100,
            ),
            Dataset(
                "cub200",
                "CUB200",
                classes=200,
                paper_images=11788,
                source_images=(11788,),
                source="https://www.vision.caltech.edu/datasets/cub_200_2011/ (CUB_200_2011.tgz)",
                layout="images/<class>/*.jpg; the 200 class folders of CUB_200_2011/images",
                lr=1e-2,
            ),
            Dataset(
                "pets",
                "Pets",
                classes=37,
                paper_images=7409,
                source_images=(7349, 7390),  # annotations/list.txt names 7,349 of the 7,390 photos in images/
                source="https://www.robots.ox.ac.uk/~vgg/data/pets/ (images.tar.gz)",
                layout="images/<Breed>_<number>.jpg; the class is the name before the last underscore, labels.csv",
            ),
            Dataset(
                "dogs",
                "Dogs",
                classes=120,
                paper_images=20580,
                source_images=(20580,),
                source="http://vision.stanford.edu/aditya86/ImageNetDogs/ (images.tar)",
                layout="images/<class>/*.jpg; the 120 class folders of Images/",
            ),
        ]
    }
)
"""The five datasets by folder name, in the order of the paper's tables."""


@dataclass(frozen=True)
class FeatureSet:
    """One features file: the name of its dataset, the name of its features, and its path."""

    dataset: str
    features: str
    path: Path

    @classmethod
    def at(cls, path: str | Path) -> FeatureSet:
        """The features file at a path that need not be in a data folder, named after its folder and itself.

        >>> FeatureSet.at("/data/pets/features_vit.npz").name
        ('pets', 'vit')
        """
        whole = Path(path).absolute()
        return cls(whole.parent.name, whole.stem.removeprefix("features_"), Path(path))

    @property
    def lr(self) -> float:
        """The paper's learning rate for this dataset, or the usual one for any other dataset."""
        return DATASETS[self.dataset].lr if self.dataset in DATASETS else 1e-3

    @property
    def name(self) -> tuple[str, str]:
        """(dataset, features), as rows name it."""
        return self.dataset, self.features

    def __str__(self) -> str:
        return "/".join(self.name)


@dataclass(frozen=True, eq=False)
class LoadedSet:
    """The checked content of a features file."""

    source: FeatureSet
    X: NDArray[np.float32]
    codes: NDArray[np.int64]
    files: NDArray[np.str_]
    fingerprint: str
    """Sixteen hexadecimal digits that change with any feature or label."""
    paper: Dataset | None
    """Which of the paper's datasets it is; None for a custom one."""
    note: str | None
    """What a reader of the results must know about this edition."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.codes.max()) + 1


def find_feature_sets(
    root: Path, datasets: Sequence[str] = (), features: Sequence[str] = ()
) -> list[FeatureSet]:
    """The features files under ``root``, the paper's datasets first; ``datasets`` and ``features`` select some of them."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(root.glob("*/features_*.npz")):
        found.setdefault(path.parent.name, {})[path.stem.removeprefix("features_")] = path
    if not found:
        raise InvalidInputError(
            "the data folder must hold <dataset>/features_<name>.npz files, which `grande extract` writes; "
            f"got none in {root}"
        )
    order = [*(name for name in DATASETS if name in found), *(name for name in found if name not in DATASETS)]
    sets = []
    for dataset in datasets or order:
        if dataset not in found:
            paper = DATASETS.get(dataset)
            origin = (
                f"; {paper.title} comes from {paper.source}: arrange it as {paper.layout}, then run `grande extract`"
                if paper
                else ""
            )
            raise InvalidInputError(f"the datasets in {root} are {', '.join(order)}{origin}; got {dataset!r}")
        for name in features or found[dataset]:
            if name not in found[dataset]:
                raise InvalidInputError(
                    f"{root / dataset} has features_<name>.npz for {', '.join(found[dataset])}: make others with "
                    f"`grande extract`; got {name!r}"
                )
            sets.append(FeatureSet(dataset, name, found[dataset][name]))
    return sets


def load_feature_set(source: FeatureSet) -> LoadedSet:
    """Read a features file for an experiment and check it: every sample must be labelled, and known datasets complete."""
    content = load_features(source.path)
    if content.labels is None:
        raise FileFormatError(f"an experiment needs labels, to measure against; got none in {source.path}")
    codes, _ = encode_labels(content.labels)
    if (codes == UNLABELLED).any():
        raise FileFormatError(
            "an experiment needs every label, to measure against: drop the unlabelled samples; "
            f"got {(codes == UNLABELLED).sum()} without a label in {source.path}"
        )
    paper, note = _identify(source, codes)
    digest = fingerprint(content.features, codes)
    return LoadedSet(source, content.features, codes, content.files, digest, paper, note)


def _identify(source: FeatureSet, codes: NDArray[np.int64]) -> tuple[Dataset | None, str | None]:
    dataset = DATASETS.get(source.dataset)
    if dataset is None:
        return None, None
    counts = np.bincount(codes)
    if len(counts) != dataset.classes:
        raise FileFormatError(
            f"{dataset.title} has {dataset.classes} classes ({dataset.layout}): the labels are of another dataset or "
            f"incomplete; rename the folder {source.dataset} to run it as a custom dataset; got {len(counts)} classes in "
            f"{source.path}"
        )
    n, sizes = len(codes), sorted({dataset.paper_images, *dataset.source_images})
    if n not in sizes or (dataset.per_class is not None and (counts != dataset.per_class).any()):
        expected = " or ".join(f"{size:,}" for size in sizes)
        expected += f", {dataset.per_class} per class" if dataset.per_class else ""
        return None, (
            f"{source}: {n:,} images, {counts.min()} to {counts.max()} per class, but {dataset.title} has {expected}; "
            "it runs as a custom dataset and is not compared with the paper's numbers"
        )
    if n != dataset.paper_images:
        return (
            dataset,
            f"{source}: {n:,} images, as its source has; the paper states {dataset.paper_images:,}",
        )
    return dataset, None


def fingerprint(X: NDArray[np.float32], codes: NDArray[np.int64]) -> str:
    """Sixteen hexadecimal digits that change with any feature or label."""
    digest = hashlib.sha256(str(X.shape).encode())
    for array in (X, codes):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def image_paths(files: Sequence[str] | NDArray[np.str_], folder: str | Path | None) -> list[str]:
    """The paths of the images of a features file: ``files`` relative to ``folder``, or their bare names in it."""
    if folder is None:
        raise InvalidInputError(
            "this system works on images, not on features: give their folder with --images; got none"
        )
    for shorten in (lambda name: name, lambda name: Path(name).name):
        paths = [Path(folder) / shorten(name) for name in files]
        if paths and paths[0].is_file():
            missing = next((path for path in paths if not path.is_file()), None)
            if missing is None:
                return [str(path) for path in paths]
            raise FileFormatError(f"an image named in the features file is not in its folder; got {missing}")
    raise FileFormatError(f"{folder} must hold the images the features file names; got no {files[0]} in it")
