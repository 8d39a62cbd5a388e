"""Writes a model in TLA+, for TLC: an operator for each transition and action, and the module's configuration.

A set of brokers is written as a TLA+ set, a flag as a Boolean, no broker as -1, and a named value as the value's
position in its domain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from isrcheck.checker.export.identifiers import (
    Spelled,
    applied,
    as_numbers,
    by_action,
    heading,
    identifiers,
    meaning,
    spelled,
)
from isrcheck.model.language.fairness import Obligation
from isrcheck.model.semantics.expressions import TRUE, Expression, Kind, Leaf, and_, not_
from isrcheck.model.semantics.operators import OPERATORS, complete
from isrcheck.model.semantics.transition_system import Predicate, Question, Transition, TransitionSystem, shown

CONFIGURATION: Final = r"SPECIFICATION Spec|INVARIANT Invariant_\w+|PROPERTY \w+|CONSTRAINT Inside|CHECK_DEADLOCK FALSE"
"""A line of a configuration file."""
RESERVED: Final = frozenset({"vars", "init", "next", "spec", "fair"})


def tla(system: TransitionSystem, obligations: Sequence[Obligation] = ()) -> str:
    """The text of the TLA+ module. It must be in a file that has the module's name (see `module_name`).

    `obligations` are the fairness assumptions of the properties. They refer to the system's transitions by position.
    If only a bound prevents a step, isrcheck counts the step as enabled in the fairness assumptions. TLC counts the
    step as disabled. So TLC may report a violation where isrcheck reports none.
    """
    return _Tla(system, obligations).text()


def module_name(system: TransitionSystem) -> str:
    return identifiers([system.model])[0]


def configuration(system: TransitionSystem) -> str:
    """The text of the module's configuration file, which says what TLC checks."""
    lines = ["SPECIFICATION Spec", *(f"INVARIANT {_operator(p)}" for p in system.invariants)]
    lines += [f"PROPERTY {name}" for name in _live(system)]
    lines += ["CONSTRAINT Inside"] if system.constraints else []
    return "\n".join([*lines, "CHECK_DEADLOCK FALSE"]) + "\n"


def is_configuration(text: str) -> bool:
    """Whether a text has only lines that `configuration` writes."""
    return all(re.fullmatch(CONFIGURATION, line) for line in text.splitlines())


def _operator(predicate: Predicate) -> str:
    """The name of an invariant in the module."""
    return "Invariant_" + identifiers([predicate.name])[0]


def _live(system: TransitionSystem) -> list[str]:
    """The names that the module gives to the system's questions about liveness."""
    return identifiers([f"Live_{q.name}_{i}" for i, q in enumerate(system.questions)])


class _Tla:
    def __init__(self, system: TransitionSystem, obligations: Sequence[Obligation]) -> None:
        self.system, self._obligations = system, obligations
        self.names = identifiers((leaf.path for leaf in system.leaves), RESERVED)
        self.size = max((leaf.high.bit_length() for leaf in system.leaves if leaf.kind == "set"), default=0)

    def text(self) -> str:
        name, notes = module_name(self.system), heading(self.system)
        every = ",\n  ".join(self.names)
        typed = [f"  /\\ {n} \\in {self._domain(x)}" for n, x in zip(self.names, self.system.leaves, strict=True)]
        inside, fair = and_(*(c.holds for c in self.system.constraints)), self._fair()
        lines = [
            f"---- MODULE {name} ----",
            *(f"\\* {line}" for line in notes),
            "EXTENDS Integers, FiniteSets",
            "",
            "VARIABLES",
            *(self._declared(leaf) for leaf in self.system.leaves),
            "",
            f"vars == <<\n  {every}>>",
            "",
            "TypeOK ==",
            *typed,
            "",
            "Init ==",
            *(line for leaves in self.system.initial for line in self._start(leaves)),
            "",
            *(line for action, group in by_action(self.system).items() for line in self._action(action, group)),
            "Next ==",
            *(f"  \\/ {self._action_name(action)}" for action in by_action(self.system)),
            "",
            *fair,
            "Spec == Init /\\ [][Next]_vars" + (" /\\ Fair" if fair else ""),
            "",
            *(self._predicate("Inside", inside) if inside is not TRUE else []),
            *(line for p in self.system.invariants for line in self._invariant(p)),
            *(
                line
                for name, q in zip(_live(self.system), self.system.questions, strict=True)
                for line in self._asked(name, q)
            ),
            "====",
        ]
        return "\n".join(lines) + "\n"

    def _declared(self, leaf: Leaf) -> str:
        comma = "" if leaf.index == len(self.names) - 1 else ","
        return f"  {self.names[leaf.index]}{comma} \\* {leaf.path}: {meaning(leaf)}"

    def _domain(self, leaf: Leaf) -> str:
        if leaf.kind == "flag":
            return "BOOLEAN"
        return f"SUBSET (0..{self.size - 1})" if leaf.kind == "set" else f"({leaf.low})..({leaf.high})"

    def _start(self, leaves: Sequence[int]) -> list[str]:
        values = [
            f"{name} = {self._constant(leaf.kind, value)}"
            for name, leaf, value in zip(self.names, self.system.leaves, leaves, strict=True)
        ]
        return [f"  \\/ /\\ {values[0]}", *(f"     /\\ {v}" for v in values[1:])]

    # --- actions ----------------------------------------------------------------------------------------------------

    def _action_name(self, action: str) -> str:
        return "Action_" + identifiers([action])[0]

    def _action(self, action: str, group: list[Transition]) -> list[str]:
        name = self._action_name(action)
        steps = [line for i, t in enumerate(group) for line in self._step(f"{name}_{i}", t)]
        return [*steps, f"{name} ==", *(f"  \\/ {name}_{i}" for i in range(len(group))), ""]

    def _step(self, name: str, t: Transition) -> list[str]:
        found = spelled([t.guard, *t.updates.values()], self._spell, lambda _, own: own)
        guard, *values = found.roots
        same = [self.names[leaf.index] for leaf in self.system.leaves if leaf.index not in t.updates]
        new = [
            f"{self.names[i]}' = {text if self.system.leaves[i].kind == 'flag' or e.kind != 'flag' else _number(text)}"
            for (i, e), text in zip(t.updates.items(), values, strict=True)
        ]
        frame = [f"UNCHANGED <<{', '.join(same)}>>"] if same else []
        body = [f"/\\ {part}" for part in (guard, *new, *frame)]
        return [f"\\* {t.label}", f"{name} ==", *self._within(found, body), ""]

    def _within(self, found: Spelled[str], body: list[str]) -> list[str]:
        lets = [f"{own} == {text}" for own, _, text in found.named]
        if not lets:
            return [f"  {line}" for line in body]
        return [
            f"  LET {lets[0]}",
            *(f"      {x}" for x in lets[1:]),
            f"  IN  {body[0]}",
            *(f"      {line}" for line in body[1:]),
        ]

    def _invariant(self, predicate: Predicate) -> list[str]:
        holds = and_(predicate.holds, not_(predicate.failure))
        return [f"\\* {predicate.sentence}", *self._predicate(_operator(predicate), holds)]

    # --- what must happen -------------------------------------------------------------------------------------------

    def _fair(self) -> list[str]:
        """The fairness assumption: a conjunct for each obligation that has at least one instance in the system."""
        groups = by_action(self.system)
        names = {t.label: f"{self._action_name(action)}_{i}" for action, of in groups.items() for i, t in enumerate(of)}
        lines = []
        for each in self._obligations:
            known = [i for i in each.instances if i < len(self.system.transitions)]
            taken = " \\/ ".join(names[self.system.transitions[i].label] for i in known)
            lines += [f"  /\\ {'SF' if each.strong else 'WF'}_vars({taken})"] if known else []
        return ["Fair ==", *lines, ""] if lines else []

    def _asked(self, name: str, question: Question) -> list[str]:
        """The lines of a property: its conditions, then the formula about these conditions."""
        chosen = ", ".join(f"{n} {shown(x)}" for n, x in question.choice)
        region, source, mark = f"{name}_region", f"{name}_source", f"{name}_mark"
        if question.stable:
            said, used = f"[]({region} => []{region})", {region: question.region}
        elif question.initially:
            said, used = f"<>~{region}", {region: question.region}
        elif question.mark is not TRUE:
            said, used = f"<>[]~{mark}", {mark: question.mark}
        else:
            said, used = f"{source} ~> ~{region}", {source: question.source, region: question.region}
        return [
            f"\\* {question.name}{f' for {chosen}' if chosen else ''}",
            *(line for own, holds in used.items() for line in self._predicate(own, holds)),
            f"{name} == {said}",
            "",
        ]

    def _predicate(self, name: str, holds: Expression) -> list[str]:
        found = spelled([holds], self._spell, lambda _, own: own)
        return [f"{name} ==", *self._within(found, [found.roots[0]]), ""]

    # --- expressions ------------------------------------------------------------------------------------------------

    def _constant(self, kind: Kind, value: int) -> str:
        if kind == "flag":
            return "TRUE" if value else "FALSE"
        if kind == "set":
            return "{" + ", ".join(str(i) for i in range(value.bit_length()) if value >> i & 1) + "}"
        return f"({value})" if value < 0 else str(value)

    def _spell(self, node: Expression, arguments: list[str]) -> str:
        if isinstance(node.value, Leaf):
            return self.names[node.value.index]
        if isinstance(node.value, int):
            return self._constant(node.kind, node.value)
        return applied(_FORMS[node.operator], as_numbers(node, arguments, _number))


def _number(flag: str) -> str:
    return f"(IF {flag} THEN 1 ELSE 0)"


_FORMS: Final = complete(
    "TLA+ (checker/export/tla.py)", {x.name: x.tla for x in OPERATORS.values() if x.tla is not None}
)
