"""The memory that is free for this process, by the system's figures and by the limits of control groups.

The memory of a container is limited by a control group. The system's own figures do not show this limit, but a process
that exceeds the limit is killed.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil


@dataclass(frozen=True)
class _Version:
    """One version of control groups: its folders and the names of its files."""

    mounted: str
    limit: str
    used: str
    reclaimable: str


ONE: Final = _Version("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
TWO: Final = _Version("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def free_memory(root: Path = Path("/")) -> int:
    """The bytes that this process can still take without swapping and without being killed."""
    return max(0, min([int(psutil.virtual_memory().available), *_room_in_groups(root)]))


def peak_memory() -> int:
    """The most bytes that this process has had in memory at one time."""
    for line in _lines(Path("/proc/self/status")):
        # Not `getrusage`, which may give the size of the parent: before the exec, this process was its copy.
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _room_in_groups(root: Path) -> Iterator[int]:
    """Yields the bytes left in the process's control group and in each group above. Skips groups without a limit."""
    for line in _lines(root / "proc/self/cgroup"):
        _, kinds, place = (*line.split(":", 2), "", "")[:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        version = ONE if kinds else TWO
        group, mounted = Path(place.strip("/")), root / version.mounted
        # Inside a container the mount may begin at the container's own group. The group is then not found under its
        # full name, but as the last of `parents` (`.`), which is the mount itself.
        for folder in (group, *group.parents):
            room = _room(mounted / folder, version)
            if room is not None:
                yield room


def _room(folder: Path, version: _Version) -> int | None:
    """The bytes left in a group, or None if the group has no limit. Cached files that can be dropped count as free."""
    limit, used = (_number(folder / name) for name in (version.limit, version.used))
    if limit is None:
        return None
    stat = dict(line.split() for line in _lines(folder / "memory.stat") if len(line.split()) == 2)
    forgettable = stat.get(version.reclaimable, "0")
    return limit - (used or 0) + (int(forgettable) if forgettable.isdecimal() else 0)


def _number(path: Path) -> int | None:
    """The number in a file; None if the file has a word (`max`) or cannot be read."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
