"""A model with a variable of each domain, and each operation of the language beside its meaning in plain Python.

A meaning is a function of a state as a dictionary of plain values: a set is a frozenset, a log is a tuple, a record is
a tuple of its fields, and `None` is no broker. If a meaning raises, the operation is undefined.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

from isrcheck.model.language import (
    Model,
    action,
    bag,
    broker,
    channel,
    count,
    enum,
    every,
    flag,
    identity,
    implies,
    maximum,
    messages,
    minimum,
    none,
    number,
    optional,
    per,
    record,
    scalarset,
    sequence,
    set_of,
    setting,
    some,
    when,
)

Plain = dict[str, Any]
Meaning = Callable[[Plain], Any]


VERSION = identity(4)
client = scalarset("client")


class Everything(Model):
    """A variable of each domain."""

    brokers_: int = setting(3, meaning="brokers", counts=broker)
    clients_: int = setting(2, meaning="clients", counts=client)

    def variables(self) -> dict[str, Any]:
        return {
            "p": flag,
            "q": flag,
            "a": number(0, 3),
            "b": number(-1, 2),
            "role": enum("leader", "follower", "none"),
            "x": broker,
            "y": optional(broker),
            "isr": set_of(broker),
            "live": set_of(broker),
            "zk": record(epoch=number(0, 2), open=flag),
            "log": sequence(number(0, 2), 3),
            "sent": messages(number(0, 2)),
            "end": per(broker, number(0, 2)),
            "version": VERSION,
            "other": identity(3),
            "asked": sequence(VERSION, 1),
            "known": per(broker, record(version=VERSION)),
            "told": messages(record(version=VERSION, ok=flag)),
            "flying": bag(number(0, 2), 3),
            "coming": channel(number(0, 2), 3),
            "who": client,
            "whose": optional(client),
            "users": set_of(client),
            "asks": per(client, number(0, 2)),
            "lent": bag(record(version=VERSION), 1),
        }

    @action(actor="client")
    def nothing(self, s: Any) -> None:
        """Writes what is there."""
        s.p = s.p


def at(values: Any, index: int) -> Any:
    """An element of a sequence; `IndexError` also for negative indices."""
    if index < 0:
        raise IndexError(index)
    return values[index]


def unheld(v: Plain) -> list[int]:
    """The versions except 0 that no part of the state holds."""
    reported = {version for version, _ in v["told"]}
    lent = {version for (version,) in v["lent"]}
    held = {v["version"], *v["asked"], *(version for (version,) in v["known"]), *reported, *lent}
    return sorted({1, 2, 3} - held)


READ: dict[str, tuple[Callable[[Any, Any], Any], Meaning]] = {
    "not": (lambda m, s: ~s.p, lambda v: not v["p"]),
    "and": (lambda m, s: s.p & s.q, lambda v: v["p"] and v["q"]),
    "or": (lambda m, s: s.p | s.q, lambda v: v["p"] or v["q"]),
    "implies": (lambda m, s: implies(s.p, s.q), lambda v: not v["p"] or v["q"]),
    "number ==": (lambda m, s: s.a == s.b, lambda v: v["a"] == v["b"]),
    "number !=": (lambda m, s: s.a != s.b, lambda v: v["a"] != v["b"]),
    "number <": (lambda m, s: s.a < s.b, lambda v: v["a"] < v["b"]),
    "number <=": (lambda m, s: s.a <= s.b, lambda v: v["a"] <= v["b"]),
    "number >": (lambda m, s: s.a > s.b, lambda v: v["a"] > v["b"]),
    "number >=": (lambda m, s: s.a >= s.b, lambda v: v["a"] >= v["b"]),
    "number +": (lambda m, s: s.a + s.b <= 2, lambda v: v["a"] + v["b"] <= 2),
    "number -": (lambda m, s: s.a - s.b <= 1, lambda v: v["a"] - v["b"] <= 1),
    "constant -": (lambda m, s: 2 - s.a == s.b, lambda v: 2 - v["a"] == v["b"]),
    "constant +": (lambda m, s: 2 + s.b == s.a, lambda v: 2 + v["b"] == v["a"]),
    "constant *": (lambda m, s: 2 * s.b == s.a, lambda v: 2 * v["b"] == v["a"]),
    "number - constant": (lambda m, s: s.a - 1 == s.b, lambda v: v["a"] - 1 == v["b"]),
    "number *": (lambda m, s: s.a * s.b <= 2, lambda v: v["a"] * v["b"] <= 2),
    "minimum": (lambda m, s: minimum(s.a, s.b) == 1, lambda v: min(v["a"], v["b"]) == 1),
    "maximum": (lambda m, s: maximum(s.a, s.b) == 1, lambda v: max(v["a"], v["b"]) == 1),
    "when": (lambda m, s: when(s.p, s.a, s.b) == 1, lambda v: (v["a"] if v["p"] else v["b"]) == 1),
    "enum ==": (lambda m, s: s.role == "follower", lambda v: v["role"] == "follower"),
    "broker ==": (lambda m, s: s.x == s.y, lambda v: v["x"] == v["y"]),
    "broker is_none": (lambda m, s: s.y.is_none, lambda v: v["y"] is None),
    "broker == none": (lambda m, s: s.y == none, lambda v: v["y"] is None),
    "set has": (lambda m, s: s.isr.has(s.x), lambda v: v["x"] in v["isr"]),
    "set has none": (lambda m, s: s.isr.has(s.y), lambda v: v["y"] in v["isr"]),
    "set ==": (lambda m, s: s.isr == s.live, lambda v: v["isr"] == v["live"]),
    "set |": (lambda m, s: (s.isr | s.live).size == 2, lambda v: len(v["isr"] | v["live"]) == 2),
    "set &": (lambda m, s: (s.isr & s.live).size == 1, lambda v: len(v["isr"] & v["live"]) == 1),
    "set -": (lambda m, s: (s.isr - s.live).size == 1, lambda v: len(v["isr"] - v["live"]) == 1),
    "constant set -": (
        lambda m, s: (set(m.brokers) - s.isr).size == 1,
        lambda v: len({0, 1, 2} - v["isr"]) == 1,
    ),
    "set <=": (lambda m, s: s.isr <= s.live, lambda v: v["isr"] <= v["live"]),
    "set >=": (lambda m, s: s.isr >= s.live, lambda v: v["isr"] >= v["live"]),
    "set including": (lambda m, s: s.isr.including(s.x) == s.live, lambda v: v["isr"] | {v["x"]} == v["live"]),
    "set excluding": (lambda m, s: s.isr.excluding(s.x) == s.live, lambda v: v["isr"] - {v["x"]} == v["live"]),
    "set size": (lambda m, s: s.isr.size <= s.a, lambda v: len(v["isr"]) <= v["a"]),
    "set is_empty": (lambda m, s: s.isr.is_empty, lambda v: not v["isr"]),
    "set every": (
        lambda m, s: s.isr.every(lambda b: s.end[b] > 0),
        lambda v: all(v["end"][b] > 0 for b in v["isr"]),
    ),
    "set some": (lambda m, s: s.isr.some(lambda b: s.end[b] > 1), lambda v: any(v["end"][b] > 1 for b in v["isr"])),
    "every": (lambda m, s: every(s.end[b] > 0 for b in m.brokers), lambda v: all(x > 0 for x in v["end"])),
    "some": (lambda m, s: some(s.end[b] > 1 for b in m.brokers), lambda v: any(x > 1 for x in v["end"])),
    "count": (lambda m, s: count(s.end[b] > 0 for b in m.brokers) == 2, lambda v: sum(x > 0 for x in v["end"]) == 2),
    "record field": (lambda m, s: s.zk.epoch == s.a, lambda v: v["zk"][0] == v["a"]),
    "record ==": (lambda m, s: s.zk == {"epoch": 1, "open": True}, lambda v: v["zk"] == (1, True)),
    "log length": (lambda m, s: s.log.length == s.a, lambda v: len(v["log"]) == v["a"]),
    "log at": (lambda m, s: s.log.at(s.a) == 1, lambda v: at(v["log"], v["a"]) == 1),
    "log first": (lambda m, s: s.log.first == 1, lambda v: at(v["log"], 0) == 1),
    "log last": (lambda m, s: s.log.last == 1, lambda v: at(v["log"], len(v["log"]) - 1) == 1),
    "log is_empty": (lambda m, s: s.log.is_empty, lambda v: not v["log"]),
    "log is_full": (lambda m, s: s.log.is_full, lambda v: len(v["log"]) == 3),
    "log appended": (
        lambda m, s: s.log.appended(s.zk.epoch).last == 1,
        lambda v: at(capped((*v["log"], v["zk"][0])), len(v["log"])) == 1,
    ),
    "log truncated": (lambda m, s: s.log.truncated(0) == s.log, lambda v: not v["log"]),
    "log without_first": (
        lambda m, s: s.log.without_first().length == s.a,
        lambda v: len(at((v["log"][1:],), 0 if v["log"] else 1)) == v["a"],
    ),
    "log has": (lambda m, s: s.log.has(s.zk.epoch), lambda v: v["zk"][0] in v["log"]),
    "log index": (lambda m, s: s.log.index(s.zk.epoch) == s.a, lambda v: v["log"].index(v["zk"][0]) == v["a"]),
    "log without": (
        lambda m, s: s.log.without(s.a).has(1),
        lambda v: at((1 in (*v["log"][: v["a"]], *v["log"][v["a"] + 1 :]),), 0 if v["a"] < len(v["log"]) else 1),
    ),
    "log is_prefix_of": (
        lambda m, s: s.log.is_prefix_of([s.zk.epoch, 1, 2]),
        lambda v: (v["zk"][0], 1, 2)[: len(v["log"])] == v["log"],
    ),
    "messages has": (lambda m, s: s.sent.has(s.zk.epoch), lambda v: v["zk"][0] in v["sent"]),
    "messages is_empty": (lambda m, s: s.sent.is_empty, lambda v: not v["sent"]),
    "bag has": (lambda m, s: s.flying.has(s.zk.epoch), lambda v: v["zk"][0] in v["flying"]),
    "bag count": (lambda m, s: s.flying.count(1) == s.a, lambda v: v["flying"].count(1) == v["a"]),
    "bag size": (lambda m, s: s.flying.size > s.a, lambda v: len(v["flying"]) > v["a"]),
    "bag is_empty": (lambda m, s: s.flying.is_empty, lambda v: v["flying"] == ()),
    "bag is_full": (lambda m, s: s.flying.is_full, lambda v: len(v["flying"]) == 3),
    "bag ==": (lambda m, s: s.flying == [2, s.zk.epoch], lambda v: sorted([2, v["zk"][0]]) == sorted(v["flying"])),
    "channel has": (lambda m, s: s.coming.has(s.zk.epoch), lambda v: v["zk"][0] in v["coming"]),
    "channel head": (lambda m, s: s.coming.head == 1, lambda v: at(v["coming"], 0) == 1),
    "channel length": (lambda m, s: s.coming.length == s.a, lambda v: len(v["coming"]) == v["a"]),
    "channel is_empty": (lambda m, s: s.coming.is_empty, lambda v: not v["coming"]),
    "channel is_full": (lambda m, s: s.coming.is_full, lambda v: len(v["coming"]) == 3),
    "channel ==": (lambda m, s: s.coming == [s.zk.epoch], lambda v: (v["zk"][0],) == v["coming"]),
    "client ==": (lambda m, s: s.who == s.whose, lambda v: v["who"] == v["whose"]),
    "client is_none": (lambda m, s: s.whose.is_none, lambda v: v["whose"] is None),
    "clients has": (lambda m, s: s.users.has(s.whose), lambda v: v["whose"] in v["users"]),
    "clients every": (
        lambda m, s: s.users.every(lambda c: s.asks[c] > 0),
        lambda v: all(v["asks"][c] > 0 for c in v["users"]),
    ),
    "clients, all": (
        lambda m, s: some((s.asks[c] == 2) & (s.who != c) for c in m.members(client)),
        lambda v: v["asks"][1 - v["who"]] == 2,
    ),
    "per client, by a held index": (lambda m, s: s.asks[s.who] == 1, lambda v: v["asks"][v["who"]] == 1),
    "per, by a held index": (lambda m, s: s.end[s.x] == 1, lambda v: v["end"][v["x"]] == 1),
    "per, by none": (lambda m, s: s.end[s.y] == 1, lambda v: v["end"][operator.index(v["y"])] == 1),
    "identity ==": (lambda m, s: s.version == s.known[s.x].version, lambda v: v["version"] == v["known"][v["x"]][0]),
    "identity != the first": (lambda m, s: s.version != 0, lambda v: v["version"] != 0),
    "identity, chosen": (
        lambda m, s: when(s.p, s.version, 0) == s.asked.first,
        lambda v: (v["version"] if v["p"] else 0) == at(v["asked"], 0),
    ),
    "used up": (lambda m, s: s.used_up(VERSION), lambda v: unheld(v) == []),
    "false & undefined": (
        lambda m, s: s.p & (s.log.at(s.a) == 1),
        lambda v: v["p"] and at(v["log"], v["a"]) == 1,
    ),
    "true | undefined": (lambda m, s: s.p | (s.log.at(s.a) == 1), lambda v: v["p"] or at(v["log"], v["a"]) == 1),
}
"""Operations that give a flag: as a model writes them, and their meanings."""


def assigning(**found: Callable[[Plain], Any]) -> Callable[[Plain], Plain]:
    return lambda v: {**v, **{name: meaning(v) for name, meaning in found.items()}}


def put(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


def capped(log: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(log) > 3:
        raise IndexError(log)
    return log


def counted(*elements: int) -> tuple[int, ...]:
    return tuple(sorted(elements))


def taken(elements: tuple[int, ...], one: int) -> tuple[int, ...]:
    rest = list(elements)
    rest.remove(one)
    return tuple(rest)


def inside(value: int) -> int:
    if not 0 <= value <= 3:
        raise ValueError(value)
    return value


def _set(name: str, value: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    return lambda m, s: setattr(s, name, value(s))


def _field(m: Any, s: Any) -> None:
    s.zk.epoch = when(s.p, 2, s.zk.epoch)


def _item(m: Any, s: Any) -> None:
    s.end[s.x] = 2


WRITE: dict[str, tuple[Callable[[Any, Any], None], Callable[[Plain], Plain]]] = {
    "flag": (_set("p", lambda s: s.q), assigning(p=lambda v: v["q"])),
    "number": (_set("a", lambda s: s.a + s.b), assigning(a=lambda v: inside(v["a"] + v["b"]))),
    "enum": (_set("role", lambda s: "leader"), assigning(role=lambda v: "leader")),
    "broker": (_set("y", lambda s: s.x), assigning(y=lambda v: v["x"])),
    "none": (_set("y", lambda s: none), assigning(y=lambda v: None)),
    "set": (
        _set("isr", lambda s: (s.isr | s.live).excluding(s.x)),
        assigning(isr=lambda v: (v["isr"] | v["live"]) - {v["x"]}),
    ),
    "record": (
        _set("zk", lambda s: {"epoch": 1, "open": s.p}),
        assigning(zk=lambda v: (1, v["p"])),
    ),
    "record field": (_field, assigning(zk=lambda v: (2 if v["p"] else v["zk"][0], v["zk"][1]))),
    "log append": (lambda m, s: s.log.append(s.zk.epoch), assigning(log=lambda v: capped((*v["log"], v["zk"][0])))),
    "log truncate": (
        lambda m, s: s.log.truncate(minimum(s.a, s.log.length)),
        assigning(log=lambda v: v["log"][: v["a"]]),
    ),
    "log remove_first": (
        lambda m, s: s.log.remove_first(),
        assigning(log=lambda v: at((v["log"][1:],), 0 if v["log"] else 1)),
    ),
    "messages add": (lambda m, s: s.sent.add(s.zk.epoch), assigning(sent=lambda v: v["sent"] | {v["zk"][0]})),
    "messages remove": (lambda m, s: s.sent.remove(s.zk.epoch), assigning(sent=lambda v: v["sent"] - {v["zk"][0]})),
    "bag put": (
        lambda m, s: s.flying.put(s.zk.epoch),
        assigning(flying=lambda v: tuple(sorted(capped((*v["flying"], v["zk"][0]))))),
    ),
    "bag take": (lambda m, s: s.flying.take(s.zk.epoch), assigning(flying=lambda v: taken(v["flying"], v["zk"][0]))),
    "bag, whole": (_set("flying", lambda s: [2, s.zk.epoch, 1]), assigning(flying=lambda v: counted(2, v["zk"][0], 1))),
    "channel put": (
        lambda m, s: s.coming.put(s.zk.epoch),
        assigning(coming=lambda v: capped((*v["coming"], v["zk"][0]))),
    ),
    "channel take": (
        lambda m, s: s.coming.take(),
        assigning(coming=lambda v: at((v["coming"][1:],), 0 if v["coming"] else 1)),
    ),
    "client": (_set("whose", lambda s: s.who), assigning(whose=lambda v: v["who"])),
    "clients": (
        _set("users", lambda s: s.users.including(s.whose).excluding(s.who)),
        assigning(users=lambda v: (v["users"] | {v["whose"]}) - {v["who"], None}),
    ),
    "fresh": (_set("version", lambda s: s.fresh(VERSION)), assigning(version=lambda v: unheld(v)[0])),
    "fresh, of fewer": (
        _set("other", lambda s: s.fresh(identity(3))),
        assigning(other=lambda v: 2 if v["other"] == 1 else 1),
    ),
    "fresh, appended": (
        lambda m, s: s.asked.append(s.fresh(VERSION)),
        assigning(asked=lambda v: (*v["asked"], at((unheld(v)[0],), len(v["asked"])))),
    ),
    "fresh, told": (
        lambda m, s: s.told.add({"version": s.fresh(VERSION), "ok": s.p}),
        assigning(told=lambda v: v["told"] | {(unheld(v)[0], v["p"])}),
    ),
    "per, by a held index": (_item, assigning(end=lambda v: put(v["end"], v["x"], 2))),
}
"""Assignments: as an action writes them, and the resulting state."""


def states(count: int = 100) -> list[tuple[Any, ...]]:
    """Random states. Each variable is drawn from its domain."""
    model, generator = Everything(), random.Random(1)
    values = [list(domain.values()) for domain in model.domains.values()]
    return [tuple(map(generator.choice, values)) for _ in range(count)]


NAMES = tuple(Everything().domains)


def plain(state: tuple[Any, ...]) -> Plain:
    return dict(zip(NAMES, state, strict=True))


def meant(meaning: Meaning, state: tuple[Any, ...]) -> Any:
    """The value of a meaning in a state, or `None` if it is undefined."""
    try:
        return meaning(plain(state))
    except (IndexError, ValueError, TypeError):
        return None
