"""The manifest of a level: the names of the level's files, with their SHA-256.

A level is a part of the dataset only once it has a manifest. A manifest has the SHA-256 of the manifest before it, and
its last field is the SHA-256 of its other fields. So a change in any manifest is noticed, even in the last manifest.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

ENTRY: Final = {"path", "rows", "bytes", "sha256", "hashes", "owner"}
"""The fields of the entry for a file of states.

States are divided by their hashes into parts, the *partitions*. One task works for one partition. `hashes` has the
hashes of the first and the last state in the file. `owner` is the number of the partition whose task wrote the file.
"""
STEPS: Final = {"path", "rows", "bytes", "sha256"}
"""The fields of the entry for a file of transitions."""
STATES: Final = re.compile(r"(states/level=\d{5}|runs)/[0-9a-z-]+\.parquet")
TRANSITIONS: Final = re.compile(r"transitions/level=\d{5}/[0-9a-z-]+\.parquet")
NAME: Final = re.compile(r"level-(\d{5})\.json")


@dataclass(frozen=True)
class Level:
    """The data of a manifest: about a level, and about the search for it (the *expansion* of the level before).

    `distinct` is the number of states of the level, and `files` are the entries of the files with these states. A
    *verdict bit* of a state says, for example, whether the state violates an invariant. `counts[bit]` is the number of
    the level's states in which the bit is set. `runs` are the entries of files that together hold all states up to this
    level.

    The other fields are about the expansion. `generated` counts the enabled instances by action, and `degrees` are the
    least and the greatest number of enabled instances in a state. Both fields are None for level 1. `rejected` counts
    the successors outside the constraints or, for level 1, the initial states outside the constraints. `outside` has
    the verdict bits that are set in at least one of the states that `rejected` counts. `transitions` are the entries of
    the files with the steps from the level before. `by` says where the expansion ran (`driver` or `spark`), and `cost`
    has the seconds and bytes of the expansion.
    """

    number: int
    distinct: int
    generated: list[int] | None
    degrees: list[int] | None
    rejected: int
    outside: int
    counts: list[int]
    files: list[dict[str, Any]]
    transitions: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    by: str
    cost: dict[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """The verdict bits that are set in at least one state of the level, or of the states that `rejected` counts."""
        return self.outside | sum(1 << bit for bit, count in enumerate(self.counts) if count)


def folder_of(number: int) -> str:
    return f"level={number:05d}"


def manifest_name(number: int) -> str:
    return f"manifests/level-{number:05d}.json"


def written(level: Level, previous: str) -> dict[str, Any]:
    """A level as the data of a manifest."""
    data = {"previous": previous, **asdict(level)}
    return {**data, "seal": _seal(data)}


def read(content: bytes, number: int, previous: str) -> Level:
    """The level in a manifest. Raises `ValueError` if the manifest is damaged, or does not follow the previous one."""
    try:
        data = json.loads(content)
        seal = data.pop("seal")
        if seal != _seal(data):
            raise ValueError("its checksum does not match")
        chained, known = data.pop("previous"), {f.name for f in fields(Level)}
        if set(data) != known:
            raise ValueError(f"fields {sorted(set(data) ^ known)}")
        level = Level(**data)
        whole = level.number == number and chained == previous
        if not whole or sum(entry["rows"] for entry in level.files) != level.distinct:
            raise ValueError("it does not continue the previous level")
        _require_entries(level)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__} {error}") from None
    return level


def _seal(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()


def _require_entries(level: Level) -> None:
    """Raises `ValueError` if the entry for a file has wrong fields or a wrong path."""
    for entry in (*level.files, *level.runs):
        if set(entry) != ENTRY or not STATES.fullmatch(entry["path"]):
            raise ValueError(f"{str(entry)[:200]} does not describe a states file")
    for entry in level.transitions:
        if set(entry) != STEPS or not TRANSITIONS.fullmatch(entry["path"]):
            raise ValueError(f"{str(entry)[:200]} does not describe a transitions file")
