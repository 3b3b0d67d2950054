"""Two versions of the package side by side: each in a process of its own that lives as long as the comparison."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("version_worker.py")
THIS_TREE = Path(__file__).resolve().parents[1]


class Version:
    """A version of the package in a process of its own; commands go over a pipe (version_worker.py)."""

    def __init__(self, tree: Path, threads: int) -> None:
        source = tree.resolve() / "src"
        if not (source / "grande_gnn").is_dir():
            raise SystemExit(
                f"a version must be a folder with src/grande_gnn (git archive COMMIT); got {tree}"
            )
        environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, str(WORKER)]
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        hello = self.ask("hello", threads=threads)
        assert Path(hello["file"]).is_relative_to(source), f"another version is imported: {hello['file']}"
        self.version = hello["version"]

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with status {self._process.wait()} during {command}")
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return dict(reply)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def two_versions(old: Path, new: Path, threads: int) -> Iterator[dict[str, Version]]:
    """The old and the new version, ready for commands."""
    versions: dict[str, Version] = {}
    try:
        for name, tree in (("old", old), ("new", new)):
            versions[name] = Version(tree, threads)
        yield versions
    finally:
        for version in versions.values():
            version.close()
