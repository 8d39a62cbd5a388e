"""The sentences of V1, V2, majority vote and primary-backup about steps: they name every broker concerned and no other.

Scenarios show what a sentence must contain, because their stories were written by hand before the sentences existed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.result import Trace
from isrcheck.checker.scenarios.scenario import read as read_scenario
from isrcheck.checker.trace.step_replay import replay
from isrcheck.checker.trace.trace_files import decoded, read
from isrcheck.model.language import Model
from isrcheck.model.language.descriptions import DESCRIBE, describe
from isrcheck.model.language.domains import Broker, BrokerSet
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label
from tests.designs import shipped
from tests.designs.agreeing import combination
from tests.marks import one_in
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2] / "counterexamples"
OTHERS = tuple(load_model_class(name).cls for name in ("v3", "alter-isr", "kraft"))
"""Designs whose sentences other tests read, and with them their variants."""
DESIGNS = tuple(name for name in shipped.DESIGNS if not issubclass(load_model_class(name).cls, OTHERS))
CLASSES = {name: load_model_class(name).cls for name in DESIGNS}
SCENARIOS = [name for name, folder in FOLDERS.items() if read_scenario(folder).model in DESIGNS]
RECORDED = [name for name in SCENARIOS if (FOLDERS[name] / "trace.itf.json").is_file()]

VALUE = r"(\{[^}]*\}|[\w-]+)"
ARROW = re.compile(rf"{VALUE} -> {VALUE}")


def mistakes(label: Label, text: str) -> Iterator[str]:
    """The formal mistakes in a sentence."""
    if text.endswith(".") or not text or text != text.strip() or "  " in text:
        yield "it is no sentence without its full stop"
    arrows = ARROW.findall(text)
    if len(arrows) != text.count("->") or any(a == b for a, b in arrows):
        yield "an arrow leads nowhere"
    if re.search(r"\b(None|True|False)\b|<|frozenset|[,;:] ?[,;:]", text):
        yield "it shows Python's words, or a piece is missing"
    for (name, value), domain in zip(label.parameters, label.domains, strict=True):
        if isinstance(domain, Broker) and value is not None and f"broker {value}" not in text:
            yield f"{name} is not named"
        if isinstance(domain, BrokerSet):
            whole = "{" + ", ".join(map(str, sorted(value))) + "}"
            if whole not in text and not all(f"broker {number}" in text for number in value):
                yield f"{name} is not named"


def check(model: Model, label: Label, old: State, new: State) -> str:
    text = describe(model, label, old, new)
    assert not list(mistakes(label, text)), (str(label), text)
    return label.action.replace("-", "_")


def recorded(name: str) -> tuple[Model, Trace]:
    """The model of a scenario, and the scenario's recorded trace, replayed."""
    file = read(FOLDERS[name] / "trace.itf.json")
    assert file.model is not None
    model = load_model_class(file.model).cls(**(file.settings or {}))
    interpreter = Interpreter(model, {})
    return model, replay(interpreter, decoded(interpreter, file.traces[0])).trace


def sentences(name: str) -> list[str]:
    model, trace = recorded(name)
    pairs = zip(trace.steps, trace.steps[1:], strict=False)
    return [
        describe(model, after.label, before.state, after.state) for before, after in pairs if after.label is not None
    ]


def check_walks(model: Model, draw: int, walks: int = 2, length: int = 40) -> set[str]:
    """Checks the sentences of all steps from the states of some long paths. Returns the actions that occurred."""
    chance, interpreter, seen = random.Random(draw), Interpreter(model, {}), set[str]()
    for _ in range(walks):
        state, fresh = initial_states(model)[0], set[int]()
        for _ in range(length):
            steps = list(interpreter.steps(state))
            seen |= {check(model, interpreter.labels[i], state, after) for i, after in steps}
            if not steps:
                break
            # An instance that this walk has not taken comes first, so that seldom ones come at all.
            unseen = [step for step in steps if step[0] not in fresh]
            i, state = chance.choice(unseen or steps)
            fresh.add(i)
    return seen


@pytest.mark.parametrize("name", DESIGNS)
def test_every_action_of_the_design_has_a_sentence(name: str) -> None:
    cls = CLASSES[name]
    own = [
        c
        for c in cls.__mro__
        if re.match(r"(v1|v2|watched|zookeeper|majority|primary)", c.__module__.rpartition(".")[2])
    ]
    inherited = {a for c in cls.__mro__ if c not in own for a, x in vars(c).items() if hasattr(x, "__action__")}
    declared = {a for c in own for a, x in vars(c).items() if hasattr(x, "__action__")}
    assert declared - inherited
    assert not [a for a in declared - inherited if not hasattr(cls, DESCRIBE + a)]


@pytest.mark.parametrize("name", RECORDED)
def test_the_traces_of_scenarios_are_told(name: str) -> None:
    model, trace = recorded(name)
    for before, after in zip(trace.steps, trace.steps[1:], strict=False):
        assert after.label is not None
        check(model, after.label, before.state, after.state)


@pytest.mark.parametrize("draw", range(8))
@pytest.mark.parametrize("name", DESIGNS)
def test_walks_are_told(name: str, draw: int) -> None:
    cls: Any = CLASSES[name]
    check_walks(cls(**combination(cls, draw)), draw, walks=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(4, DESIGNS))
def test_many_walks_are_told(name: str) -> None:
    cls: Any = CLASSES[name]
    notified_brokers = set[str]()
    for draw in range(30):
        notified_brokers |= check_walks(cls(**combination(cls, draw)), draw, walks=1)
    for scenario in SCENARIOS:
        found = read_scenario(FOLDERS[scenario])
        if found.model == name:
            notified_brokers |= check_walks(cls(**found.settings), 0)
    # Seldom actions, those of rare truncations above all, may not be met by chance.
    assert {
        a.replace("-", "_") for a in cls.actions() if hasattr(cls, DESCRIBE + a.replace("-", "_"))
    } & notified_brokers


@pytest.mark.parametrize(
    ("name", "who", "what"),
    [
        ("v1-stale-read-before-election", "broker 1 is the first to create the leader node", "ISR {0} -> {0, 1}"),
        ("v2-zombie-overwrites-the-isr", "broker 0, still the leader in its own eyes", "ISR {1} -> {0}, epoch 1 -> 0"),
        ("v2-close-replica-without-epoch", "broker 1 takes close-replica of epoch 0", "although it is in the ISR {1}"),
        ("v2-full-queue-shrinks", "the queue of broker 1 is full", "drops start-replica"),
        ("v2-zombie-deletes-the-leader-node", "broker 1, still the leader", "although that is the one of broker 0"),
        ("majority-vote-for-anybody", "broker 0, whose log ends at 1", "for broker 2, whose log is empty"),
    ],
)
def test_the_point_of_a_scenario_is_in_one_sentence(name: str, who: str, what: str) -> None:
    assert [text for text in sentences(name) if who in text and what in text]
