"""Fairness of actions: assumptions that instances of actions do not stay enabled for ever without being taken.

An *obligation* is one fairness assumption about a group of instances. The group is enabled where one of its instances
is enabled. If the obligation is *weak* and the group stays enabled, one of its instances is eventually taken. If the
obligation is *strong* and the group is enabled infinitely often, one of its instances is eventually taken. An instance
that would change nothing counts as disabled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from isrcheck.model.language.decorators import Action, Fair
from isrcheck.model.language.errors import UnknownName, mistake_in, nearest
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.transition_system import Label, shown


@dataclass(frozen=True)
class Obligation:
    """A fairness assumption about a group of instances. `instances` has indices of `labels` (see `obligations`)."""

    name: str
    action: str
    strong: bool
    instances: tuple[int, ...]


@dataclass(frozen=True)
class Fairness:
    """The fairness of actions in one check of properties.

    `strong`, `weak` and `unfair` name the actions whose fairness this check changes. Any other action, unless it is a
    environment action, has the fairness that its `@action` states, or else `default`. An environment action has
    fairness only if `strong` or `weak` names it (for example, to assume that clients go on writing).
    """

    default: Literal["weak", "strong"] = "weak"
    strong: frozenset[str] = field(default=frozenset())
    weak: frozenset[str] = field(default=frozenset())
    unfair: frozenset[str] = field(default=frozenset())

    def of(self, name: str, spec: Action) -> Fair:
        if name in self.strong or name in self.weak:
            return "strong" if name in self.strong else "weak"
        if name in self.unfair or spec.environment:
            return "none"
        return spec.fair or self.default

    def to_json(self) -> dict[str, Any]:
        names = {name: sorted(getattr(self, name)) for name in ("strong", "weak", "unfair")}
        return {"default": self.default, **names}

    @classmethod
    def from_json(cls, data: Any) -> Fairness:
        """The fairness that `to_json` wrote; raises `ValueError` for other data."""
        if not isinstance(data, dict) or data.get("default") not in ("weak", "strong"):
            raise ValueError("fairness is {default, strong, weak, unfair}")
        names = {name: data.get(name, []) for name in ("strong", "weak", "unfair")}
        if not all(isinstance(x, list) and all(isinstance(y, str) for y in x) for x in names.values()):
            raise ValueError("fairness: strong, weak and unfair are lists of actions")
        return cls(data["default"], **{name: frozenset(x) for name, x in names.items()})

    def require_known(self, model: Model) -> None:
        """Raises `UnknownName` if a field names an unknown action, or if two fields name the same action."""
        for name in sorted(self.strong | self.weak | self.unfair):
            if name not in model.actions():
                raise UnknownName(f"model {model.name()} has no action {name!r}; {nearest(name, model.actions())}")
        for a, b in (("strong", "weak"), ("strong", "unfair"), ("weak", "unfair")):
            if both := sorted(getattr(self, a) & getattr(self, b)):
                raise UnknownName(f"action {both[0]} is listed as both {a} and {b}; choose one")

    def by_action(self, model: Model) -> dict[str, Fair]:
        """The fairness of each action of a model, by the action's name."""
        return {name: self.of(name, method.__action__) for name, method in model.actions().items()}  # type: ignore[attr-defined]


def obligations(model: Model, labels: Sequence[Label], fairness: Fairness) -> tuple[Obligation, ...]:
    """The fairness assumptions about instances with these labels, in the order of their first instances."""
    specs: dict[str, Action] = {name: m.__action__ for name, m in model.actions().items()}  # type: ignore[attr-defined]
    promised = {name: fairness.of(name, spec) for name, spec in specs.items()}
    _require_equal_fairness(model, specs, promised)
    found: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if promised[label.action] != "none":
            found.setdefault(_named(label, specs), []).append(i)
    return tuple(
        Obligation(name, labels[held[0]].action, promised[labels[held[0]].action] == "strong", tuple(held))
        for name, held in found.items()
    )


def _named(label: Label, specs: dict[str, Action]) -> str:
    """The name of the obligation that an instance belongs to; all instances of one obligation share the name."""
    spec = specs[label.action]
    if spec.handler is not None:
        alike = [set(s.parameters) for s in specs.values() if s.handler == spec.handler]
        return _text(spec.handler, label, set.intersection(*alike))
    return _text(label.action, label, spec.parameters if spec.together is None else spec.together)


def _text(head: str, label: Label, names: Iterable[str]) -> str:
    inner = [f"{n}={shown(x)}" for n, x in label.to_json().items() if n in set(names)]
    return f"{head}({', '.join(inner)})"


def _require_equal_fairness(model: Model, specs: dict[str, Action], promised: dict[str, Fair]) -> None:
    """Raises `ModelError` if two actions of one handler have different fairness."""
    for name, spec in specs.items():
        for other, its in specs.items():
            if spec.handler is not None and spec.handler == its.handler and promised[name] != promised[other]:
                method = model.actions()[name]
                what = f"action {name} is {promised[name]}, but {other} of the same handler is {promised[other]}"
                raise mistake_in(method, what, "give both the same fairness")
