"""A public parser reads the ITF files, and `replay` reads them with and without isrcheck's additions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import itf_py
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isrcheck.checker.trace.itf import decoded, encoded
from isrcheck.model.language import (
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
    sequence,
    set_of,
)
from isrcheck.model.language.domains import Domain, resolved
from tests.agreement.profiles import examples
from tests.cli.running import run
from tests.traces.recorded import changed, shelf
from tests.traces.recorded import record as recorded


def test_a_public_parser_reads_every_kind_of_value(tmp_path: Path) -> None:
    _, path = recorded(tmp_path)
    trace = itf_py.trace_from_json(json.loads(path.read_text()))
    assert trace.vars == ["count", "colour", "owner", "members", "pair", "log", "sent", "table"]
    assert [state.meta["index"] for state in trace.states] == [0, 1, 2, 3]
    first, last = trace.states[0].values, trace.states[-1].values
    assert (first["owner"], first["members"]) == ("none", frozenset({0}))
    assert (last["count"], last["colour"], last["owner"]) == (3, "red", 0)
    assert (last["pair"].large, last["pair"].open) == (2**53 + 1, True)
    assert [(x.id, x.from_) for x in last["log"][0]] == [(0, 0), (1, 0), (2, 0)]
    assert [(x.to, x.text) for x in last["sent"]] == [(0, "b")]
    assert last["table"][2][True] == 0


def test_integers_beyond_doubles_are_bigints_and_others_are_not(tmp_path: Path) -> None:
    _, path = recorded(tmp_path)
    last = json.loads(path.read_text())["states"][-1]
    assert last["pair"]["large"] == {"#bigint": "9007199254740993"}
    assert last["count"] == 3


def test_replay_needs_nothing_but_the_file_and_the_model(tmp_path: Path) -> None:
    _, path = recorded(tmp_path, "-s", "high=2")
    outcome = run("replay", path, "--model", shelf(tmp_path), "--quiet")
    assert (outcome.code, outcome.out) == (12, "VALID  is-low: 3 states, ends in a violation of is-low\n")


def without_meta(data: Any) -> None:
    data.pop("#meta")
    for state in data["states"]:
        state.pop("#meta")


def test_without_our_meta_the_actions_are_found_by_search(tmp_path: Path) -> None:
    _, path = recorded(tmp_path)
    outcome = run("replay", changed(path, without_meta), "--model", shelf(tmp_path), "--quiet")
    assert (outcome.code, outcome.out) == (0, "VALID  path: 4 states\n")


def test_without_our_meta_a_step_that_no_action_makes_is_refused(tmp_path: Path) -> None:
    _, path = recorded(tmp_path)

    def leap(data: Any) -> None:
        without_meta(data)
        del data["states"][1]

    outcome = run("replay", changed(path, leap), "--model", shelf(tmp_path))
    assert (outcome.code, outcome.out) == (
        10,
        "INVALID  path: state 2 of 3 cannot follow state 1: "
        "none of 2 enabled instances leads to this state: join(by=0, who=1), put(by=0)\n",
    )


def test_without_our_meta_the_model_must_be_named(tmp_path: Path) -> None:
    _, path = recorded(tmp_path)
    outcome = run("replay", changed(path, without_meta))
    assert (outcome.code, outcome.err) == (
        150,
        f"isrcheck: {path}: it does not name its model; use --model\n",
    )


LEAVES = st.sampled_from(
    [flag, broker, optional(broker), set_of(broker), number(-2, 2), number(2**53 - 2, 2**53 + 2), enum("none", "b")]
)
INDICES = st.sampled_from([broker, flag, number(1, 2), enum("x", "y")])
DOMAINS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: record(a=a, b=b), inner, inner),
        st.builds(lambda e: sequence(e, 2), inner),
        st.builds(per, INDICES, inner),
        st.builds(messages, LEAVES),
        st.builds(lambda e: channel(e, 2), inner),
        st.builds(lambda e: bag(e, 2), LEAVES),
    ),
    max_leaves=4,
)


@examples(200)
@given(st.data())
def test_every_value_comes_back(data: st.DataObject) -> None:
    domain = resolved(data.draw(DOMAINS), {"broker": 2})
    width = domain.scalars
    value = domain.decode(iter([data.draw(st.integers(x.low, x.high)) for x in width]))
    assume(domain.contains(value))  # the numbers of a bag may be too many together
    written = encoded(domain, value)
    assert decoded(domain, json.loads(json.dumps(written))) == value
    itf_py.value_from_json(written)


WRONG: list[tuple[Domain, Any]] = [
    (number(0, 3), 4),
    (number(0, 3), True),
    (number(0, 3), {"#bigint": "0x1"}),
    (number(0, 3), {"#bigint": "1" * 5000}),
    (number(0, 3), {"#bigint": "\u0663"}),
    (flag, 1),
    (enum("a", "b"), "c"),
    (resolved(broker, {"broker": 2}), "none"),
    (resolved(set_of(broker), {"broker": 2}), [0]),
    (resolved(set_of(broker), {"broker": 2}), {"#set": [0, 0]}),
    (resolved(set_of(broker), {"broker": 2}), {"#set": [2]}),
    (record(a=flag), {"a": True, "b": True}),
    (sequence(flag, 1), [True, True]),
    (per(flag, flag), {"#map": [[True, True]]}),
    (per(flag, flag), {"#map": [[True, True], [True, False]]}),
    (per(flag, flag), {"#map": [[True, True], [False, True], [True, False]]}),
    (per(flag, flag), {"#map": [[True]]}),
    (messages(flag), [True]),
    (bag(flag, 2), {"#map": [[True, 3]]}),
    (bag(flag, 2), {"#map": [[True, 0]]}),
    (bag(flag, 2), {"#map": [[True, True]]}),
    (bag(flag, 2), {"#map": [[True, 1], [True, 1]]}),
    (bag(flag, 2), {"#set": [True]}),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_data_that_is_no_value_is_refused(case: int) -> None:
    domain, data = WRONG[case]
    with pytest.raises(ValueError):
        decoded(domain, data)
