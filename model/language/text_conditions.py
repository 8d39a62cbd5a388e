"""Computes the value of a textual condition in a traced or plain state; the text is never run as Python.

A text cannot reach the rest of Python. It can read no attribute whose name begins with an underscore. The attributes
that it can read are variables of the state, attributes of the model, and fields, properties and methods of values of
the state.

Conditions given as text: parsed by Python's grammar, computed step by step, never evaluated as Python.

A text may use the language's own words (`every`, `some`, `implies`, `when`), `and`, `or`, `not`, `in`, chained
comparisons, sums and sets. It may read what a model's methods may read: `s.isr`, a variable by its bare name, settings,
`brokers`, the model's own functions. `every b: ...` and `some p in partitions: ...` are quantifiers at the front. The
rest of Python is out of reach: a text reads only attributes of the state and of the model, and none whose name
begins with an underscore.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from isrcheck.model.language import quantifiers
from isrcheck.model.language.condition_grammar import (
    LONGEST,
    Bare,
    Binder,
    Condition,
    ConditionSyntaxError,
    error_at,
    whole,
)
from isrcheck.model.language.decorators import decorator_for
from isrcheck.model.language.domains import Broker, BrokerSet, Record
from isrcheck.model.language.errors import ModelError, OfTheState, TheState, nearest, running
from isrcheck.model.language.scalarset_members import BROKER, BrokerId, NoBroker
from isrcheck.model.language.state_types import METHODS, PROPERTIES
from isrcheck.model.semantics.concrete_values import PlainFlag, Undefined
from isrcheck.model.semantics.expressions import LARGEST
from isrcheck.model.semantics.operators import Kind, signed, signs

MOST: Final = 200_000
"""The greatest number of evaluation steps of a text in one state. The limit makes every evaluation end."""
WORDS: Final = METHODS | PROPERTIES
"""The methods and properties of values that a text may use, besides record fields. None of them changes the state."""
COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
VALUES: Final = (OfTheState, bool, int, str, BrokerId, NoBroker, frozenset, type(None))
LISTS: Final = (list, tuple, range)


def _combined() -> dict[type[ast.operator], tuple[Callable[[Any, Any], Any], tuple[type, ...]]]:
    found = dict[type[ast.operator], tuple[Callable[[Any, Any], Any], tuple[type, ...]]]()
    kinds: tuple[tuple[Kind, type], ...] = (("number", int), ("set", frozenset))
    for kind, plain in kinds:
        for each in signed(kind):
            syntax = ast.parse(f"a {each.sign} b", mode="eval").body
            assert isinstance(syntax, ast.BinOp)
            _, others = found.get(type(syntax.op), (None, ()))
            found[type(syntax.op)] = each.in_python, (*others, plain)
    return found


COMBINED: Final = _combined()
"""For each operator, its function and the types of plain operands. Values of the state are accepted as well."""
WRITE: Final = f"write {signs('number')} of numbers, {signs('set')} of sets"
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "implies": quantifiers.implies,
    "when": quantifiers.when,
    "minimum": quantifiers.minimum,
    "maximum": quantifiers.maximum,
    "range": range,
}
QUANTIFIERS: Final = {
    "every": quantifiers.every,
    "all": quantifiers.every,
    "some": quantifiers.some,
    "any": quantifiers.some,
}


class ConditionEvaluator:
    """Computes a condition in one state of a model, traced or plain."""

    def __init__(self, text: str, m: Any, s: Any) -> None:
        self.text, self.m, self.s = text, m, s
        self.begin, self.steps = 0, 0

    def value(self, condition: Condition, known: dict[str, Any]) -> Any:
        if isinstance(condition, Bare):
            self.begin = condition.at
            return self.of(condition.tree, known)
        body, of_all = condition.body, condition.word == "every"
        asked: list[Any] = []
        for chosen, among in self._choices(condition.binders, known):
            value = self._conditional(among, partial(self.value, body, {**known, **chosen}), of_all)
            if of_all and isinstance(value, PlainFlag):  # a report names the choice
                value = value.because(chosen, [lambda **names: self.value(body, {**known, **names})])
            asked.append(value)
        return QUANTIFIERS[condition.word](asked)

    def _conditional(self, among: Any, value: Callable[[], Any], of_all: bool) -> Any:
        """The condition of a quantifier for one choice; `among` is the condition under which the choice counts.

        A choice that does not count gives true in `every` and false in `some`.
        """
        if among is False:
            return of_all
        found = value()
        if not is_condition(found):
            raise error_at(self.text, self.begin, f"{found!r} is not a condition", "compare it with a value")
        return found if among is True else quantifiers.implies(among, found) if of_all else among & found

    def _choices(
        self, binders: Sequence[Binder], known: dict[str, Any], among: Any = True
    ) -> Iterator[tuple[dict[str, Any], Any]]:
        """Each choice of values for the names that a quantifier binds, with the condition under which it counts."""
        if not binders:
            yield {}, among
            return
        name, over, at = binders[0]
        self.begin = at
        members = [(b, True) for b in self._members_meant(at)] if over is None else self._members(over, known)
        for x, inside in members:
            for others, rest in self._choices(binders[1:], {**known, name: x}, _both(among, inside)):
                yield {name: x, **others}, rest

    def _scalarsets(self) -> dict[str, tuple[BrokerId, ...]]:
        """The members of each scalarset. The key is the scalarset's name in texts, such as `clients`."""
        return {f"{name}s": tuple(x for x in self.m.everybody if x.of == name) for name in self.m.member_counts}

    def _members_meant(self, at: int) -> tuple[BrokerId, ...]:
        """The values for a quantifier without `in`: the members of the only scalarset, or else the brokers."""
        found = self._scalarsets()
        if len(found) != 1 and not self.m.brokers:
            names = " or ".join(f"in {name}" for name in found) or "in range(...) of a setting"
            raise error_at(self.text, at, "the model has no brokers", f"write {names}")
        return next(iter(found.values())) if len(found) == 1 else self.m.brokers

    def _members_of(self, domain: Any) -> tuple[BrokerId, ...]:
        """The possible members of a set of this domain; the brokers for an unknown domain."""
        of = domain.element.of if isinstance(domain, BrokerSet) else BROKER
        return self._scalarsets().get(f"{of}s", ())

    def of(self, node: ast.expr, known: dict[str, Any]) -> Any:
        """The value of a part of the condition; `known` are the names that quantifiers bind."""
        found = self._raw(node, known)
        if not isinstance(found, (*VALUES, *LISTS)):
            raise self._error(node, f"{ast.unparse(node)} is not a value", "use a name of the state, or call it")
        return found

    def _raw(self, node: ast.expr, known: dict[str, Any]) -> Any:
        """Like `of`, but the result may also be the state, the model or a function."""
        self.steps += 1
        if self.steps > MOST:
            raise self._error(node, f"more than {MOST:,} evaluation steps in one state", "quantify over fewer values")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            what = f"{type(node).__name__} is not allowed in a condition"
            raise self._error(node, what, "write comparisons, and, or, not")
        try:
            return method(node, known)
        except ModelError:
            raise
        except (TypeError, ValueError, OverflowError, AttributeError, LookupError) as error:
            raise self._error(node, " ".join(str(error).split()), "use values of the same kind") from None

    def _error(self, node: ast.expr, what: str, remedy: str) -> ConditionSyntaxError:
        return error_at(self.text, self._column(node), what, remedy)

    def _column(self, node: ast.expr) -> int:
        before = self.text[self.begin :]
        return self.begin + len(before) - len(before.lstrip()) + node.col_offset

    @contextmanager
    def _at(self, node: ast.expr) -> Iterator[None]:
        """Makes errors in the `with` block cite the column of `node`."""
        outer, running.condition_place = (
            running.condition_place,
            f"{self.text.strip()!r}, column {self._column(node) + 1}",
        )
        try:
            yield
        finally:
            running.condition_place = outer

    def _constant(self, node: ast.Constant, known: dict[str, Any]) -> Any:
        if node.value is not None and type(node.value) not in (bool, int, str):
            remedy = "write a number, True, False, None or a quoted name"
            raise self._error(node, f"{node.value!r} is not a state value", remedy)
        return node.value

    def _name(self, node: ast.Name, known: dict[str, Any]) -> Any:
        """Looks up a name, in this order: bound names, variables, settings, `s`, `m`, scalarsets, model attributes."""
        name = node.id
        if name in known:
            return known[name]
        if name in self.m.domains:
            with self._at(node):
                return getattr(self.s, name)
        if name in self.m.settings:
            return getattr(self.m, name)
        if name == "s":
            return self.s
        if name in ("self", "m", "model"):
            return self.m
        if (of := self._scalarsets().get(name)) is not None:
            return of
        if name == "brokers":
            raise self._error(node, "the model has no brokers", nearest(name, self._scalarsets()))
        if name[0] != "_" and hasattr(self.m, name):
            return getattr(self.m, name)
        names = {
            *known,
            "s",
            "brokers",
            *self._scalarsets(),
            *self.m.domains,
            *self.m.settings,
            *FUNCTIONS,
            *QUANTIFIERS,
        }
        raise self._error(node, f"there is no {name!r}", nearest(name, names))

    def _attribute(self, node: ast.Attribute, known: dict[str, Any]) -> Any:
        of, name = self._raw(node.value, known), node.attr
        of_model = of is self.m
        if isinstance(of, TheState) and name not in self.m.domains:
            raise self._error(node, f"the state has no variable {name!r}", nearest(name, self.m.domains))
        if name.startswith("_") or not (isinstance(of, OfTheState | TheState) or of_model):
            raise self._error(node, f".{name} does not exist here", "use a name of the state or of the model")
        if of_model and not hasattr(of, name):
            raise self._error(node, f"the model has no {name!r}", nearest(name, self.m.settings))
        record = isinstance(of, Undefined) or isinstance(_domain_of(of), Record)
        if isinstance(of, OfTheState) and not record and name not in WORDS:
            raise self._error(node, f"{ast.unparse(node.value)} has no .{name}", nearest(name, WORDS))
        with self._at(node):
            return getattr(of, name)

    def _subscript(self, node: ast.Subscript, known: dict[str, Any]) -> Any:
        of, index = self.of(node.value, known), self.of(node.slice, known)
        if isinstance(of, LISTS) and type(index) is not int:
            raise self._error(node, f"[{index!r}] of a list", "write a number that does not depend on the state")
        by = getattr(_domain_of(of), "index", None)
        if isinstance(by, Broker) and isinstance(node.slice, ast.Constant) and index in range(by.count):
            index = BrokerId(index, by.of)  # `log[0]`, as reports write it
        with self._at(node):
            return of[index]

    def _compare(self, node: ast.Compare, known: dict[str, Any]) -> Any:
        left, parts = self.of(node.left, known), []
        for test, other in zip(node.ops, node.comparators, strict=True):
            right = self.of(other, known)
            parts.append(self._compared(node, test, left, right))
            left = right
        return quantifiers.every(parts)

    def _compared(self, node: ast.Compare, test: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(test, ast.Is | ast.IsNot):
            test = ast.Eq() if isinstance(test, ast.Is) else ast.NotEq()
        with self._at(node):
            if isinstance(test, ast.In | ast.NotIn):
                inside = (
                    right.has(left) if isinstance(right, OfTheState) else quantifiers.some(left == x for x in right)
                )
                return _not(inside) if isinstance(test, ast.NotIn) else inside
            if isinstance(left, LISTS) or isinstance(right, LISTS):
                raise self._error(node, "a list cannot be compared", "quantify over it: every(... for x in ...)")
            return COMPARED[type(test)](left, right)

    def _condition(self, node: ast.expr, known: dict[str, Any]) -> Any:
        found = self.of(node, known)
        if not is_condition(found):
            raise self._error(node, f"{ast.unparse(node)} is not a condition", "compare it with a value")
        return found

    def _boolop(self, node: ast.BoolOp, known: dict[str, Any]) -> Any:
        """`and` or `or`. Later operands are not computed if an operand is a Python bool that decides the result."""
        decides, values = isinstance(node.op, ast.Or), list[Any]()
        for each in node.values:
            values.append(self._condition(each, known))
            if values[-1] is decides:
                return decides
        with self._at(node):
            return (quantifiers.some if decides else quantifiers.every)(values)

    def _unaryop(self, node: ast.UnaryOp, known: dict[str, Any]) -> Any:
        if isinstance(node.op, ast.Not | ast.Invert):
            value = self._condition(node.operand, known)
            with self._at(node):
                return _not(value)
        return self._sum(node, ast.Sub if isinstance(node.op, ast.USub) else ast.Add, 0, self.of(node.operand, known))

    def _binop(self, node: ast.BinOp, known: dict[str, Any]) -> Any:
        left, right = self.of(node.left, known), self.of(node.right, known)
        if type(node.op) not in COMBINED:
            raise self._error(node, "this operator is not supported", f"{WRITE}, and, or, not")
        return self._sum(node, type(node.op), left, right)

    def _sum(self, node: ast.expr, operator_: type[ast.operator], left: Any, right: Any) -> Any:
        operation, plain = COMBINED[operator_]
        for x in (left, right):
            if not isinstance(x, (OfTheState, *plain)) or isinstance(x, bool):
                raise self._error(node, f"{x!r} cannot be combined like this", WRITE)
        with self._at(node):
            found = operation(left, right)
        if isinstance(found, int) and abs(found) > LARGEST:
            raise self._error(node, "more than fits in 63 bits", "use smaller numbers")
        return found

    def _ifexp(self, node: ast.IfExp, known: dict[str, Any]) -> Any:
        condition = self._condition(node.test, known)
        if isinstance(condition, bool):
            return self.of(node.body if condition else node.orelse, known)
        yes, no = self.of(node.body, known), self.of(node.orelse, known)
        with self._at(node):
            return quantifiers.when(condition, yes, no)

    def _set(self, node: ast.Set, known: dict[str, Any]) -> Any:
        members = [self.of(x, known) for x in node.elts]
        if not all(isinstance(x, BrokerId) for x in members):
            raise self._error(
                node, "a set in braces can contain only brokers", "write {b}, or .including(...) of a set"
            )
        return frozenset(members)

    def _call(self, node: ast.Call, known: dict[str, Any]) -> Any:
        if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
            raise self._error(node, "a call with keyword or starred arguments", "use positional arguments")
        if isinstance(node.func, ast.Name) and node.func.id in QUANTIFIERS:
            return self._quantifier(node, node.func.id, known)
        function = self._function(node.func, known)
        values = [self._raw(x, known) for x in node.args]
        for x, given in zip(values, node.args, strict=True):
            if not isinstance(x, (*VALUES, *LISTS, TheState)):
                raise self._error(given, f"{ast.unparse(given)} is not a value", "use a name of the state, or call it")
        with self._at(node):
            return function(*values)

    def _function(self, node: ast.expr, known: dict[str, Any]) -> Callable[..., Any]:
        """The called function: one of `FUNCTIONS`, a method of the model, or a method of a value of the state."""
        if isinstance(node, ast.Name) and node.id in FUNCTIONS:
            return FUNCTIONS[node.id]
        found = self._raw(node, known)
        if isinstance(found, OfTheState):
            with self._at(node):
                found()
        if not callable(found) or isinstance(found, type | TheState):
            raise self._error(node, "the called value is not a function", "write it without parentheses")
        return found  # type: ignore[no-any-return]

    def _quantifier(self, node: ast.Call, word: str, known: dict[str, Any]) -> Any:
        if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
            raise self._error(node, "a quantifier needs a variable", "write every(... for b in brokers)")
        fold, given = QUANTIFIERS[word], node.args[0]
        with self._at(node):
            return fold(self._generated(given, 0, known, fold is quantifiers.every, True))

    def _generated(
        self, node: ast.GeneratorExp, at: int, known: dict[str, Any], of_all: bool, among: Any
    ) -> Iterator[Any]:
        """The conditions of a quantifier; `among` is the condition under which a choice counts."""
        if at == len(node.generators):
            yield self._conditional(among, partial(self._condition, node.elt, known), of_all)
            return
        each = node.generators[at]
        if not isinstance(each.target, ast.Name) or each.is_async:
            raise self._error(node, "a quantifier binds one name at a time", "write for b in brokers for c in brokers")
        for x, inside in self._members(each.iter, known):
            inner = {**known, each.target.id: x}
            limits = _both(among, inside)
            for limit in each.ifs:
                limits = limits if limits is False else _both(limits, self._condition(limit, inner))
            yield from self._generated(node, at + 1, inner, of_all, limits)

    def _members(self, node: ast.expr, known: dict[str, Any]) -> list[tuple[Any, Any]]:
        """The values that a bound name takes, each with the condition under which the value counts.

        For a set of the state, the values are all possible members, and a member counts where the set contains it.
        """
        values = self.of(node, known)
        if isinstance(_domain_of(values), BrokerSet) or isinstance(values, Undefined):
            with self._at(node):
                return [(b, values.has(b)) for b in self._members_of(_domain_of(values))]
        if not isinstance(values, LISTS) or values[LONGEST:]:
            what = f"{ast.unparse(node)} cannot be iterated over"
            raise self._error(node, what, "use brokers, a set of brokers, or range(...) of a setting")
        return [(x, True) for x in values]


def is_condition(value: Any) -> bool:
    return isinstance(value, bool) or hasattr(type(value), "choose")


def _domain_of(value: Any) -> Any:
    """The domain of a value of the state. A record's field called `domain` is not mistaken for the domain."""
    for name in ("domain", "_domain") if isinstance(value, OfTheState) else ():
        with suppress(AttributeError):
            return object.__getattribute__(value, name)
    return None


def _both(one: Any, other: Any) -> Any:
    """The conjunction of two conditions, simplified if one of them is a Python bool."""
    if one is False or other is False:
        return False
    return other if one is True else one if other is True else one & other


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else ~value


__all__ = ["LONGEST", "ConditionSyntaxError", "is_condition_text", "text_condition", "value_of"]


def is_condition_text(name: str) -> bool:
    """True if the text that a user gives for an invariant is a condition and not the name of an invariant."""
    return re.fullmatch(r"[\w-]+", name.strip()) is None


def text_condition(text: str) -> Callable[[Any, Any], Any]:
    """The invariant that a text describes; raises `ConditionSyntaxError` for a bad text, now or on evaluation."""
    condition = whole(text)

    def holds(m: Any, s: Any) -> Any:
        answer = _computed(text, condition, m, s)
        if not is_condition(answer):
            raise error_at(text, 0, f"{answer!r} is not a condition", "compare it with a value")
        return answer

    holds.__doc__ = "A condition given as text."
    return decorator_for("invariant")(holds)


def value_of(text: str, m: Any, s: Any) -> Any:
    """The value of a text in a state of a model, as the model's methods would receive it."""
    return _computed(text, whole(text), m, s)


def _computed(text: str, condition: Condition, m: Any, s: Any) -> Any:
    try:
        return ConditionEvaluator(text, m, s).value(condition, {})
    except RecursionError:
        raise error_at(text, 0, "it is nested too deeply", "use fewer parentheses") from None
