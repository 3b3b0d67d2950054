"""The file from which an interrupted adaptation continues."""

from __future__ import annotations

import hashlib
import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from grande_gnn.errors import FileFormatError
from grande_gnn.internal.files import write_atomically
from grande_gnn.internal.torch_file import read_torch

__all__ = ["TrainingState"]

logger = logging.getLogger(__name__)


class TrainingState:
    """Saves the state of a training, and finds it again if the same training is started once more.

    The file is read so that it cannot run code and damage is noticed, and it is used only by a training with the same
    network, labels and settings. Where it cannot be written, the training continues without it.
    """

    EVERY_S = 15.0
    """Seconds between two saves: a killed process loses at most this much work."""

    def __init__(
        self,
        path: str | Path | None,
        identity: str,
        labels: NDArray[np.int64],
        *settings: object,
    ) -> None:
        self.path = None if path is None else Path(path)
        digest = hashlib.blake2b(f"{identity} {settings!r}".encode(), digest_size=16)
        digest.update(labels.tobytes())
        self.key = digest.hexdigest()

    def save(self, state: dict[str, Any]) -> None:
        """Write the state, completely or not at all."""
        if self.path is None:
            return
        content = io.BytesIO()  # torch hides the reason if it cannot write to a file
        torch.save(state | {"key": self.key}, content)
        try:
            write_atomically(self.path, lambda file: file.write(content.getbuffer()))
        except OSError as error:
            logger.warning(
                "If adapting is interrupted, it begins anew, because %s cannot be written: %s",
                self.path,
                error,
            )
            self.path = None

    def load(self, device: torch.device) -> dict[str, Any] | None:
        """The state of the same training; None if there is none."""
        if self.path is None or not self.path.exists():
            return None
        try:
            state = read_torch(self.path, "the state of a training", device)
        except FileFormatError:
            logger.warning("An unfinished adaptation begins anew, because %s is damaged.", self.path)
            return None
        return state if isinstance(state, dict) and state.get("key") == self.key else None

    def remove(self) -> None:
        """Remove the file of a training that cannot continue."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
