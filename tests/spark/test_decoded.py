"""Datasets as readable tables: every value, step, flag and trace, compared with the reference semantics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from isrcheck import check
from isrcheck.checker.datasets.dataset import Dataset
from isrcheck.checker.datasets.header import ReloadedModel, reload_model
from isrcheck.checker.datasets.variables import columns_of, sql_of
from isrcheck.checker.engines import reference
from isrcheck.checker.engines.spark import decoder
from isrcheck.checker.engines.spark.cluster import Cluster
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import (
    Model,
    action,
    bag,
    broker,
    channel,
    enum,
    flag,
    messages,
    number,
    optional,
    per,
    record,
    scalarset,
    sequence,
    set_of,
    setting,
)
from isrcheck.model.semantics.tracing import trace
from tests.cli.running import run

pytestmark = pytest.mark.exhaustive

SETTINGS = {"replicas": 2, "log_size": 2, "max_records": 1, "max_leader_epoch": 1}
"""Settings at which truncate-to-hw violates weak-isr."""


client = scalarset("client")


class Shapes(Model):
    """A variable of each domain, and of what they make together."""

    replicas: int = setting(3, meaning="brokers", counts=broker)
    users: int = setting(2, meaning="clients", counts=client)

    def variables(self) -> dict[str, Any]:
        sent = record(to=broker, what=enum("yes", "no"))
        return {
            "open": flag,
            "low": number(-5, 9),
            "role": enum("leader", "follower"),
            "owner": broker,
            "maybe": optional(broker),
            "isr": set_of(broker),
            "log": sequence(record(epoch=number(0, 2), by=optional(broker), seen=set_of(broker)), 3),
            "deep": sequence(sequence(number(0, 1), 2), 2),
            "rows": sequence(per(number(0, 1), enum("a", "b")), 2),
            "sent": messages(sent),
            "numbers": messages(number(2, 4)),
            "flying": bag(record(to=optional(client), what=number(0, 1)), 3),
            "coming": channel(set_of(client), 2),
            "whose": per(client, optional(client)),
            "sets": messages(record(isr=set_of(broker), at=optional(broker))),
            "each": per(broker, record(end=number(0, 3), log=sequence(flag, 2))),
            "by": per(enum("x", "y"), per(flag, optional(broker))),
        }

    @action(actor="someone")
    def opens(self, s: Any) -> None:
        """Opens."""
        s.require(~s.open)
        s.open = True


def parts(name: str, data: Any, domain: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a value, with their contents from its JSON data."""
    kind = type(domain).__name__
    if kind == "Record":
        for field, inner in zip(domain.names, domain.domains, strict=True):
            yield from parts(f"{name}.{field}", data[field], inner)
    elif kind == "Per":
        for index, inner in zip(domain.index.values(), data, strict=True):
            yield from parts(f"{name}[{domain.index.to_json(index)}]", inner, domain.element)
    else:
        yield name, data


def test_values_of_every_domain() -> None:
    system, chance = trace(Shapes(), ()), random.Random(1)
    layout = Layout(system.leaves)
    domains = {v.name: v.domain for v in system.variables}
    states = [tuple(drawn(domain, chance) for domain in domains.values()) for _ in range(300)]
    packed = layout.pack([system.encode(state) for state in states])
    columns = columns_of(system, layout)
    wanted = [
        dict(pair for (n, d), x in zip(domains.items(), state, strict=True) for pair in parts(n, d.to_json(x), d))
        for state in states
    ]
    assert [name for name, _, _ in columns] == list(wanted[0])
    found = {name: decoder.built(shape, packed) for name, _, shape in columns}
    for name, array in found.items():
        assert array.to_pylist() == [row[name] for row in wanted], name
        assert len(set(map(str, array.to_pylist()))) > 1, name
    # No state at all has the same types.
    for name, kind, shape in columns:
        assert decoder.built(shape, packed[:0]).type == found[name].type
        assert str(found[name].type) == arrow_words(kind), name


def drawn(domain: Any, chance: random.Random) -> Any:
    kind = type(domain).__name__
    match kind:
        case "Record":
            return tuple(drawn(d, chance) for d in domain.domains)
        case "Sequence_" | "Channel":
            return tuple(drawn(domain.element, chance) for _ in range(chance.randint(0, domain.capacity)))
        case "Per":
            return tuple(drawn(domain.element, chance) for _ in range(domain.count))
        case "Messages":
            return frozenset(x for x in domain.elements if chance.random() < 0.3)
    return chance.choice(list(domain.values()))


def arrow_words(kind: str) -> str:
    """The name of an SQL type in Arrow's notation."""
    words = {"bigint": "int64", "boolean": "bool"}
    if kind.startswith("array<"):
        return f"list<item: {arrow_words(kind[6:-1])}>"
    if kind.startswith("struct<"):
        # No struct of these has commas in its fields' types.
        fields = (field.split(": ", 1) for field in kind[7:-1].split(", "))
        return f"struct<{', '.join(f'{name[1:-1]}: {arrow_words(inner)}' for name, inner in fields)}>"
    return words.get(kind, kind)


def test_types_as_sql_writes_them() -> None:
    assert sql_of([{"a": "bigint", "b": ["string"]}]) == "array<struct<`a`: bigint, `b`: array<string>>>"


# --- a whole dataset -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, session: Any) -> Path:
    """A folder with the dataset `x` and its decoded tables in `tables`, made by the command."""
    folder = tmp_path_factory.mktemp("decoded")
    check("truncate-to-hw", SETTINGS, engine="spark", cluster=Cluster(checkpoint=str(folder / "x"), transitions=True))
    said = run("analyze", folder / "x", "--decode", folder / "tables", "--master", "local[1]")
    assert (said.code, said.err) == (0, "")
    return folder


@pytest.fixture(scope="module")
def origin(folder: Path) -> ReloadedModel:
    return reload_model(Dataset.open(str(folder / "x")), None)


def table(folder: Path, name: str) -> pa.Table:
    """A table, read by Arrow without this project."""
    files = [str(path) for path in sorted((folder / "tables" / name).rglob("*.parquet"))]
    return ds.dataset(
        files, partitioning=ds.partitioning(flavor="hive"), partition_base_dir=str(folder / "tables" / name)
    ).to_table()


@pytest.fixture(scope="module")
def levels(origin: ReloadedModel, folder: Path) -> list[list[Any]]:
    """The states of each level, by the reference engine."""
    _, found = reference.search(origin.interpreter, limits=Limits(), keep_going=True)
    return found.levels[: len(set(table(folder, "states")["level"].to_pylist()))]


@pytest.mark.needs("java")
def test_states_are_those_of_the_reference_by_name(
    folder: Path, origin: ReloadedModel, levels: list[list[Any]]
) -> None:
    it, domains = origin.interpreter, origin.interpreter.model.domains

    def row(level: int, state: Any) -> dict[str, Any]:
        named = (pair for (n, d), x in zip(domains.items(), state, strict=True) for pair in parts(n, d.to_json(x), d))
        flags = {f"violates.{name}": name in it.violated(state) for name in it.invariants}
        return {**dict(named), **flags, "level": level}

    wanted = [row(level, state) for level, states in enumerate(levels, start=1) for state in states]
    found = table(folder, "states").drop_columns(["state"]).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    assert any(row["violates.weak-isr"] for row in found)


@pytest.mark.release
@pytest.mark.needs("java")
def test_transitions_have_names_and_join_states(folder: Path, origin: ReloadedModel, levels: list[list[Any]]) -> None:
    it, leaves = origin.interpreter, {}
    states, steps = table(folder, "states").to_pylist(), table(folder, "transitions").to_pylist()
    for row, packed in zip(states, unpacked(origin, [row["state"] for row in states]), strict=True):
        leaves[row["state"]] = packed
    assert len(leaves) == len(states)
    ends = unpacked(origin, [row["target"] for row in steps])
    found = [
        (row["level"], leaves[row["source"]], row["step"], row["action"], row["actor"], end)
        for row, end in zip(steps, ends, strict=True)
    ]
    wanted = [
        (level, it.leaves(state), str(it.labels[i]), it.labels[i].action, it.actors[i], it.leaves(after))
        for level, states in enumerate(levels[:-1], start=1)
        for state in states
        for i, after in it.steps(state)
    ]
    assert sorted(found) == sorted(wanted)
    assert all(row["counted"] for row in steps)


def unpacked(origin: ReloadedModel, rows: list[bytes]) -> list[tuple[int, ...]]:
    import numpy as np

    words = np.frombuffer(b"".join(rows), dtype=np.uint64).reshape(len(rows), -1)
    return [tuple(row) for row in origin.kernel.layout.unpack(words).tolist()]


@pytest.mark.needs("java")
def test_traces_are_the_canonical_ones(folder: Path, origin: ReloadedModel) -> None:
    wanted, found = check("truncate-to-hw", SETTINGS), table(folder, "traces").to_pylist()
    violated = {name: outcome.trace for name, outcome in wanted.invariants.items() if outcome.trace is not None}
    assert violated.keys() == {row["invariant"] for row in found} != set()
    for name, reported in violated.items():
        rows = [row for row in found if row["invariant"] == name]
        assert [row["position"] for row in rows] == list(range(1, reported.length + 1))
        assert [(row["step"], row["actor"]) for row in rows] == [
            (None if step.label is None else str(step.label), step.actor) for step in reported.steps
        ]
        assert unpacked(origin, [row["state"] for row in rows]) == [
            origin.interpreter.leaves(step.state) for step in reported.steps
        ]
        assert [row[f"violates.{name}"] for row in rows] == [False] * (reported.length - 1) + [True]


# --- what docs/how-to/spark.md shows ----------------------------------------------------------------------------------


def leaders(levels: list[list[Any]], origin: ReloadedModel) -> dict[int, int]:
    """The number of states in each level in which broker 0 leads and its log has a record."""
    it, found = origin.interpreter, {}
    names = list(it.model.domains)
    for level, states in enumerate(levels, start=1):
        data = [[d.to_json(x) for d, x in zip(it.model.domains.values(), state, strict=True)] for state in states]
        rows = [dict(zip(names, row, strict=True)) for row in data]
        if n := sum(row["replica"][0]["leader"] == 0 and len(row["log"][0]) > 0 for row in rows):
            found[level] = n
    return found


SQL = """
SELECT level, count(*) AS states FROM {} WHERE {q}replica[0].leader{q} = 0 AND {size}({q}log[0]{q}) > 0
GROUP BY level ORDER BY level
"""


@pytest.mark.needs("java")
def test_pandas(folder: Path, origin: ReloadedModel, levels: list[list[Any]]) -> None:
    states = pd.read_parquet(folder / "tables/states")
    chosen = states[(states["replica[0].leader"] == 0) & (states["log[0]"].map(len) > 0)]
    found = chosen.groupby("level", observed=True).size()
    assert {int(level): int(n) for level, n in found.items()} == leaders(levels, origin) != {}


@pytest.mark.release
@pytest.mark.needs("java")
def test_spark(session: Any, folder: Path, origin: ReloadedModel, levels: list[list[Any]]) -> None:
    session.read.parquet(str(folder / "tables/states")).createOrReplaceTempView("states")
    found = session.sql(SQL.format("states", q="`", size="size")).collect()
    assert {row.level: row.states for row in found} == leaders(levels, origin)


@pytest.mark.needs("java")
def test_duckdb(folder: Path, origin: ReloadedModel, levels: list[list[Any]]) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = f"read_parquet('{folder}/tables/states/*/*.parquet')"
    found = duckdb.sql(SQL.format(table, q='"', size="len")).fetchall()
    assert dict(found) == leaders(levels, origin)


@pytest.mark.needs("java")
def test_polars(folder: Path, origin: ReloadedModel, levels: list[list[Any]]) -> None:
    pl = pytest.importorskip("polars")
    states = pl.scan_parquet(f"{folder}/tables/states/*/*.parquet", hive_partitioning=True)
    chosen = states.filter(pl.col("replica[0].leader") == 0, pl.col("log[0]").list.len() > 0)
    found = chosen.group_by("level").len().collect()
    assert dict(found.rows()) == leaders(levels, origin)
