"""Random walks of random models as recordings: lanes, hidden steps, and parts of some states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from isrcheck.model.language.domains import Domain, Per, Record, Value
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter

PROCESSES = ("one", "two", "three")


@dataclass(frozen=True)
class Walk:
    """The states of a walk, and the numbers of the instances between them."""

    states: tuple[State, ...]
    steps: tuple[int, ...]


def walk(interpreter: Interpreter, choose: Random, length: int) -> Walk:
    states, steps = [choose.choice(initial_states(interpreter.model))], list[int]()
    for _ in range(length):
        enabled = [(i, x) for i, x in interpreter.steps(states[-1]) if not isinstance(x, EvaluationError)]
        if not enabled or not interpreter.counted(states[-1]):
            break
        number, after = choose.choice(enabled)
        steps.append(number)
        states.append(after)
    return Walk(tuple(states), tuple(steps))


def parts(path: str, domain: Domain, value: Value) -> Iterator[tuple[str, Any]]:
    """Every part of a value that a recording can name: its path and its JSON data."""
    yield path, domain.to_json(value)
    if isinstance(domain, Record):
        for name, (position, inner) in domain.fields.items():
            yield from parts(f"{path}.{name}", inner, value[position])
    elif isinstance(domain, Per):
        for position, key in enumerate(domain.index.values()):
            yield from parts(f"{path}[{domain.index.text(key)}]", domain.element, value[position])


def all_parts(interpreter: Interpreter, state: State) -> list[tuple[str, Any]]:
    variables = interpreter.model.domains.items()
    return [x for (name, d), value in zip(variables, state, strict=True) for x in parts(name, d, value)]


def projected(interpreter: Interpreter, found: Walk, choose: Random) -> tuple[list[dict[str, Any]], int]:
    """The lines of a walk's recording, with its header first, and the most hidden steps in a row."""
    lines: list[dict[str, Any]] = []
    hidden, run, longest = set[str](), 0, 0
    counts = dict.fromkeys(PROCESSES, 0)
    kept = {path for path, _ in all_parts(interpreter, found.states[0])}
    for number, before, after in zip(found.steps, found.states, found.states[1:], strict=False):
        label = interpreter.labels[number]
        process_log = (
            PROCESSES[len(interpreter.actors[number]) % 2] if choose.random() < 0.7 else choose.choice(PROCESSES)
        )
        observed = dict(choose.sample(all_parts(interpreter, after), choose.choice((0, 0, 1, 3))))
        line: dict[str, Any] = {"lane": process_log, "order": counts[process_log], "observed": observed}
        if choose.random() < 0.4:
            hidden.add(label.action)
            then = dict(all_parts(interpreter, after))
            kept -= {path for path, value in all_parts(interpreter, before) if then[path] != value}
            run += 1
            longest = max(longest, run)
        else:
            run = 0
            known = {name: x for name, x in label.to_json().items() if choose.random() < 0.7}
            event: Any = {"action": label.action, "parameters": known}
            line["event"] = (
                [event, {"action": choose.choice(interpreter.labels).action}] if choose.random() < 0.2 else event
            )
        if "event" in line or observed:
            if lines and choose.random() < 0.2:
                earlier = choose.choice(lines)
                line["after"] = [[earlier["lane"], earlier["order"]]]
            counts[process_log] += choose.choice((1, 3))
            lines.append(line)
    complete = choose.sample(sorted(kept), min(len(kept), choose.choice((0, 0, 1, 3))))
    return [{"recording": 1, "lanes": list(PROCESSES), "hidden": sorted(hidden), "complete": complete}, *lines], longest


def tampered(interpreter: Interpreter, lines: list[dict[str, Any]], choose: Random) -> list[dict[str, Any]]:
    """The lines with a change in one of them."""
    which = choose.randrange(1, len(lines))
    line = dict(lines[which])
    if "event" in line and (not line["observed"] or choose.random() < 0.5):
        label = choose.choice(interpreter.labels)
        line["event"] = {"action": label.action, "parameters": label.to_json()}
    else:
        path = choose.choice(sorted(line["observed"]))
        others = [x for p, x in all_parts(interpreter, choose.choice(initial_states(interpreter.model))) if p == path]
        line["observed"] = {**line["observed"], path: others[0]} if others else {}
        if not line["observed"] and "event" not in line:
            return lines
    return [*lines[:which], line, *lines[which + 1 :]]


def as_bytes(lines: list[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()
