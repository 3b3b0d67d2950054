"""What a door is: it makes files that are right, damages them, and judges what the package does with the damaged ones."""

from __future__ import annotations

import io
import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from random import Random

import mutators
import numpy as np

from grande_gnn.errors import GrandeError

Files = dict[str, bytes]
"""An input: the content of each file by its name."""

CORPUS = Path(__file__).with_name("corpus")
X = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)


def require(condition: object, what: str) -> None:
    """Fail if an accepted input was not read as it is."""
    if not condition:
        raise AssertionError(what)


class Door:
    """One kind of file."""

    name: str
    ways: tuple = (mutators.blind,)
    """How one of its files is damaged."""

    @cached_property
    def seeds(self) -> list[Files]:
        """Right inputs to start from."""
        return self.make()

    @cached_property
    def broken(self) -> list[Files]:
        """What broke something once; some inputs start from here."""
        return [files for _, files in kept(self.name)]

    def start(self, random: Random) -> Files:
        """An undamaged input, or one that broke something once."""
        return dict(random.choice(self.broken if self.broken and random.random() < 0.2 else self.seeds))

    def make(self) -> list[Files]:
        """Right inputs."""
        raise NotImplementedError

    def mutate(self, random: Random) -> Files:
        """A damaged input."""
        files = self.start(random)
        name = random.choice(sorted(files))
        files[name] = random.choice(self.ways)(random, files[name])
        return files

    def read(self, folder: Path, files: Files) -> None:
        """Give the files in ``folder`` to the package; raises unless they are refused or read as they are."""
        raise NotImplementedError

    def judge(self, files: Files, folder: Path) -> str:
        """``"refused"`` or ``"accepted"``; raises where it is neither."""
        for name, content in files.items():
            (folder / name).write_bytes(content)
        try:
            self.read(folder, files)
        except GrandeError as error:
            require("\n" not in str(error), "the error has several lines")
            require(len(str(error)) < 5000, "the error is very long")
            return "refused"
        finally:
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return "accepted"


def kept(door: str) -> list[tuple[str, Files]]:
    """The inputs of the corpus for a door, by name."""
    cases = sorted((CORPUS / door).iterdir()) if (CORPUS / door).is_dir() else []
    return [(case.name, {file.name: file.read_bytes() for file in sorted(case.iterdir())}) for case in cases]


def written(save, name: str) -> Files:
    """The file that ``save`` writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / name)
        return {name: (Path(folder) / name).read_bytes()}


def slow_npz(content: bytes, *names: str) -> dict[str, np.ndarray]:
    """The named arrays of an archive, where it has them, as numpy reads them."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in names if name in archive.files}
