"""z3 proves each rule of the expression simplifier for all values of its operands, and no rule is left out.

A row of `RULES` has an operator and operands to which a rule of its constructor applies. Whenever the leaves are in
their intervals, the constructed expression must equal the operator's meaning (`SEMANTICS`, as terms) and be in its own
interval.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import z3

from isrcheck.checker.engines.symbolic.z3_terms import INTEGERS, Terms
from isrcheck.model.language.errors import ModelError
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics import operators as nodes
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression, Leaf
from isrcheck.model.semantics.operators import OPERATORS, Kind, flag_node, interned

HUGE = 1 << 20
KINDS: list[tuple[str, Kind, int, int]] = [
    ("p", "flag", 0, 1), ("q", "flag", 0, 1), ("r", "flag", 0, 1),
    ("x", "number", -4, 5), ("y", "number", 0, 6), ("z", "number", 2, 9), ("far", "number", 20, 30),
    ("role", "enum", 0, 3), ("late", "enum", 5, 6), ("a", "broker", 0, 3), ("b", "broker", -1, 3),
    ("s", "set", 0, 15), ("t", "set", 0, 15), ("u", "set", 0, 3),
]  # fmt: skip
LEAVES = [Leaf(i, *kind) for i, kind in enumerate(KINDS)]
P, Q, R, X, Y, Z, FAR, ROLE, LATE, A, B, S, T, U = map(e.leaf, LEAVES)


def n(value: int) -> Expression:
    return e.constant("number", value)


def members(mask: int) -> Expression:
    return e.constant("set", mask)


def broker(number: int) -> Expression:
    return e.constant("broker", number)


def at_most(x: Expression, c: int) -> Expression:
    return flag_node("le", x, n(c))


def over(x: Expression, c: int) -> Expression:
    return flag_node("not", at_most(x, c))


def raw(operator: str, *arguments: Expression) -> Expression:
    """The operator on these operands without simplification, with an interval that excludes no value."""
    of = OPERATORS[operator]
    kind = arguments[of.takes.index("any")].kind if of.gives == "any" else of.gives
    low, high = {"flag": (0, 1), "number": (-HUGE, HUGE), "set": (0, 15), "broker": (-1, 3)}.get(kind, (0, 15))
    return interned(operator, arguments, kind, low, high)


LE_XY = flag_node("le", X, Y)
LE_ZY = flag_node("le", Z, Y)
JUNCTIONS: dict[str, list[Expression]] = {
    "nothing": [],
    "one": [P],
    "neutral and dominant elements": [P, TRUE, FALSE],
    "neutral element": [P, TRUE, Q],
    "dual neutral element": [P, FALSE, Q],
    "repetition": [P, Q, P],
    "contradiction": [P, Q, e.not_(P)],
    "flat and": [flag_node("and", P, Q), R],
    "flat or": [flag_node("or", P, Q), R],
    "absorbed in and": [P, flag_node("or", P, Q)],
    "absorbed in or": [P, flag_node("and", P, Q)],
    "decided in and": [P, flag_node("or", e.not_(P), Q, R)],
    "decided in or": [P, flag_node("and", e.not_(P), Q, R)],
    "decided to nothing in and": [P, Q, flag_node("or", e.not_(P), e.not_(Q))],
    "decided to nothing in or": [P, Q, flag_node("and", e.not_(P), e.not_(Q))],
    "looser upper bound": [at_most(X, 1), at_most(X, 3), P],
    "looser lower bound": [over(X, 1), over(X, 3), P],
    "bounds that exclude each other": [at_most(X, 1), over(X, 1), P],
    "bounds that leave nothing": [at_most(X, 1), over(X, 3)],
    "bounds that leave everything": [at_most(X, 3), over(X, 1)],
    "equal and bounded": [flag_node("eq", X, n(1)), at_most(X, 3)],
    "not equal and bounded": [flag_node("not", flag_node("eq", X, n(1))), at_most(X, 3)],
    "equal to two": [flag_node("eq", X, n(1)), flag_node("eq", X, n(2))],
    "not equal to two": [flag_node("not", flag_node("eq", X, n(1))), flag_node("not", flag_node("eq", X, n(2)))],
    "compared and bounded": [LE_XY, over(Y, 1), at_most(X, 2)],
    "compared against a bound": [flag_node("le", Z, X), at_most(X, 1)],
    "not compared against a bound": [flag_node("not", LE_XY), at_most(X, 0)],
    "or compared against a bound": [flag_node("not", flag_node("le", Z, X)), over(X, 1)],
    "or not compared against a bound": [LE_XY, over(X, 0)],
    "greater, and just not too small": [e.not_(LE_XY), at_most(X, 1)],
    "greater, and just not too great": [e.not_(LE_XY), over(Y, 3)],
    "or not greater, just not everything": [LE_XY, over(X, 1)],
    "or not greater, just not everything else": [LE_XY, at_most(Y, 3)],
    "less, and just not too great": [LE_ZY, over(Z, 5)],
    "less, and just not too small": [LE_ZY, at_most(Y, 2)],
    "or not less, just not everything": [e.not_(LE_ZY), at_most(Z, 5)],
    "or not less, just not everything else": [e.not_(LE_ZY), over(Y, 2)],
    "equal to what is excluded": [flag_node("eq", X, n(1)), over(X, 1)],
    "equal to the least": [flag_node("eq", X, n(2)), over(X, 1)],
    "greater than the least": [e.not_(LE_XY), at_most(Y, 0)],
    "not greater, or at most so much": [LE_ZY, at_most(Z, 6)],
    "equal to more than the bound": [flag_node("eq", X, n(2)), at_most(X, 1)],
    "the same bound twice": [flag_node("eq", X, n(-4)), at_most(X, -4)],
    "no bound of a set": [flag_node("eq", S, members(3)), flag_node("eq", ROLE, e.constant("enum", 1))],
}
RULES: dict[str, tuple[str, tuple[Expression, ...]]] = {
    **{f"and: {name}": ("and", tuple(given)) for name, given in JUNCTIONS.items()},
    **{f"or: {name}": ("or", tuple(given)) for name, given in JUNCTIONS.items()},
    "not: true": ("not", (TRUE,)),
    "not: false": ("not", (FALSE,)),
    "not: twice": ("not", (flag_node("not", P),)),
    "not: and": ("not", (flag_node("and", P, Q),)),
    "not: or": ("not", (flag_node("or", P, flag_node("and", Q, R)),)),
    "not: other": ("not", (LE_XY,)),
    "eq: same": ("eq", (X, X)),
    "eq: apart below": ("eq", (X, FAR)),
    "eq: apart above": ("eq", (FAR, X)),
    "eq: constant first": ("eq", (n(2), Y)),
    "eq: flag and true": ("eq", (P, TRUE)),
    "eq: flag and false": ("eq", (FALSE, P)),
    "eq: flags": ("eq", (P, Q)),
    "eq: choice of constants, the first": ("eq", (e.if_(P, n(1), n(2)), n(1))),
    "eq: choice of constants, the second": ("eq", (e.if_(P, n(1), n(2)), n(2))),
    "eq: choice of constants, neither": ("eq", (e.if_(P, n(1), n(3)), n(2))),
    "eq: sum and constant": ("eq", (e.add(X, n(3)), n(4))),
    "eq: least number": ("eq", (X, n(-4))),
    "eq: greatest number": ("eq", (X, n(5))),
    "eq: numbers": ("eq", (X, Y)),
    "eq: brokers": ("eq", (A, B)),
    "le: same": ("le", (X, X)),
    "le: always": ("le", (X, FAR)),
    "le: never": ("le", (FAR, X)),
    "le: constant first": ("le", (n(1), X)),
    "le: sum and constant": ("le", (e.add(X, n(3)), n(4))),
    "le: numbers": ("le", (X, Y)),
    "add: constants": ("add", (n(2), n(3))),
    "add: constant first": ("add", (n(2), X)),
    "add: zero": ("add", (X, n(0))),
    "add: sum and constant": ("add", (e.add(X, n(2)), n(3))),
    "add: numbers": ("add", (X, Y)),
    "subtract: constant": ("subtract", (X, n(3))),
    "subtract: same": ("subtract", (X, X)),
    "subtract: numbers": ("subtract", (X, Y)),
    "multiply: constants": ("multiply", (n(2), n(3))),
    "multiply: zero": ("multiply", (n(0), X)),
    "multiply: one": ("multiply", (X, n(1))),
    "multiply: numbers": ("multiply", (X, Y)),
    "multiply: constant": ("multiply", (n(-2), X)),
    "if: true": ("if", (TRUE, X, Y)),
    "if: false": ("if", (FALSE, X, Y)),
    "if: same": ("if", (P, X, X)),
    "if: not": ("if", (e.not_(P), X, Y)),
    "if: flags": ("if", (P, Q, R)),
    "if: the lesser": ("if", (LE_XY, X, Y)),
    "if: the greater": ("if", (LE_XY, Y, X)),
    "if: numbers": ("if", (P, X, Y)),
    "if: sets": ("if", (P, S, U)),
    "has: none": ("has", (S, broker(-1))),
    "has: more than there are": ("has", (U, broker(3))),
    "has: constants, in": ("has", (members(5), broker(2))),
    "has: constants, out": ("has", (members(5), broker(1))),
    "has: empty": ("has", (members(0), B)),
    "has: constant": ("has", (S, broker(2))),
    "has: broker": ("has", (S, B)),
    "only: constant": ("only", (broker(2),)),
    "only: none": ("only", (broker(-1),)),
    "only: broker": ("only", (B,)),
    "union: constants": ("union", (members(5), members(3))),
    "union: empty": ("union", (members(0), S)),
    "union: same": ("union", (S, S)),
    "union: sets": ("union", (S, U)),
    "intersection: constants": ("intersection", (members(5), members(3))),
    "intersection: empty": ("intersection", (members(0), S)),
    "intersection: everything": ("intersection", (U, members(7))),
    "intersection: constant": ("intersection", (S, members(5))),
    "intersection: same": ("intersection", (S, S)),
    "intersection: sets": ("intersection", (S, U)),
    "difference: constants": ("difference", (members(5), members(3))),
    "difference: nothing": ("difference", (S, members(0))),
    "difference: same": ("difference", (S, S)),
    "difference: from nothing": ("difference", (members(0), S)),
    "difference: sets": ("difference", (U, S)),
    "subset: same": ("subset", (S, S)),
    "subset: empty": ("subset", (members(0), S)),
    "subset: constants, in": ("subset", (members(1), members(3))),
    "subset: constants, out": ("subset", (members(4), members(3))),
    "subset: sets": ("subset", (S, U)),
    "size: constant": ("size", (members(5),)),
    "size: set": ("size", (S,)),
}
CONSTRUCTORS: dict[str, Callable[..., Expression]] = {
    **{name: of.build for name, of in OPERATORS.items()},
    "only": lambda of: e.only(of, 4),
}
SAMPLES: dict[str, list[Expression]] = {
    "flag": [P, Q, e.not_(P), FALSE, TRUE],
    "number": [X, Y, FAR, e.add(X, n(2)), n(-2), n(0), n(1), n(3)],
    "broker": [A, B, broker(-1), broker(1)],
    "set": [S, U, members(0), members(5), members(15)],
}


def general_rules() -> Iterator[tuple[str, tuple[str, tuple[Expression, ...]]]]:
    """Rules for each operator that `RULES` leaves out: all sample arguments that the operator is defined for."""
    for name, of in OPERATORS.items():
        given = itertools.product(*(SAMPLES.get(kind, SAMPLES["number"]) for kind in of.takes))
        for arguments in () if name in {operator for operator, _ in RULES.values()} else given:
            with suppress(ModelError):
                of.build(*arguments)
                yield f"{name}: {', '.join(map(repr, arguments))}", (name, arguments)


RULES |= dict(general_rules())
HELPERS = (nodes._junction, nodes._flattened, nodes._absorbed, nodes._bounds, nodes._tightest)


def proved(claim: Callable[[Terms, list[Any]], Any]) -> bool:
    """True if a claim about the leaves holds for all their values."""
    terms = Terms(INTEGERS)
    state, solver = terms.state(LEAVES, "s"), z3.Solver()
    solver.add(terms.inside(LEAVES, state))
    solver.add(z3.Not(claim(terms, list(state))))
    return bool(solver.check() == z3.unsat)


def assert_rule(operator: str, arguments: tuple[Expression, ...]) -> None:
    built = CONSTRUCTORS[operator](*arguments)
    meant = raw(operator, *arguments)

    def claim(terms: Terms, state: list[Any]) -> Any:
        x, y = terms.fold([built, meant], state)
        if built.kind == "number":
            return z3.And(x == y, built.low <= x, x <= built.high)
        within = meant.low, meant.high
        if built.kind in ("set", "broker"):
            # In one width, so that what is compared is the number and not a part of it.
            x, y = (terms._fitted(term, node, node.kind, within) for term, node in ((x, built), (y, meant)))
            return z3.And(x == y, z3.ULE(x, terms.constant(built.kind, min(built.high, meant.high), within)))
        return x == y

    assert proved(claim), f"{built!r} is not {meant!r}"


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str) -> None:
    assert_rule(*RULES[rule])


def statements(function: Callable[..., Any]) -> set[tuple[str, int]]:
    """The file and the first line of each statement of a function, without its docstring and what it refuses."""
    lines, first = inspect.getsourcelines(function)
    body = [node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.stmt)]
    file = function.__code__.co_filename
    return {
        (file, first - 1 + node.lineno) for node in body if not isinstance(node, ast.FunctionDef | ast.Expr | ast.Raise)
    }


def test_every_statement_of_every_constructor_is_reached_by_some_rule() -> None:
    functions = [*(of.build for of in OPERATORS.values()), *HELPERS]
    wanted = {line for function in functions for line in statements(inspect.unwrap(function))}
    taken: set[tuple[str, int]] = set()

    def look(frame: Any, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in (e.__file__, nodes.__file__):
            return None
        if event == "line":
            taken.add((frame.f_code.co_filename, frame.f_lineno))
        return look

    # Negations are kept with their expressions, and junctions are; without them each rule starts afresh.
    nodes._junction.cache_clear()
    nodes._bounds.cache_clear()
    for _, arguments in RULES.values():
        for x in arguments:
            x.negation = None
    sys.settrace(look)
    try:
        for operator, arguments in RULES.values():
            CONSTRUCTORS[operator](*arguments)
    finally:
        sys.settrace(None)
    assert sorted(wanted - taken) == []


@pytest.mark.parametrize(
    ("operator", "given"),
    [
        ("union", "intersection"), ("le", "lt"), ("subtract", "add"), ("and", "or"), ("subset", "eq"),
        ("difference", "union"),
    ],
)  # fmt: skip
def test_a_wrong_rule_is_not_proved(operator: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONSTRUCTORS, operator, getattr(e, given if given != "or" else "or_"))
    failed = 0
    for rule, arguments in RULES.values():
        if rule == operator:
            try:
                assert_rule(rule, arguments)
            except AssertionError:
                failed += 1
    assert failed


def test_an_interval_that_is_too_small_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONSTRUCTORS, "add", lambda a, b: interned("add", (a, b), "number", -4, 10))
    with pytest.raises(AssertionError):
        assert_rule("add", (X, Y))
