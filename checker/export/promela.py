"""Writes a model in Promela, for Spin: one process with a `d_step` for each transition.

Spin stores one state more than isrcheck: the one in which Spin has not chosen an initial state yet. The intermediate
values of a transition are in hidden variables, which are not part of the state. With -DJUDGE the text asserts that each
new state satisfies the invariants and that each step is defined. Without -DJUDGE the text asserts nothing. The text
must be translated with `spin -o1 -o2 -o3`. Without these options Spin hides variables that nothing reads, and so counts
different states as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from isrcheck.checker.export.identifiers import (
    applied,
    by_action,
    heading,
    identifiers,
    initial_states,
    inlined,
    meaning,
    spelled,
)
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression, Leaf, and_, not_
from isrcheck.model.semantics.operators import OPERATORS, complete
from isrcheck.model.semantics.transition_system import Predicate, Transition, TransitionSystem

KEYWORDS: Final = """
active assert atomic bit bool break byte chan d_step do else empty enabled eval false fi for full goto hidden if
in init inline int len local ltl model mtype nempty never nfull notrace np_ od of pc_value pid print printf printm
priority proctype provided return run select short show skip string timeout trace true typedef unless unsigned
xr xs auto case char const continue default double enum extern float long register signed sizeof static struct
switch union void volatile while judge now
"""
RESERVED: Final = frozenset(KEYWORDS.split())


def promela(system: TransitionSystem) -> str:
    """The text of a model. Raises `UnknownName` if a guard is too large for Promela."""
    return _Promela(system).text()


class _Promela:
    def __init__(self, system: TransitionSystem) -> None:
        self.system = system
        self.names = identifiers((leaf.path for leaf in system.leaves), RESERVED)
        self.inside = and_(*(c.holds for c in system.constraints))
        self.scratch: dict[str, None] = {}

    def text(self) -> str:
        assertions = self._assertions()
        body = [line for action, group in by_action(self.system).items() for line in self._action(action, group)]
        inside, outside = initial_states(self.system)
        starts = [line for leaves in inside for line in self._start(leaves)]
        # Spin also checks the initial states outside the constraints, but goes on with another initial state.
        starts += [line for leaves in outside for line in self._start(leaves, inside[0])]
        lines = [
            "/*",
            *(f" * {line}" for line in heading(self.system)),
            " * Translate with spin -o1 -o2 -o3 -a; otherwise Spin hides variables that nothing reads.",
            " * Spin stores one state more than isrcheck: the state before an initial state is chosen.",
            " */",
            *(self._declared(leaf) for leaf in self.system.leaves),
            "",
            *(f"hidden int {name};" for name in self.scratch),
            "",
            *assertions,
            "",
            "active proctype model() {",
            "  if",
            *starts,
            "  fi;",
            "  do",
            *body,
            "  od",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _declared(self, leaf: Leaf) -> str:
        note = f"/* {leaf.path}: {meaning(leaf)} */"
        return f"{_type(leaf)} {self.names[leaf.index]}; {note}"

    def _start(self, leaves: Sequence[int], instead: Sequence[int] = ()) -> list[str]:
        return ["  :: d_step {", *self._set(leaves), "       judge();", *self._set(instead), "     }"]

    def _set(self, leaves: Sequence[int]) -> list[str]:
        return [f"       {name} = {value};" for name, value in zip(self.names, leaves, strict=bool(leaves))]

    def _action(self, action: str, group: list[Transition]) -> list[str]:
        return [f"  /* {action} */", *(line for t in group for line in self._transition(t))]

    def _transition(self, t: Transition) -> list[str]:
        if t.guard is FALSE:
            return []
        guard = inlined(t.guard, self._spell)
        if guard is None:
            raise UnknownName(f"the guard of {t.label} is too large for Promela; use smaller settings, or murphi")
        changed = list(t.updates)
        found = spelled(list(t.updates.values()), self._spell, lambda _, name: self._keep(name))
        new = [self._keep(f"next_{self.names[i]}") for i in changed]
        return [
            f"  :: d_step {{ /* {t.label} */",
            f"       {guard} ->",
            *self._meaningful(t.failure),
            *(f"       {name} = {text};" for name, _, text in found.named),
            *(f"       {name} = {text};" for name, text in zip(new, found.roots, strict=True)),
            *(f"       {self._keep(f'old_{self.names[i]}')} = {self.names[i]};" for i in changed if self._bounded),
            *(f"       {self.names[i]} = {name};" for i, name in zip(changed, new, strict=True)),
            "       judge();",
            *(self._stay(changed) if self._bounded else []),
            "     }",
        ]

    @property
    def _bounded(self) -> bool:
        """Whether the model has constraints. If so, a step to a state outside them is first checked and then undone."""
        return self.inside is not TRUE

    def _stay(self, changed: Sequence[int]) -> list[str]:
        found = spelled([self.inside], self._spell, lambda _, name: self._keep(name))
        back = " ".join(f"{self.names[i]} = old_{self.names[i]};" for i in changed)
        return [
            *(f"       {name} = {text};" for name, _, text in found.named),
            "       if",
            f"       :: {found.roots[0]} -> skip",
            f"       :: else -> {back}",
            "       fi;",
        ]

    def _meaningful(self, failure: Expression) -> list[str]:
        if failure is FALSE:
            return []
        return ["#ifdef JUDGE", *self._asserted(failure), "#endif"]

    def _asserted(self, failure: Expression) -> list[str]:
        found = spelled([not_(failure)], self._spell, lambda _, name: self._keep(name))
        steps = [f"       {name} = {text};" for name, _, text in found.named]
        return [*steps, f"       assert({found.roots[0]});"]

    def _assertions(self) -> list[str]:
        """The lines of a Promela macro (`inline`) that asserts that each invariant is defined and true."""
        lines = []
        for predicate in self.system.invariants:
            lines += [f"       /* {predicate.name}: {predicate.sentence.replace('*/', '')} */"]
            lines += self._asserted(_broken(predicate))
        return [
            "#ifdef JUDGE",
            "inline judge() {",
            *lines,
            "       skip",
            "}",
            "#else",
            "#define judge() skip",
            "#endif",
        ]

    def _keep(self, name: str) -> str:
        """Declares a hidden variable and returns its name."""
        self.scratch[name] = None
        return name

    def _spell(self, node: Expression, arguments: list[str]) -> str:
        if isinstance(node.value, Leaf):
            return self.names[node.value.index]
        if isinstance(node.value, int):
            return str(node.value)
        return _FORMS[node.operator](node, arguments)


def _broken(predicate: Predicate) -> Expression:
    """The condition that an invariant is false or undefined."""
    return not_(and_(predicate.holds, not_(predicate.failure)))


def _has(node: Expression, arguments: list[str]) -> str:
    members, broker = arguments
    return _unless_none(node.arguments[1], broker, f"(({members} >> {broker}) & 1)")


def _only(node: Expression, arguments: list[str]) -> str:
    return _unless_none(node.arguments[0], arguments[0], f"(1 << {arguments[0]})")


def _unless_none(broker: Expression, name: str, text: str) -> str:
    return f"({name} < 0 -> 0 : {text})" if broker.low < 0 else text


def _size(node: Expression, arguments: list[str]) -> str:
    count = node.arguments[0].high.bit_length()
    return "(" + " + ".join(f"(({arguments[0]} >> {i}) & 1)" for i in range(count)) + ")"


def _by_form(form: str) -> Callable[[Expression, list[str]], str]:
    return lambda node, arguments: applied(form, arguments)


_FORMS: Final = complete(
    "Promela (checker/export/promela.py)",
    {x.name: _by_form(x.promela) for x in OPERATORS.values() if x.promela is not None}
    | {"has": _has, "only": _only, "size": _size},
)


def _type(leaf: Leaf) -> str:
    if leaf.kind == "flag":
        return "bool"
    if leaf.low >= 0 and leaf.high <= 255:
        return "byte"
    return "short" if leaf.low >= -(1 << 15) and leaf.high < 1 << 15 else "int"
