"""The state graph of a model, or the part of the graph around a trace, computed by the interpreter.

A state graph as GraphML and as DOT.

GraphML: http://graphml.graphdrawing.org; DOT: https://graphviz.org/doc/info/lang.html.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import networkx as nx

from isrcheck.checker.results.result import Trace
from isrcheck.checker.results.state_text import differences, label_text, parts
from isrcheck.checker.results.text_layout import clean
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter


def graphml(graph: nx.MultiDiGraph) -> str:
    """The graph as GraphML, with all data about its states and steps."""
    safe = nx.MultiDiGraph(**_cleaned(graph.graph))
    safe.add_nodes_from((node, _cleaned(data)) for node, data in graph.nodes(data=True))
    safe.add_edges_from((a, b, key, _cleaned(data)) for a, b, key, data in graph.edges(keys=True, data=True))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(nx.generate_graphml(safe)) + "\n"


def _cleaned(data: dict[str, Any]) -> dict[str, Any]:
    return {key: clean(value) if isinstance(value, str) else value for key, value in data.items()}


def dot(graph: nx.MultiDiGraph) -> str:
    """The graph as DOT. Initial states have double frames, the trace is bold and blue, and violations are red."""
    lines = [f"digraph {quoted(graph.graph.get('name', 'states'))} {{", "  node [shape=box, fontname=monospace];"]
    for node, data in graph.nodes(data=True):
        lines.append(f"  {node} [{_attributes(_drawn_state(data))}];")
    for a, b, data in graph.edges(data=True):
        bold = {"style": "bold", "color": "blue"} if data["on_trace"] else {}
        lines.append(f"  {a} -> {b} [{_attributes({'label': data['label'], 'tooltip': data['actor'], **bold})}];")
    return "\n".join([*lines, "}"]) + "\n"


def _drawn_state(data: dict[str, Any]) -> dict[str, str]:
    suffix = f"\nfalse: {data['violated']}" if data["violated"] else ""
    found = {"label": data["label"] + suffix, "tooltip": data["state"]}
    if data["initial"]:
        found["peripheries"] = "2"
    if data["on_trace"]:
        found |= {"style": "bold", "color": "blue"}
    return found | ({"fontcolor": "red"} if data["violated"] else {})


def _attributes(data: dict[str, str]) -> str:
    return ", ".join(f"{key}={quoted(value)}" for key, value in data.items())


def quoted(text: str) -> str:
    r"""A text as a DOT string. Backslashes are doubled, because DOT reads them as escapes in labels.

    >>> print(quoted('say "a\\b"'))
    "say \"a\\b\""
    """
    lines = [line.replace("\\", "\\\\").replace('"', '\\"') for line in clean(text).splitlines()]
    return '"' + "\\n".join(lines) + '"'


LONGEST_LABEL = 12
"""The limit on the values in a node's label. The label shows the values that differ from those of the first state."""


class TooLarge(Exception):
    """The graph has more states than the limit allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are more than {limit:,} states")
        self.limit = limit


@dataclass
class _NumberedStates:
    """The states found so far, each with its number in the order of finding (`numbers`).

    The search begins in the initial states, or in the states of a trace. `near` has the least number of steps from one
    of these states to each state.
    """

    limit: int
    numbers: dict[State, int] = field(default_factory=dict)
    near: dict[State, int] = field(default_factory=dict)

    def add(self, state: State, distance: int) -> bool:
        if state in self.numbers:
            return False
        if len(self.numbers) >= self.limit:
            raise TooLarge(self.limit)
        self.numbers[state], self.near[state] = len(self.numbers), distance
        return True


def state_graph(interpreter: Interpreter, limit: int) -> nx.MultiDiGraph:
    """The graph of the reachable states within the constraints, and of the steps between them.

    Raises `TooLarge` if there are more than `limit` states, `EvaluationError` if a step or a constraint is undefined.
    """
    starts = sorted(filter(interpreter.counted, initial_states(interpreter.model)), key=interpreter.leaves)
    return _graph(interpreter, starts, None, limit, ())


def around(interpreter: Interpreter, trace: Trace, radius: int, limit: int) -> nx.MultiDiGraph:
    """The graph of a trace's states, and of the states at most `radius` steps after these, with all steps between them.

    Of the states outside the constraints, only the last state of the trace can be in the graph. Raises the same errors
    as `state_graph`.
    """
    path = [step.state for step in trace.steps]
    return _graph(interpreter, path, radius, limit, path)


def _graph(
    interpreter: Interpreter, starts: Iterable[State], radius: int | None, limit: int, path: Sequence[State]
) -> nx.MultiDiGraph:
    found, waiting, ends = _NumberedStates(limit), deque[State](), set(path)
    waiting.extend(state for state in starts if found.add(state, 0))
    steps: list[tuple[State, int, State]] = []
    while waiting:
        state = waiting.popleft()
        for instance, after in _steps(interpreter, state, ends):
            steps.append((state, instance, after))
            if (radius is None or found.near[state] < radius) and found.add(after, found.near[state] + 1):
                waiting.append(after)
    return _drawn(interpreter, found, [s for s in steps if s[2] in found.numbers], path)


def _steps(interpreter: Interpreter, state: State, ends: set[State]) -> Iterator[tuple[int, State]]:
    """The steps from a state to states within the constraints or in `ends`.

    A state outside the constraints has no steps.
    """
    if interpreter.counted(state):
        for instance, after in interpreter.steps(state):
            if isinstance(after, EvaluationError):
                raise after
            if after in ends or interpreter.counted(after):
                yield instance, after


def _drawn(
    interpreter: Interpreter, found: _NumberedStates, steps: list[tuple[State, int, State]], path: Sequence[State]
) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph(name=interpreter.model.name())
    variables, initial = tuple(interpreter.model.domains.items()), set(initial_states(interpreter.model))
    first = next(iter(found.numbers), None)
    for state, number in found.numbers.items():
        changed = [] if first is None else [f"{name} {new}" for name, _, new in differences(variables, first, state)]
        more = [f"and {len(changed) - LONGEST_LABEL} more"] if len(changed) > LONGEST_LABEL else []
        graph.add_node(
            f"s{number}",
            label="\n".join([str(number), *changed[:LONGEST_LABEL], *more]),
            state="\n".join(f"{name} = {value}" for name, value in parts(variables, state)),
            distance=found.near[state],
            initial=state in initial,
            on_trace=path.index(state) + 1 if state in path else 0,
            violated=", ".join(sorted(interpreter.violated(state))),
        )
    walked = set(pairwise(path))
    for before, instance, after in steps:
        graph.add_edge(
            f"s{found.numbers[before]}",
            f"s{found.numbers[after]}",
            key=str(instance),
            label=label_text(interpreter.labels[instance]),
            action=interpreter.labels[instance].action,
            actor=interpreter.actors[instance],
            on_trace=(before, after) in walked,
        )
    return graph
