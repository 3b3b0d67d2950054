"""Images: find and read them, extract their features, keep these.

>>> from grande_gnn.images import extract_features, find_images, load_extractor
>>> images = find_images("photos")                                          # doctest: +SKIP
>>> features = extract_features(images, load_extractor("lite2")).features()  # doctest: +SKIP
"""

from grande_gnn.images.extract import Extraction, extract_features
from grande_gnn.images.find import ImageSet, find_images
from grande_gnn.images.networks import EXTRACTORS, Extractor, default_extractor, load_extractor
from grande_gnn.images.problems import Problem, write_problems
from grande_gnn.images.ray import RayRunner
from grande_gnn.images.read import read_image
from grande_gnn.images.store import FeatureStore, default_store_folder
from grande_gnn.images.summary import summarise
from grande_gnn.images.thumbnail import read_thumbnail

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
    "find_images",
    "load_extractor",
    "read_image",
    "read_thumbnail",
    "summarise",
    "write_problems",
]
