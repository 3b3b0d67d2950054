"""The weights of an adapted network, as a safetensors file that :func:`~grande_gnn.images.load_extractor` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from grande_gnn.images.networks import Extractor, load_extractor
from grande_gnn.internal.tensor_file import write_tensors

__all__ = ["AdaptedWeights"]


@dataclass(frozen=True, eq=False)
class AdaptedWeights:
    """The result of an adaptation."""

    extractor: str
    """The extractor whose network was adapted."""
    form: str
    """How it was adapted: one of :data:`~grande_gnn.images.adapt.FORMS`."""
    steps: int
    state: dict[str, Tensor]
    """The state dictionary of the network, on the CPU."""
    checkpoint: Path | None = None
    """The file from which the training would continue; it is needed until the weights are saved."""

    def save(self, path: str | Path) -> None:
        """Write the weights and the name of their extractor to a file, completely or not at all; remove the checkpoint."""
        notes = {"extractor": self.extractor, "form": self.form, "steps": str(self.steps)}
        write_tensors(Path(path), self.state, notes)
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)

    def load(self, path: str | Path) -> Extractor:
        """Load the extractor with the weights that :meth:`save` wrote; its identity is computed from them."""
        return load_extractor(self.extractor, path)
