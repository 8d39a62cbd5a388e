"""Compares two models: finds for each model a shortest behaviour that the other model does not have."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from isrcheck.checker.analysis.inclusion.endings import Endings, endings
from isrcheck.checker.analysis.inclusion.subset_construction import Answer, Bounds, Inclusion, Stop
from isrcheck.checker.analysis.inclusion.visible_graph import Graph, View
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.results.result import FORMAT, Exit
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import shown


@dataclass(frozen=True)
class Side:
    """A model at its settings, and its name in the comparison. `load_model_class` finds the model by the name `spec`.

    `own` names the settings that were given for this side only. A check of this side uses `fairness`, and looks for
    deadlocks if `deadlock` is true.
    """

    name: str
    loaded: LoadedModel
    model: Model
    spec: str = ""
    own: frozenset[str] = frozenset()
    fairness: Fairness = field(default_factory=Fairness)
    deadlock: bool = False


@dataclass(frozen=True)
class OneWay:
    """Whether one side (R) has every history of the other side (L). The module `inclusion` defines a history.

    R has the histories of all behaviours of L with at most `depth` states. If `depth` is None, R has the histories of
    all behaviours of L. `pairs` and `sets` count the pairs and sets that were examined (see `inclusion`). `stopped`
    says why the search ended without an answer.
    """

    verdict: Literal["none", "found", "incomplete"]
    depth: int | None
    pairs: int
    sets: int
    stopped: Stop | None = None
    endings: Endings | None = None

    def to_json(self) -> dict[str, Any]:
        data = {} if self.endings is None else self.endings.to_json()
        return {
            "verdict": self.verdict,
            "equal_depth": self.depth,
            "pairs": self.pairs,
            "sets": self.sets,
            "stopped": self.stopped,
            **data,
        }


@dataclass(frozen=True)
class Comparison:
    """The differences between two sides: behaviours that only `b` has (`new`), behaviours that only `a` has (`gone`).

    `apart` are variables that both sides have, but with different kinds of values. Such variables are not compared.
    """

    a: Side
    b: Side
    visible: tuple[str, ...]
    hidden: tuple[str, ...]
    apart: tuple[str, ...]
    new: OneWay
    gone: OneWay
    seconds: float

    @property
    def exit_code(self) -> int:
        """The exit code: 152 if `new` or `gone` is incomplete, else 10 if `new` or `gone` is found, else 0."""
        verdicts = {self.new.verdict, self.gone.verdict}
        codes = {"incomplete": Exit.LIMIT, "found": Exit.DIFFERENCE}
        return next((code for verdict, code in codes.items() if verdict in verdicts), Exit.HOLDS)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "exit_code": self.exit_code,
            "behaviours": {
                "a": _side(self.a),
                "b": _side(self.b),
                "visible": list(self.visible),
                "not_compared": list(self.hidden),
                "new": self.new.to_json(),
                "gone": self.gone.to_json(),
            },
        }


class Histories:
    """Two sides to compare, and the variables or parts of variables (`replica.isr`) that are visible in both sides.

    A variable is shared if both sides have it with the same kind of values. `visible` names the visible variables or
    parts. If `visible` is empty, all shared variables are visible. Raises `UnknownName`, before any search, for a name
    in `visible` that is not shared, and also if the sides share no variable.
    """

    def __init__(self, a: Side, b: Side, visible: Iterable[str] = ()) -> None:
        self._sides = [replace(side, name=name) for side, name in zip((a, b), _distinct_names(a, b), strict=True)]
        with self._blaming():
            self._systems = [trace(side.model, {}) for side in self._sides]
            self._view = View(self._systems[0], self._systems[1], visible)

    def compare(self, bounds: Bounds = Bounds()) -> Comparison:
        """Finds for each side a shortest behaviour whose history the other side does not have, if there is one.

        The bounds limit each of the two searches. Raises `EvaluationError` if a model is undefined in a visited state.
        """
        began = time.monotonic()
        a, b = self._sides
        view = self._view
        with self._blaming():
            graphs = [
                Graph(system, Interpreter(side.model, {}), view, i)
                for i, (system, side) in enumerate(zip(self._systems, self._sides, strict=True))
            ]
            new = _one_way(graphs[1], graphs[0], bounds)
            gone = _one_way(graphs[0], graphs[1], bounds)
        return Comparison(a, b, view.names, view.hidden, view.apart, new, gone, time.monotonic() - began)

    @contextmanager
    def _blaming(self) -> Iterator[None]:
        with blaming(self._sides[0].loaded.source_file), blaming(self._sides[1].loaded.source_file):
            yield


def compare(a: Side, b: Side, visible: Iterable[str] = (), bounds: Bounds = Bounds()) -> Comparison:
    """The differences between two sides, as `Histories.compare` finds them."""
    return Histories(a, b, visible).compare(bounds)


def _one_way(left: Graph, right: Graph, bounds: Bounds) -> OneWay:
    answer: Answer = Inclusion(left, right, bounds).search()
    if answer.found is not None:
        both_endings = endings(left, right, answer.found)
        return OneWay("found", answer.depth, answer.pairs, answer.sets, None, both_endings)
    if answer.stopped is not None:
        return OneWay("incomplete", answer.depth, answer.pairs, answer.sets, answer.stopped)
    return OneWay("none", None, answer.pairs, answer.sets)


def changed_settings(a: Side, b: Side) -> list[tuple[str, str | None, str | None]]:
    """The settings that differ between two sides: name, value in `a`, value in `b` (None if the setting is absent)."""
    here, there = ({n: shown(x) for n, x in side.model.settings.items()} for side in (a, b))
    names = dict.fromkeys([*here, *there])
    return [(n, here.get(n), there.get(n)) for n in names if here.get(n) != there.get(n)]


def _distinct_names(a: Side, b: Side) -> tuple[str, str]:
    """Different names for two sides. These are the sides' own names, if the own names differ.

    If the own names are equal, each name also has the side's values of the common settings that differ. If no common
    setting differs, the names end in "(first)" and "(second)".
    """
    if a.name != b.name:
        return a.name, b.name
    changed = [(n, x, y) for n, x, y in changed_settings(a, b) if x is not None and y is not None]
    if not changed:
        return f"{a.name} (first)", f"{b.name} (second)"
    values = [", ".join(f"{n}={pair[i]}" for n, *pair in changed) for i in (0, 1)]
    return f"{a.name} with {values[0]}", f"{b.name} with {values[1]}"


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "model": side.loaded.name, "settings": dict(side.model.settings)}
