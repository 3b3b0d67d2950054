"""How much memory the limits of a container or a batch system leave to this process (Linux's control groups)."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["bytes_left"]


def bytes_left(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int:
    """The least that any group around this process leaves; a very large number where none has a limit."""
    left = [sys.maxsize]
    with suppress(OSError):
        for line in membership.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds in ("", "memory"):
                top, group = root / kinds, root / kinds / path.lstrip("/")
                left += [_left(folder) for folder in (group, *group.parents) if folder.is_relative_to(top)]
    return max(0, min(left))


def _left(group: Path) -> int:
    """Limit less usage; files that are only cached can be given up and do not count."""
    for limit, usage, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        (
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),  # groups of the first version
    ):
        with suppress(OSError, ValueError):  # there is no such file, or the limit is "max"
            used = int((group / usage).read_text())
            lines = (group / "memory.stat").read_text().splitlines()
            used -= sum(int(number) for name, number in map(str.split, lines) if name == cached)
            return int((group / limit).read_text()) - used
    return sys.maxsize
