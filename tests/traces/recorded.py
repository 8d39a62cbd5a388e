"""A model with every kind of domain, and a recorded trace of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.running import run

SHELF = '''\
"""A shelf: every kind of domain, for traces."""

from isrcheck.model.language import (
    Model, action, broker, constraint, enum, flag, for_all, initial, invariant, messages, number, optional, per,
    record, sequence, set_of, setting,
)


class Shelf(Model):
    """Things are put on a shelf."""

    invariants = ("is-low",)
    brokers_ = setting(2, at_least=2, at_most=3, counts=broker, meaning="brokers")
    high = setting(3, at_least=1, at_most=9, meaning="what is too high")

    def variables(self):
        return {
            "count": number(0, 9),
            "colour": enum("red", "green"),
            "owner": optional(broker),
            "members": set_of(broker),
            "pair": record(large=number(2**53, 2**53 + 9), open=flag),
            "log": per(broker, sequence(record(id=number(0, 9), from_=broker), 3)),
            "sent": messages(record(to=broker, text=enum("a", "b"))),
            "table": per(number(1, 2), per(flag, optional(broker))),
        }

    @initial(first=broker)
    def initial(self, s, first):
        s.members = {first}

    @action(by=broker, actor="by")
    def put(self, s, by):
        """A broker puts its next thing."""
        mine = s.log[by]
        s.require(s.members.has(by), s.count < 8)
        s.require(~mine.is_full)
        mine.append({"id": s.count, "from_": by})
        s.count += 1
        s.owner = by
        s.sent.add({"to": by, "text": "b"})
        s.table[2][True] = by
        s.pair = {"large": 2**53 + 1, "open": True}

    @action(by=broker, who=broker, actor="by")
    def join(self, s, by, who):
        """A member lets another in."""
        if by == who:
            return
        s.require(s.members.has(by), ~s.members.has(who))
        s.members = s.members.including(who)
        s.colour = "green"

    @invariant
    def is_low(self, s):
        """What lies on the shelf is low."""
        return for_all(lambda b: s.log[b].length < self.high, b=self.brokers)

    @constraint
    def not_seven(self, s):
        """The count is not seven."""
        return s.count != 7
'''


def shelf(folder: Path) -> Path:
    path = folder / "shelf.py"
    path.write_text(SHELF)
    return path


def record(folder: Path, *options: str) -> tuple[Path, Path]:
    """The JSON file and the ITF file of a check of the shelf."""
    result, itf = folder / "result.json", folder / "trace.itf.json"
    run("check", shelf(folder), *options, "--engine", "reference", "--json", result, "--itf", itf)
    return result, itf


def changed(path: Path, change: Any) -> Path:
    """Changes the data of a file by a function, and returns its path."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    return path
