"""The readable text of a value of each domain, which all reports use."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.checker.results.state_text import apart, differences, domain_at, label_text, parts
from isrcheck.checker.results.text_layout import columns, number, plural, seconds, size
from isrcheck.model.language.domains import broker, flag, optional, per, record, resolved, sequence
from isrcheck.model.language.domains import number as up_to
from isrcheck.model.semantics.transition_system import Label
from tests.operators.everything import Everything

DOMAINS = Everything().domains
WORDS: dict[str, tuple[Any, str]] = {
    "p": (True, "true"),
    "a": (3, "3"),
    "role": ("leader", "leader"),
    "x": (2, "2"),
    "y": (None, "none"),
    "isr": (frozenset({2, 0}), "{0, 2}"),
    "zk": ((1, False), "(epoch 1, open false)"),
    "log": ((2, 0), "[0: 2, 1: 0]"),
    "sent": (frozenset({2, 1}), "{1, 2}"),
    "end": ((0, 1, 2), "<0: 0, 1: 1, 2: 2>"),
}


@pytest.mark.parametrize("variable", WORDS)
def test_a_value_in_words(variable: str) -> None:
    value, words = WORDS[variable]
    assert DOMAINS[variable].text(value) == words


def test_a_change_is_told_part_by_part() -> None:
    names = ("zk", "end", "isr")
    variables = [(name, DOMAINS[name]) for name in names]
    old, new = ((1, False), (0, 1, 2), frozenset({0})), ((1, True), (0, 2, 2), frozenset())
    assert list(differences(variables, old, new)) == [
        ("zk.open", "false", "true"),
        ("end[1]", "1", "2"),
        ("isr", "{0}", "{}"),
    ]
    assert list(parts(variables, old))[1:4] == [("end[0]", "0"), ("end[1]", "1"), ("end[2]", "2")]
    assert domain_at(DOMAINS, "end[1]") == DOMAINS["end"].element  # type: ignore[attr-defined]


def test_two_long_values_are_told_by_what_differs() -> None:
    one = sequence(record(isr=per(broker, flag), version=up_to(0, 3)), 3)
    other = sequence(record(isr=per(broker, flag), version=up_to(0, 9), leader=optional(broker)), 2)
    domains = [resolved(d, {"broker": 2}) for d in (one, other)]
    here = (((True, False), 0), ((True, True), 1), ((False, False), 2))
    there = (((True, False), 0, None), ((True, False), 3, 1))
    assert [*apart("m", (domains[0], here), (domains[1], there))] == [
        ("m[1].isr[1]", "true", "false"),
        ("m[1].version", "1", "3"),
        ("m[2]", "(isr <0: false, 1: false>, version 2)", "nothing"),
    ]
    assert [*apart("m", (domains[0], here), (domains[0], here))] == []


def test_an_instance_in_words() -> None:
    label = Label("become-leader", (("leader", 0), ("epoch", 1)), (DOMAINS["x"], DOMAINS["a"]))
    assert label_text(label) == "become-leader(leader=0, epoch=1)"


def test_numbers_and_columns() -> None:
    assert (number(1234567), plural(1, "state"), plural(2000, "state")) == ("1,234,567", "1 state", "2,000 states")
    assert (size(1023), size(1536), seconds(0.125), seconds(3725)) == ("1023 bytes", "1.5 KiB", "0.12 s", "1 h 2 min")
    assert columns([("a", "1"), ("long", "22")], right=(1,)) == ["  a      1", "  long  22"]
