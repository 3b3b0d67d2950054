"""Images: find them, read them, extract their features, and keep the features in a store.

>>> from grande_gnn.images import extract_features, find_images, load_extractor
>>> images = find_images("photos")                                          # doctest: +SKIP
>>> features = extract_features(images, load_extractor("lite2")).features()  # doctest: +SKIP

Names are imported when they are first used, so that reading the registry of extractors costs nothing.
"""

from typing import TYPE_CHECKING

from grande_gnn.internal.lazy import lazy_names

if TYPE_CHECKING:
    from grande_gnn.images.extract import Extraction, extract_features
    from grande_gnn.images.find import ImageSet, find_images
    from grande_gnn.images.networks import EXTRACTORS, Extractor, default_extractor, load_extractor
    from grande_gnn.images.problems import Problem, write_problems
    from grande_gnn.images.ray import RayRunner
    from grande_gnn.images.read import read_image, read_thumbnail
    from grande_gnn.images.side_by_side import extract_parts, join_extractions, load_parts
    from grande_gnn.images.store import FeatureStore, default_store_folder
    from grande_gnn.images.summary import summarize

__all__ = [
    "EXTRACTORS",
    "Extraction",
    "Extractor",
    "FeatureStore",
    "ImageSet",
    "Problem",
    "RayRunner",
    "default_extractor",
    "default_store_folder",
    "extract_features",
    "extract_parts",
    "find_images",
    "join_extractions",
    "load_extractor",
    "load_parts",
    "read_image",
    "read_thumbnail",
    "summarize",
    "write_problems",
]

_HOMES = {
    "Extraction": "extract", "extract_features": "extract", "ImageSet": "find", "find_images": "find",
    "EXTRACTORS": "networks", "Extractor": "networks", "default_extractor": "networks", "load_extractor": "networks",
    "Problem": "problems", "write_problems": "problems", "RayRunner": "ray", "read_image": "read",
    "extract_parts": "side_by_side", "join_extractions": "side_by_side", "load_parts": "side_by_side",
    "read_thumbnail": "read", "FeatureStore": "store", "default_store_folder": "store", "summarize": "summary",
}  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
