"""Translates a model's expressions to z3 terms, and z3's answers back to states.

A flag is a Bool. A strategy decides how a number is written. `BITS` writes a number as a bit-vector, as wide as the
number's interval needs (in two's complement if the number can be negative). `INTEGERS` writes a number as an unbounded
integer. All other values are bit-vectors, as wide as the interval of the expression needs. An enum is its position, a
set has one bit for each broker, and a broker is its index plus one (zero is "none").

A separate expression, `failure`, says where a transition or predicate is undefined. So each term here has a value
whenever the leaves are in their intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import z3

from isrcheck.model.semantics.expressions import SEMANTICS, Expression, Kind, Leaf, topological
from isrcheck.model.semantics.operators import complete

Term = Any
"""A term of z3."""
State = tuple[Term, ...]
"""One term for each leaf of a transition system. A *leaf* is one of the integers that encode a state."""
Interval = tuple[int, int]


class Numbers(Protocol):
    """A strategy for writing numbers as terms. `within` is always the interval of the term's values."""

    def fresh(self, name: str, within: Interval) -> Term: ...
    def constant(self, value: int, within: Interval) -> Term: ...
    def fitted(self, term: Term, of: Interval, into: Interval) -> Term:
        """Converts a term from the form for the interval `of` to the form for `into`. `BITS` cuts off excess bits."""
        ...

    def le(self, a: Term, b: Term, within: Interval) -> Term: ...
    def chosen(self, flag: Term, within: Interval) -> Term:
        """A term whose value is 1 if the flag is true, and 0 otherwise."""
        ...

    def sum(self, flags: Sequence[Term], within: Interval) -> Term:
        """A term whose value is the number of flags that are true. The interval contains this number."""
        ...

    def value(self, constant: Term, within: Interval) -> int: ...


class Bits:
    """Writes numbers as bit-vectors of the least width, in two's complement if the interval has negative numbers."""

    def fresh(self, name: str, within: Interval) -> Term:
        return z3.BitVec(name, width(within))

    def constant(self, value: int, within: Interval) -> Term:
        return z3.BitVecVal(value, width(within))

    def fitted(self, term: Term, of: Interval, into: Interval) -> Term:
        return resized(term, width(into), signed=of[0] < 0)

    def le(self, a: Term, b: Term, within: Interval) -> Term:
        return a <= b if within[0] < 0 else z3.ULE(a, b)

    def chosen(self, flag: Term, within: Interval) -> Term:
        return z3.If(flag, self.constant(1, within), self.constant(0, within))

    def sum(self, flags: Sequence[Term], within: Interval) -> Term:
        one, zero = self.constant(1, within), self.constant(0, within)
        return sum((z3.If(flag, one, zero) for flag in flags), zero)

    def value(self, constant: Term, within: Interval) -> int:
        return int(constant.as_signed_long() if within[0] < 0 else constant.as_long())


class Integers:
    """Writes numbers as unbounded integers."""

    def fresh(self, name: str, within: Interval) -> Term:
        return z3.Int(name)

    def constant(self, value: int, within: Interval) -> Term:
        return z3.IntVal(value)

    def fitted(self, term: Term, of: Interval, into: Interval) -> Term:
        return term

    def le(self, a: Term, b: Term, within: Interval) -> Term:
        return a <= b

    def chosen(self, flag: Term, within: Interval) -> Term:
        return z3.If(flag, z3.IntVal(1), z3.IntVal(0))

    def sum(self, flags: Sequence[Term], within: Interval) -> Term:
        return z3.Sum([self.chosen(flag, within) for flag in flags])

    def value(self, constant: Term, within: Interval) -> int:
        return int(constant.as_long())


BITS: Final = Bits()
INTEGERS: Final = Integers()
FLAG: Final[Kind] = "flag"
ONE: Final = z3.BitVecVal(1, 1)


def width(within: Interval) -> int:
    """The number of bits that the numbers of an interval need."""
    low, high = within
    return max(1, high.bit_length()) if low >= 0 else max((-low - 1).bit_length(), high.bit_length()) + 1


def resized(term: Term, bits: int, signed: bool = False) -> Term:
    """A bit-vector converted to a width of `bits`. Bits that do not fit are cut off."""
    more = bits - term.size()
    if more > 0:
        return z3.SignExt(more, term) if signed else z3.ZeroExt(more, term)
    return term if more == 0 else z3.Extract(bits - 1, 0, term)


def interval(of: Expression | Leaf) -> Interval:
    return of.low, of.high


def joint(*of: Expression) -> Interval:
    """The least interval that contains the intervals of some expressions."""
    return min(x.low for x in of), max(x.high for x in of)


class Terms:
    """Writes expressions as z3 terms. The strategy `numbers` decides how numbers are written."""

    def __init__(self, numbers: Numbers = BITS) -> None:
        self.numbers = numbers
        # z3's Python layer is slow at making values, and the same few values are needed again and again.
        self._constants: dict[tuple[Kind, int, Interval], Term] = {}

    # --- states -----------------------------------------------------------------------------------------------------

    def state(self, leaves: Sequence[Leaf], name: str) -> State:
        """A term for each leaf: the leaf's value if only one is possible, else a new constant `name!path`."""
        return tuple(self.fresh(leaf, f"{name}!{leaf.path}") for leaf in leaves)

    def fresh(self, leaf: Leaf, name: str) -> Term:
        if leaf.low == leaf.high:
            return self.constant(leaf.kind, leaf.low, interval(leaf))
        if leaf.kind == "flag":
            return z3.Bool(name)
        if leaf.kind == "number":
            return self.numbers.fresh(name, interval(leaf))
        return BITS.fresh(name, _coded(leaf.kind, interval(leaf)))

    def inside(self, leaves: Sequence[Leaf], state: State) -> list[Term]:
        """Terms that require each leaf to be in its interval. Omits conditions that a leaf's form already ensures."""
        conditions = []
        for leaf, term in zip(leaves, state, strict=True):
            within = interval(leaf)
            for end in (leaf.low, leaf.high) if leaf.kind != "flag" and leaf.low < leaf.high else ():
                bound = self.constant(leaf.kind, end, within)
                ends = (bound, term) if end == leaf.low else (term, bound)
                numbers, coded = self._form(leaf.kind, within)
                conditions.append(z3.simplify(numbers.le(*ends, coded)))
        return [condition for condition in conditions if not z3.is_true(condition)]

    def equal(self, leaves: Sequence[Leaf], state: State, values: Sequence[int]) -> list[Term]:
        """Terms that require the leaves of a state to have these values."""
        return [
            term == self.constant(leaf.kind, value, interval(leaf))
            for leaf, term, value in zip(leaves, state, values, strict=True)
            if leaf.low < leaf.high
        ]

    def below(self, leaf: Leaf, term: Term, value: int) -> Term:
        """A term that is true if the leaf is less than `value`. `value` is one of the possible values of the leaf."""
        if leaf.kind == "flag":
            return z3.Not(term) if value else z3.BoolVal(False)
        numbers, coded = self._form(leaf.kind, interval(leaf))
        return z3.Not(numbers.le(self.constant(leaf.kind, value, interval(leaf)), term, coded))

    def values(self, model: z3.ModelRef, leaves: Sequence[Leaf], state: State) -> tuple[int, ...]:
        """The values of a state's leaves in a model of z3. A leaf without a value in the model gets its least value."""
        found = []
        for leaf, term in zip(leaves, state, strict=True):
            value = self.value(model.eval(term), leaf.kind, interval(leaf))
            found.append(leaf.low if value is None else value)
        return tuple(found)

    def value(self, term: Term, kind: Kind, within: Interval) -> int | None:
        """The integer value of a constant term, or None for any other term."""
        if kind == "flag":
            return 1 if z3.is_true(term) else 0 if z3.is_false(term) else None
        if not (z3.is_bv_value(term) or z3.is_int_value(term)):
            return None
        numbers, coded = self._form(kind, within)
        return numbers.value(term, coded) - _shift(kind)

    # --- expressions ------------------------------------------------------------------------------------------------

    def constant(self, kind: Kind, value: int, within: Interval) -> Term:
        key = kind, value, within
        if key not in self._constants:
            self._constants[key] = self._constant(*key)
        return self._constants[key]

    def _constant(self, kind: Kind, value: int, within: Interval) -> Term:
        if kind == "flag":
            return z3.BoolVal(bool(value))
        numbers, coded = self._form(kind, within)
        return numbers.constant(value + _shift(kind), coded)

    def fold(self, roots: Iterable[Expression], state: Mapping[int, Term] | Sequence[Term]) -> list[Term]:
        """The terms of some expressions in a state. `state` has the term of each leaf, by the index of the leaf."""
        return self.folding(state)(roots)

    def folding(self, state: Mapping[int, Term] | Sequence[Term]) -> Callable[[Iterable[Expression]], list[Term]]:
        """A function from expressions to their terms in one state. It translates each expression only once."""
        known: dict[Expression, Term] = {}

        def write(roots: Iterable[Expression]) -> list[Term]:
            wanted = list(roots)
            for node in topological([root for root in wanted if root not in known]):
                if node not in known:
                    known[node] = self._node(node, known, state)
            return [known[root] for root in wanted]

        return write

    def _node(
        self, node: Expression, known: dict[Expression, Term], state: Mapping[int, Term] | Sequence[Term]
    ) -> Term:
        if isinstance(node.value, Leaf):
            return state[node.value.index]
        if isinstance(node.value, int):
            return self.constant(node.kind, node.value, interval(node))
        return OPERATORS[node.operator](self, node, [known[x] for x in node.arguments])

    def stored(self, of: Expression, term: Term, leaf: Leaf) -> Term:
        """The term of an expression in the form of the leaf that stores it."""
        return term if leaf.kind == "flag" else self._fitted(term, of, leaf.kind, interval(leaf))

    def _form(self, kind: Kind, within: Interval) -> tuple[Numbers, Interval]:
        """The strategy for values of a kind, and the interval of the values as they are written in terms."""
        return (self.numbers if kind == "number" else BITS), _coded(kind, within)

    def _fitted(self, term: Term, of: Expression, kind: Kind, into: Interval) -> Term:
        """The term of `of`, converted to the form for a kind and an interval. A flag becomes the number 0 or 1."""
        numbers, coded = self._form(kind, into)
        if of.kind == "flag":
            return numbers.chosen(term, coded)
        if of.kind != kind:
            raise ValueError(f"{of!r} is a {of.kind} where a {kind} is needed")
        return numbers.fitted(term, _coded(kind, interval(of)), coded)

    def _alike(self, node: Expression, terms: list[Term]) -> tuple[list[Term], Numbers, Interval]:
        """The arguments of a comparison in one common form that can hold all their values."""
        kind = next((x.kind for x in node.arguments if x.kind != "flag"), FLAG)
        around = joint(*node.arguments) if kind != "flag" else (0, 1)
        numbers, coded = self._form("number" if kind == "flag" else kind, around)
        into: Kind = "number" if kind == "flag" else kind
        fitted = [self._fitted(t, x, into, around) for t, x in zip(terms, node.arguments, strict=True)]
        return fitted, numbers, coded

    # --- operators --------------------------------------------------------------------------------------------------

    def not_(self, node: Expression, terms: list[Term]) -> Term:
        return z3.Not(terms[0])

    def and_(self, node: Expression, terms: list[Term]) -> Term:
        return z3.And(terms)

    def or_(self, node: Expression, terms: list[Term]) -> Term:
        return z3.Or(terms)

    def eq(self, node: Expression, terms: list[Term]) -> Term:
        if all(x.kind == "flag" for x in node.arguments):
            return terms[0] == terms[1]
        (a, b), _, _ = self._alike(node, terms)
        return a == b

    def le(self, node: Expression, terms: list[Term]) -> Term:
        (a, b), numbers, coded = self._alike(node, terms)
        return numbers.le(a, b, coded)

    def by_meaning(self, node: Expression, terms: list[Term]) -> Term:
        """The operator's meaning, applied to the arguments in the form of the result. Higher bits that are cut off do
        not influence the result."""
        fitted = (self._fitted(t, x, node.kind, interval(node)) for t, x in zip(terms, node.arguments, strict=True))
        return SEMANTICS[node.operator](*fitted)

    def if_(self, node: Expression, terms: list[Term]) -> Term:
        condition, *cases = terms
        if node.kind != "flag":
            given = zip(cases, node.arguments[1:], strict=True)
            cases = [self._fitted(t, x, node.kind, interval(node)) for t, x in given]
        return z3.If(condition, *cases)

    def has(self, node: Expression, terms: list[Term]) -> Term:
        (members, broker), (chosen, of) = node.arguments, terms
        each = [(b, z3.Extract(b, b, chosen) == ONE) for b in range(max(0, broker.low), members.high.bit_length())]
        if broker.operator == "constant":
            return dict(each).get(broker.low, z3.BoolVal(False))
        return z3.Or([z3.And(of == self._broker(broker, b), bit) for b, bit in each if b <= broker.high])

    def only(self, node: Expression, terms: list[Term]) -> Term:
        (broker,), bits = node.arguments, width(interval(node))
        mask = z3.BitVecVal(0, bits)
        for b in range(max(0, broker.low), min(broker.high + 1, bits)):
            mask = z3.If(terms[0] == self._broker(broker, b), z3.BitVecVal(1 << b, bits), mask)
        return mask

    def _broker(self, of: Expression, number: int) -> Term:
        return self.constant("broker", number, interval(of))

    def subset(self, node: Expression, terms: list[Term]) -> Term:
        a, b = terms
        return a & ~resized(b, a.size()) == 0

    def size(self, node: Expression, terms: list[Term]) -> Term:
        (members,) = node.arguments
        bits = [z3.Extract(b, b, terms[0]) == ONE for b in range(members.high.bit_length())]
        return self.numbers.sum(bits, interval(node))


def _shift(kind: Kind) -> int:
    """The number that is added to a value of this kind before it is written as a term."""
    return 1 if kind == "broker" else 0


def _coded(kind: Kind, within: Interval) -> Interval:
    """The interval of the values as they are written in terms."""
    return within[0] + _shift(kind), within[1] + _shift(kind)


_ROWS: Final[dict[str, Callable[[Terms, Expression, list[Term]], Term]]] = {
    "not": Terms.not_,
    "and": Terms.and_,
    "or": Terms.or_,
    "eq": Terms.eq,
    "le": Terms.le,
    "add": Terms.by_meaning,
    "subtract": Terms.by_meaning,
    "multiply": Terms.by_meaning,
    "if": Terms.if_,
    "has": Terms.has,
    "only": Terms.only,
    "union": Terms.by_meaning,
    "intersection": Terms.by_meaning,
    "difference": Terms.by_meaning,
    "subset": Terms.subset,
    "size": Terms.size,
}
OPERATORS: Final = complete("z3 (checker/engines/symbolic/z3_terms.py)", _ROWS)
