"""Writes a model in Murphi, for Rumur and CMurphi: a rule for each transition, a function for each invariant.

A set of brokers is one Boolean for each broker, because Murphi has no such sets. For example, `isr_0` and `isr_1` say
whether the ISR has brokers 0 and 1. An expression over sets is translated in the same way. A rule keeps intermediate
values in its local variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from isrcheck.checker.export.identifiers import (
    Spelled,
    applied,
    as_numbers,
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
alias array assert assume begin boolean by case clear const cover do else elsif end endalias endexists endfor
endforall endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch endwhile enum error
exists false flatten for forall function if in interleaved invariant isundefined liveness multiset of otherwise
procedure process program property put record return rule ruleset scalarset startstate switch then to traceuntil
true type undefine union var while
"""
RESERVED: Final = frozenset(KEYWORDS.split())
Parts = tuple[str, ...]
"""The texts of an expression: for a set, a Boolean for each broker; otherwise one text."""


def murphi(system: TransitionSystem, with_checks: bool = True) -> str:
    """The text of a model. With `with_checks` the text also has the invariants, and checks that each step is defined.

    Raises `UnknownName` if a guard is too large for Murphi.
    """
    return _Murphi(system, with_checks).text()


class _Murphi:
    def __init__(self, system: TransitionSystem, with_checks: bool) -> None:
        self.system, self.with_checks = system, with_checks
        self.names = identifiers((leaf.path for leaf in system.leaves), RESERVED)
        self.inside = and_(*(c.holds for c in system.constraints))
        kinds = [leaf.high.bit_length() for leaf in system.leaves if leaf.kind == "set"]
        self.brokers = max(kinds, default=0)

    def text(self) -> str:
        inside, outside = initial_states(self.system)
        starts = [line for i, x in enumerate(inside) for line in self._start(i, self._set(x))]
        # Initial states outside the constraints are also checked, but the search goes on with another initial state.
        for i, x in enumerate(outside, len(inside)) if self.with_checks else ():
            starts += self._start(i, [*self._set(x), *self._asserted(), *self._set(inside[0])])
        rules = [line for name, group in by_action(self.system).items() for line in self._action(name, group)]
        asked = self.system.invariants if self.with_checks else ()
        invariants = [line for p in asked for line in self._invariant(p)]
        declared = [f"  {x}" for leaf in self.system.leaves for x in self._declared(leaf)]
        head = [f"-- {line}" for line in heading(self.system)]
        return "\n".join([*head, "", "var", *declared, "", *invariants, *starts, *rules]) + "\n"

    # --- declarations -----------------------------------------------------------------------------------------------

    def _declared(self, leaf: Leaf) -> list[str]:
        note = f"-- {leaf.path}: {meaning(leaf)}"
        first, *rest = (f"{name}: {_type(leaf.kind, leaf.low, leaf.high)};" for name in self._leaf(leaf))
        return [f"{first} {note}", *rest]

    def _leaf(self, leaf: Leaf) -> Parts:
        name = self.names[leaf.index]
        return self._members(name) if leaf.kind == "set" else (name,)

    def _members(self, name: str) -> Parts:
        return tuple(f"{name}_{i}" for i in range(self.brokers))

    def _start(self, number: int, lines: Sequence[str]) -> list[str]:
        return [f'startstate "{number}"', "begin", *lines, "end;", ""]

    def _set(self, leaves: Sequence[int]) -> list[str]:
        lines = []
        for leaf, value in zip(self.system.leaves, leaves, strict=True):
            lines += [f"  {n} := {v};" for n, v in zip(self._leaf(leaf), self._constant(leaf.kind, value), strict=True)]
        return lines

    # --- rules ------------------------------------------------------------------------------------------------------

    def _action(self, action: str, group: list[Transition]) -> list[str]:
        return [f"-- {action}", *(line for t in group for line in self._rule(t))]

    def _rule(self, t: Transition) -> list[str]:
        if t.guard is FALSE:
            return []
        guard = inlined(t.guard, self._spell)
        if guard is None:
            raise UnknownName(f"the guard of {t.label} is too large for Murphi; use smaller settings")
        leaves = [self.system.leaves[i] for i in t.updates]
        found = spelled(list(t.updates.values()), self._spell, self._refer)
        declared, steps = self._named(found)
        for leaf, parts in zip(leaves, found.roots, strict=True):
            kind = _type(leaf.kind, leaf.low, leaf.high)
            for name, part in zip(self._leaf(leaf), parts, strict=True):
                declared.append(f"  next_{name}: {kind};")
                steps.append(f"  next_{name} := {_as(part, leaf, t.updates[leaf.index])};")
        changed = [(name, _type(x.kind, x.low, x.high)) for x in leaves for name in self._leaf(x)]
        checks = self._meaningful(t.failure) if self.with_checks else ([], [])
        kept = self._stay(changed) if self.inside is not TRUE else ([], [])
        beyond = self._asserted() if self.with_checks and kept[1] else []
        return [
            f'rule "{t.label}"',
            f"  {guard[0]}",
            "==>",
            "var",
            *dict.fromkeys([*checks[0], *declared, *kept[0]]),
            "begin",
            *checks[1],
            *steps,
            *(f"  old_{name} := {name};" for name, _ in changed if kept[1]),
            *(f"  {name} := next_{name};" for name, _ in changed),
            *beyond,
            *kept[1],
            "end;",
            "",
        ]

    def _named(self, found: Spelled[Parts]) -> tuple[list[str], list[str]]:
        declared, steps = [], []
        for name, node, parts in found.named:
            for own, part in zip(self._refer(node, name), parts, strict=True):
                declared.append(f"  {own}: {_type(node.kind, node.low, node.high)};")
                steps.append(f"  {own} := {part};")
        return declared, steps

    def _meaningful(self, failure: Expression) -> tuple[list[str], list[str]]:
        if failure is FALSE:
            return [], []
        found = spelled([failure], self._spell, self._refer, "f")
        declared, steps = self._named(found)
        return declared, [*steps, f'  assert !{found.roots[0][0]} "the step is undefined";']

    def _stay(self, changed: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
        """The variables and the lines with which a rule undoes its step if the new state is outside the constraints."""
        found = spelled([self.inside], self._spell, self._refer, "c")
        declared, steps = self._named(found)
        declared += [f"  old_{name}: {kind};" for name, kind in changed]
        back = [f"    {name} := old_{name};" for name, _ in changed]
        return declared, [*steps, f"  if !{found.roots[0][0]} then", *back, "  end;"]

    def _invariant(self, predicate: Predicate) -> list[str]:
        found = spelled([and_(predicate.holds, not_(predicate.failure))], self._spell, self._refer)
        declared, steps = self._named(found)
        return [
            f"-- {predicate.sentence}",
            f"function {self._function(predicate)}(): boolean;",
            *(["var", *declared] if declared else []),
            "begin",
            *steps,
            f"  return {found.roots[0][0]};",
            "end;",
            f'invariant "{predicate.name}" {self._function(predicate)}();',
            "",
        ]

    def _function(self, predicate: Predicate) -> str:
        return identifiers([predicate.name], frozenset({*self.names, *RESERVED}))[0]

    def _asserted(self) -> list[str]:
        """Lines that assert the invariants in the new state, before `_stay` undoes a step beyond the constraints."""
        return [f'  assert {self._function(p)}() "{p.name}";' for p in self.system.invariants]

    # --- expressions ------------------------------------------------------------------------------------------------

    def _refer(self, node: Expression, name: str) -> Parts:
        return self._members(name) if node.kind == "set" else (name,)

    def _constant(self, kind: str, value: int) -> Parts:
        if kind == "set":
            return tuple("true" if value >> i & 1 else "false" for i in range(self.brokers))
        return ("true" if value else "false",) if kind == "flag" else (str(value),)

    def _spell(self, node: Expression, arguments: list[Parts]) -> Parts:
        if isinstance(node.value, Leaf):
            return self._leaf(node.value)
        if isinstance(node.value, int):
            return self._constant(node.kind, node.value)
        return _FORMS[node.operator](self, node, arguments)

    def _only(self, node: Expression, arguments: list[Parts]) -> Parts:
        ((broker,),) = arguments
        return tuple(f"({broker} = {i})" for i in range(self.brokers))

    def _has(self, node: Expression, arguments: list[Parts]) -> Parts:
        (members, (broker,)), of = arguments, node.arguments[1]
        if of.low == of.high:
            return (members[of.low],)
        return (_any([f"(({broker} = {i}) & {m})" for i, m in enumerate(members)]),)

    def _size(self, node: Expression, arguments: list[Parts]) -> Parts:
        (members,) = arguments
        return ("(" + " + ".join(map(_number, members)) + ")",)


def _by_form(form: str) -> Callable[[_Murphi, Expression, list[Parts]], Parts]:
    """The form with the arguments; for sets, the form for each member with the members of the arguments."""

    def parts(of: _Murphi, node: Expression, arguments: list[Parts]) -> Parts:
        if not any(x.kind == "set" for x in node.arguments):
            return (applied(form, as_numbers(node, [text for (text,) in arguments], _number)),)
        given = [a if x.kind == "set" else a * of.brokers for a, x in zip(arguments, node.arguments, strict=True)]
        members = tuple(applied(form, each) for each in zip(*given, strict=True))
        return members if node.kind == "set" else (_all(members),)

    return parts


_FORMS: Final = complete(
    "Murphi (checker/export/murphi.py)",
    {x.name: _by_form(x.murphi) for x in OPERATORS.values() if x.murphi is not None}
    | {"has": _Murphi._has, "only": _Murphi._only, "size": _Murphi._size},
)


def _number(flag: str) -> str:
    return f"({flag} ? 1 : 0)"


def _as(part: str, leaf: Leaf, value: Expression) -> str:
    """The text of a value that is assigned to a leaf. The value of a flag becomes 0 or 1 if the leaf is a number."""
    return _number(part) if value.kind == "flag" and leaf.kind not in ("flag", "set") else part


def _any(flags: Sequence[str]) -> str:
    return "(" + " | ".join(flags) + ")"


def _all(flags: Sequence[str]) -> str:
    return "(" + " & ".join(flags) + ")"


def _type(kind: str, low: int, high: int) -> str:
    return "boolean" if kind in ("flag", "set") else f"{low}..{high}"
