"""Models of sentence-transformers (Reimers and Gurevych, Sentence-BERT, EMNLP 2019): a pretrained network reads each text.

The name is that of a model on the Hugging Face hub, such as ``all-MiniLM-L6-v2``, which is downloaded once, or a folder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grande_gnn.errors import InvalidInputError, MissingDependencyError

__all__ = ["SentenceModel"]

_PORTION = 256
"""Texts computed between two reports of progress."""


class SentenceModel:
    """A model by its name or folder; it is loaded at once, so that a wrong name is noticed before any work."""

    learns = False

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependencyError(
                f"the extractor {name!r} is neither tfidf nor usable as a model of sentence-transformers: pip install "
                f'"grande-gnn[text]", or use --extractor tfidf; got {_line(error)}'
            ) from None
        try:
            # A model may come with code of its own, which is never run.
            self.network: Any = SentenceTransformer(name, trust_remote_code=False)
        except Exception as error:  # the library raises whatever its parts raise
            raise InvalidInputError(
                f"the extractor must be tfidf, a sentence-transformers model that can be downloaded, or a folder with one; "
                f"got {name!r}: {_line(error)}"
            ) from None
        digest = hashlib.blake2b(digest_size=6)
        for key, tensor in self.network.state_dict().items():
            digest.update(key.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
        safe_name = re.sub(r"[^\w.-]+", "_", PurePath(name).name)[-60:]  # the model may be moved
        self.identity = f"text-{safe_name}-{digest.hexdigest()}"

    def features(
        self,
        texts: Sequence[str],
        new: Sequence[str] = (),
        progress: Callable[[int, int], object] | None = None,
    ) -> NDArray[np.float32]:
        """One row per text."""
        every = [*texts, *new]
        blocks = []
        for start in range(0, len(every), _PORTION):
            block = self.network.encode(
                every[start : start + _PORTION], show_progress_bar=False, convert_to_numpy=True
            )
            blocks.append(np.asarray(block, dtype=np.float32))
            if progress is not None:
                progress(min(start + _PORTION, len(every)), len(every))
        return np.concatenate(blocks)


def _line(error: object) -> str:
    return " ".join(str(error).split())[:200]
