"""The contents of a dataset's manifests as three tables: `levels`, `actions` and `violations`."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.kernel.verdicts import Verdicts


def write_tables(dataset: Dataset, verdicts: Verdicts, actions: tuple[str, ...]) -> None:
    """Writes the tables anew. They are derived from the manifests, which are authoritative."""
    import pyarrow as pa

    for name, rows in (
        ("levels", level_rows(dataset.levels)),
        ("actions", action_rows(dataset.levels, actions)),
        ("violations", violation_rows(dataset.levels, verdicts.invariants)),
    ):
        columns, content = rows
        schema = pa.schema([(column, pa.string() if column in ("action", "invariant", "by") else pa.int64())
                            for column in columns])  # fmt: skip
        table = pa.table({c: [row[c] for row in content] for c in columns}, schema=schema)
        dataset.storage.write_table(f"{name}.parquet", table)


Rows = tuple[tuple[str, ...], list[dict[str, Any]]]


def level_rows(levels: list[Level]) -> Rows:
    """A row for each level that has states. It has the number of states, the bytes, and values from the expansion.

    The values from the expansion of the level are null if the level is not expanded yet.
    """
    columns = ("level", "states", "generated", "rejected", "least_degree", "greatest_degree", "bytes")
    after: list[Level | None] = [*levels[1:], None]
    rows = [
        {
            "level": level.number,
            "states": level.distinct,
            "generated": sum(following.generated or ()) if following else None,
            "rejected": following.rejected if following else None,
            "least_degree": following.degrees[0] if following and following.degrees else None,
            "greatest_degree": following.degrees[1] if following and following.degrees else None,
            "bytes": sum(entry["bytes"] for entry in level.files),
        }
        for level, following in zip(levels, after, strict=True)
        if level.distinct
    ]
    return columns, rows


def action_rows(levels: list[Level], actions: tuple[str, ...]) -> Rows:
    """A row for each level and action: the enabled instances of the action, counted over the states of the level."""
    rows = [
        {"level": level.number - 1, "action": action, "generated": count}
        for level in levels
        for action, count in zip(actions, level.generated or (), strict=False)
    ]
    return ("level", "action", "generated"), rows


def violation_rows(levels: list[Level], invariants: dict[str, int]) -> Rows:
    """A row for each level and each invariant that is false in a state of this level or outside the constraints.

    `states` counts the states of the level in which the invariant is false. `outside` is 1 if the invariant is false in
    a state outside the constraints, otherwise 0.
    """
    rows = [
        {"level": level.number, "invariant": name, "states": level.counts[bit], "outside": level.outside >> bit & 1}
        for level in levels
        for name, bit in invariants.items()
        if level.seen >> bit & 1
    ]
    return ("level", "invariant", "states", "outside"), rows
