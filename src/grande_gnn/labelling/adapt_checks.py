"""What ``--adapt`` cannot do is refused before the images are read."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import torch

from grande_gnn.engine.memory import available_memory
from grande_gnn.errors import GrandeError, InvalidInputError, NotEnoughMemoryError
from grande_gnn.images import default_store_folder
from grande_gnn.images.adapt_memory import views_bytes
from grande_gnn.images.networks import load_trainable
from grande_gnn.images.side_by_side import PLUS
from grande_gnn.labelling.label_options import LabelOptions
from grande_gnn.labelling.needs import label_memory

__all__ = ["check_adaptation", "check_room"]

N_STATES = 7
"""How often the network's parameters are on the disk, at most: three adapted networks, and a checkpoint with the state of
the optimizer and two averages."""


def check_adaptation(options: LabelOptions, n_images: int) -> None:
    """Refuse options, networks and numbers of images with which the network cannot be adapted; nothing if it is not."""
    how, name = options.adaptation, str(options.extractor)
    if how is None:
        return
    if options.graph_file is not None or options.lists_file is not None:
        raise InvalidInputError(
            "--adapt changes the features, so a given graph would no longer fit them: leave out --adapt or the file; "
            f"got {options.graph_file or options.lists_file}"
        )
    if PLUS in name:
        raise InvalidInputError(
            f"--adapt fine-tunes one network: name one extractor, or leave out --adapt; got {name}"
        )
    network = load_trainable(name, options.weights)
    n_bytes = sum(4 * value.numel() for value in network.network.state_dict().values())
    check_room(Path(options.store or default_store_folder()), N_STATES * n_bytes)
    pictures = views_bytes(n_images, network, how)
    # The features of the adapted network take part beside those of the original one.
    need = pictures + label_memory(n_images, 2 * network.n_features())
    left = available_memory(torch.device("cpu"))
    if need > left:
        raise NotEnoughMemoryError(
            f"adapting {name} to {n_images} images takes about {need / 2**30:.2g} GiB of memory, of which the images take "
            f"{pictures / 2**30:.2g} GiB: leave out --adapt, or use fewer images; got {left / 2**30:.2g} GiB of free memory"
        )


def check_room(folder: Path, n_bytes: int) -> None:
    """Refuse a folder that cannot take so many bytes: a training of minutes would be lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        raise GrandeError(
            f"--adapt keeps weights in {folder}, where nothing can be written: choose another folder with GRANDE_CACHE, or "
            f"leave out --adapt; got {error.strerror}"
        ) from None
    if free < n_bytes:
        raise GrandeError(
            f"--adapt keeps weights in {folder}, which needs {n_bytes / 2**20:.0f} MiB of free space: free some, choose "
            f"another folder with GRANDE_CACHE, or leave out --adapt; got {free / 2**20:.0f} MiB"
        )
