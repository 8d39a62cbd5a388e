"""The contents of a dataset as JSON data, as lines of text and as plots.

The contents of a dataset's manifests as three tables: `levels`, `actions` and `violations`.
"""

from __future__ import annotations

from typing import Any

from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.kernel.verdict_bits import Verdicts
from isrcheck.checker.results.drawing import Panel
from isrcheck.checker.results.result import FORMAT
from isrcheck.checker.results.text_layout import columns, number


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


Distribution = list[tuple[int, int, int, int]]


def summary(dataset: Dataset) -> dict[str, Any]:
    """The contents of a dataset's manifests as JSON data. No state is read."""
    header, levels = dataset.header, dataset.levels
    actions = action_rows(levels, tuple(header["actions"]))[1]
    return {
        "format": FORMAT,
        "dataset": dataset.root,
        "model": header["model"],
        "settings": header["settings"],
        "explored_to_the_end": whole(dataset),
        "distinct": sum(level.distinct for level in levels),
        "levels": level_rows(levels)[1],
        "actions": {name: [row["generated"] for row in actions if row["action"] == name] for name in header["actions"]},
        **{kind: _by_level(dataset, header[kind]) for kind in ("invariants", "goals", "bounds")},
    }


def whole(dataset: Dataset) -> bool:
    """Whether the dataset has every reachable state."""
    return bool(dataset.levels) and dataset.levels[-1].distinct == 0


def _by_level(dataset: Dataset, bits: dict[str, int]) -> dict[str, Any]:
    """For each predicate: counts of states by level (`states`), and the first level with such a state (`first_level`).

    A state counts if an invariant is false in the state, or if the state reaches a goal or bound. An invariant may
    first be false in a state outside the constraints. That state counts for `first_level`, but not for `states`, so
    `states` may have 0 for the `first_level` of an invariant.
    """
    return {
        name: {
            "first_level": next((x.number for x in dataset.levels if x.seen >> bit & 1), None),
            "states": [x.counts[bit] for x in dataset.levels if x.distinct],
        }
        for name, bit in bits.items()
    }


def add_degrees(data: dict[str, Any], found: list[tuple[int, int, int]]) -> None:
    data["out_degree"] = [{"level": level, "degree": degree, "states": states} for level, degree, states in found]


def add_variables(data: dict[str, Any], dataset: Dataset, found: Distribution) -> None:
    leaves = dataset.header["leaves"]
    data["variables"] = {}
    for level, leaf, value, states in found:
        rows = data["variables"].setdefault(leaves[leaf]["path"], [])
        rows.append({"level": level, "value": value, "states": states})


def leaves_named(dataset: Dataset, names: tuple[str, ...]) -> tuple[list[int], list[str]]:
    """The leaves of the named variables or parts of variables (`replica[0].isr`), and the names that do not exist."""
    paths = [leaf["path"] for leaf in dataset.header["leaves"]]
    found: list[int] = []
    unknown = []
    for name in names:
        mine = [
            i for i, path in enumerate(paths) if path == name or path.startswith((f"{name}.", f"{name}[", f"{name}{{"))
        ]
        found += [i for i in mine if i not in found]
        unknown += [] if mine else [name]
    return found, unknown


def add_difference(
    data: dict[str, Any], other: Dataset, compared: tuple[tuple[str, ...], tuple[str, ...]], sides: list[dict[str, Any]]
) -> None:
    """Adds to `data` (a dataset's summary) the states that only one of two datasets has, and the violations in each.

    `compared` has the names of the common variables, then the names of the variables that are not compared. For each
    dataset, `sides` counts the states that only this dataset has, by level and by action.
    """
    theirs = summary(other)
    found = [
        s | {"dataset": d["dataset"], "violated": _violated(d)} for s, d in zip(sides, (data, theirs), strict=True)
    ]
    data["difference"] = {
        "common_variables": list(compared[0]),
        "other_variables": list(compared[1]),
        "explored_to_the_end": [data["explored_to_the_end"], theirs["explored_to_the_end"]],
        "only_in_a": found[0],
        "only_in_b": found[1],
    }


def _violated(data: dict[str, Any]) -> dict[str, int]:
    """The invariants that are violated in a dataset, each with the first level at which it is violated."""
    return {n: x["first_level"] for n, x in data["invariants"].items() if x["first_level"] is not None}


# --- as text --------------------------------------------------------------------------------------------------------


def text(data: dict[str, Any]) -> list[str]:
    """The lines of a summary, as tables."""
    state = "explored completely" if data["explored_to_the_end"] else "not explored completely"
    lines = [f"{data['model']}: {number(data['distinct'])} states, {len(data['levels'])} levels, {state}"]
    lines += ["", "Levels (states, generated, outside the constraints, min and max out-degree)"]
    keys = ("level", "states", "generated", "rejected", "least_degree", "greatest_degree")
    lines += columns((["" if r[k] is None else number(r[k]) for k in keys] for r in data["levels"]), right=range(6))
    lines += ["", "Actions (instances, first level)"]
    rows = ((name, number(sum(n)), _first(n)) for name, n in data["actions"].items())
    lines += columns(rows, right=(1,))
    for kind, words in (("bounds", "hit"), ("goals", "reached"), ("invariants", "violated")):
        if data[kind]:
            lines += ["", f"{kind.capitalize()} ({words} first at, states)"]
            lines += columns(
                (name, "never" if x["first_level"] is None else f"level {x['first_level']}", number(sum(x["states"])))
                for name, x in data[kind].items()
            )
    if "out_degree" in data:
        lines += ["", "Out-degree (states)"]
        lines += columns(
            ((str(d), number(n)) for d, n in sorted(_summed(data["out_degree"], "degree").items())), right=(0, 1)
        )
    for path, found in data.get("variables", {}).items():
        lines += ["", f"{path} (value, states, levels)"]
        totals = _summed(found, "value")
        span = {v: [r["level"] for r in found if r["value"] == v] for v in totals}
        lines += columns(
            ((str(v), number(n), f"{min(span[v])} to {max(span[v])}") for v, n in sorted(totals.items())), right=(0, 1)
        )
    return [*lines, *(_difference(data["difference"]) if "difference" in data else [])]


def _difference(data: dict[str, Any]) -> list[str]:
    lines = ["", f"compared by {', '.join(data['common_variables'])}"]
    if data["other_variables"]:
        lines.append(f"not compared: {', '.join(data['other_variables'])}")
    for side, whole_other in (("only_in_a", 1), ("only_in_b", 0)):
        found = data[side]
        total = sum(found["levels"].values())
        lines += ["", f"Only in {found['dataset']}: {number(total)} states (level, states)"]
        if not data["explored_to_the_end"][whole_other]:
            lines.append("  the other dataset was not explored completely: it may lack them only for that reason")
        lines += columns(((k, number(n)) for k, n in found["levels"].items()), right=(0, 1))
        if found["actions"]:
            lines += ["  reached from states in both by (action, states)"]
            lines += columns(((name, number(n)) for name, n in found["actions"].items()), indent="    ", right=(1,))
        lines += [f"  violated: {name}, first at level {level}" for name, level in found["violated"].items()]
    return lines


def _first(counts: list[int]) -> str:
    return next((f"level {i}" for i, n in enumerate(counts, start=1) if n), "never")


def _summed(rows: list[dict[str, int]], key: str) -> dict[int, int]:
    totals: dict[int, int] = {}
    for row in rows:
        totals[row[key]] = totals.get(row[key], 0) + row["states"]
    return totals


# --- as plots -------------------------------------------------------------------------------------------------------


def panels(data: dict[str, Any]) -> list[Panel]:
    """The panels: states by level, enabled instances by level, and out-degrees and variables if requested."""
    labels = [str(row["level"]) for row in data["levels"]]
    expanded = labels[: max(map(len, data["actions"].values()), default=0)]
    found = [
        Panel("states per level", labels, {"states": [row["states"] for row in data["levels"]]}),
        Panel("enabled actions per level", expanded, {n: x for n, x in data["actions"].items() if any(x)}),
    ]
    if "out_degree" in data:
        degrees = _summed(data["out_degree"], "degree")
        span = range(min(degrees, default=0), max(degrees, default=0) + 1)
        found.append(Panel("states by out-degree", [*map(str, span)], {"states": [degrees.get(d, 0) for d in span]}))
    for path, rows in data.get("variables", {}).items():
        at = {(row["value"], row["level"]): row["states"] for row in rows}
        values = sorted({value for value, _ in at})
        series = {str(v): [at.get((v, row["level"]), 0) for row in data["levels"]] for v in values}
        found.append(Panel(f"{path} over levels", labels, series))
    return found
