"""Nodes of the graph of expressions, and the registry of operators: the table of all of them.

An operator is declared once, by the decorator `Operator` on its constructor (here for `and`, `or` and `not`, which are
simplified when they are built, so that equal conditions become equal nodes; in `expressions` for all others). The
declaration says all that needs no library of a back-end. A *back-end* is a part of the checker that translates
expressions, such as the code generator or an export. It has a table with a row for each operator. `complete` makes such
a table, and raises an error if it lacks an operator.

The classes of values with which models compute take their arithmetic from the registry, too: `python_operators` gives
them a method for each operator that has a `sign`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, TypeVar
from weakref import WeakValueDictionary

Kind = Literal["flag", "number", "enum", "broker", "set"]
Interval = tuple[int, int]
Row = TypeVar("Row")
Class = TypeVar("Class", bound=type)
Build = TypeVar("Build", bound=Callable[..., Any])
SIGNS: Final = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod", "|": "or", "&": "and", "^": "xor"}
"""Python's operators that can be the `sign` of an operator, and their names in Python: `__add__`, `__radd__`."""
OPERATORS: Final[dict[str, Operator]] = {}
"""All operators by name."""


@dataclass(kw_only=True)
class Operator:
    """An operator of expressions; as a decorator of its constructor, declares the operator.

    A *form* (`text`, `promela`, `murphi`, `tla`) is either a sign between the arguments, or a template that has the
    arguments as `{0}`, `{1}`. It is None if the export has a function for the operator, because no template is enough.
    """

    name: str
    takes: tuple[Kind | Literal["any"], ...]
    """The kinds of the arguments. All arguments that are "any" have the same kind."""
    gives: Kind | Literal["any"]
    """The kind of the result. "any" is the kind of the arguments that are "any"."""
    meaning: Callable[..., Any]
    """The result for integers. If the result is a number, the meaning consists of Python's arithmetic. If it is a set,
    the meaning consists of `&`, `|` and `~`, so it holds for each member. Back-ends apply it to their own values."""
    interval: Callable[..., Interval] | None = None
    """The interval of the result for given arguments; None for a flag, or if the constructor knows more."""
    sign: str = ""
    """Python's operator for it in models and in conditions that are given as text; empty if there is none. An operator
    with a sign takes two numbers and gives a number, or takes two sets and gives a set."""
    text: str = ""
    """The form in messages, where `{bare[0]}` is the first argument without parentheses; by default the sign."""
    wording: tuple[str, str] | None = None
    """For a comparison, the words between its arguments in reports: where it is true, and where it is false."""
    promela: str | None
    murphi: str | None
    """The form. For arguments that are sets, it is the form for each member."""
    tla: str | None
    more: Callable[[Any], dict[str, Any]] = lambda node: {}
    """What the constructor takes besides the arguments, for a node with this operator."""
    build: Callable[..., Any] = field(init=False)
    """The constructor. It simplifies, so the operator of its result may be another one."""

    def __post_init__(self) -> None:
        if self.sign not in ("", *SIGNS):
            raise ValueError(f"operator {self.name!r}: {self.sign!r} is not one of {' '.join(SIGNS)}")
        if self.sign and (self.gives not in ("number", "set") or self.takes != (self.gives, self.gives)):
            raise ValueError(f"operator {self.name!r} has a sign, but takes {self.takes} and gives {self.gives!r}")
        self.text = self.text or self.sign
        if not self.text:
            raise ValueError(f"operator {self.name!r} has neither a text nor a sign")

    def __call__(self, constructor: Build) -> Build:
        if self.name in OPERATORS:
            raise ValueError(f"operator {self.name!r} is declared twice")
        OPERATORS[self.name], self.build = self, constructor
        return constructor

    def again(self, node: Any, arguments: list[Any]) -> Any:
        """An expression like `node`, which has this operator, but with other arguments."""
        return self.build(*arguments, **self.more(node))

    @property
    def in_python(self) -> Callable[[Any, Any], Any]:
        """Python's function for the sign."""
        return getattr(operator, f"__{SIGNS[self.sign]}__")  # type: ignore[no-any-return]


def complete(back_end: str, rows: Mapping[str, Row]) -> dict[str, Row]:
    """The table of a back-end. Raises `NotImplementedError` unless it has a row for each operator, and no other row."""
    missing, unknown = OPERATORS.keys() - rows.keys(), rows.keys() - OPERATORS.keys()
    if missing:
        raise NotImplementedError(f"{back_end} lacks the operator {', '.join(sorted(missing))}; add it to the table")
    if unknown:
        raise NotImplementedError(f"{back_end} has {', '.join(sorted(unknown))}, which is not an operator; remove it")
    return dict(rows)


def filled(form: str, *arguments: str, **named: object) -> str:
    """The text of a form with the given texts as arguments."""
    return form.format(*arguments, **named) if "{" in form else f" {form} ".join(arguments)


def signed(kind: Kind) -> Iterator[Operator]:
    """The operators that have a sign and whose first argument is of the given kind."""
    return (x for x in OPERATORS.values() if x.sign and x.takes[0] == kind)


def signs(kind: Kind) -> str:
    """The signs of operators on values of a kind, as messages list them: `+ - *`."""
    return " ".join(x.sign for x in signed(kind))


def python_operators(kind: Kind, method: Callable[[Operator, bool], Callable[..., Any]]) -> Callable[[Class], Class]:
    """A decorator that gives a class of values the methods of Python's operators on values of a kind: `__add__`.

    `method` makes the method for an operator. If its second argument is true, the method is for a value on the right.
    A method that the class itself defines stays. `expressions` must be imported before, as it declares the operators.
    """
    assert any(signed(kind))

    def decorated(cls: Class) -> Class:
        own = set(vars(cls))
        for each in signed(kind):
            for name, on_the_right in ((f"__{SIGNS[each.sign]}__", False), (f"__r{SIGNS[each.sign]}__", True)):
                if name not in own:
                    setattr(cls, name, method(each, on_the_right))
        return cls

    return decorated


LARGEST: Final = 1 << 62
"""Numbers stay below this limit, so sums, differences and shifts by one always fit into an engine's 64 bits."""


@dataclass(frozen=True)
class Leaf:
    """One scalar of a state: its position, its path in error messages (`log[1].length`), its kind and its interval.

    `of` is the scalarset of a leaf of kind "broker" or "set". The kind "broker" is for members of any scalarset.
    """

    index: int
    path: str
    kind: Kind
    low: int
    high: int
    of: str = "broker"

    @cached_property
    def expression(self) -> Expression:
        """The scalar as an expression; cached, because a method reads some leaves thousands of times."""
        if self.low == self.high:
            return constant(self.kind, self.low)
        return interned("leaf", (), self.kind, self.low, self.high, self)


class Expression:
    """A node: `operator` applied to `arguments`. The node's values have the kind `kind` and lie in `low..high`.

    `value` is the integer of a constant, the `Leaf` of a leaf, and None in other nodes.
    """

    __slots__ = ("operator", "arguments", "value", "kind", "low", "high", "negation", "__weakref__")

    operator: str
    arguments: tuple[Expression, ...]
    value: int | Leaf | None
    kind: Kind
    low: int
    high: int
    negation: Expression | None

    def __repr__(self) -> str:
        return render(self)


_Key = tuple[str, tuple[Expression, ...], int | Leaf | None, Kind, int, int]


_nodes: WeakValueDictionary[_Key, Expression] = WeakValueDictionary()


def interned(
    op: str,
    arguments: tuple[Expression, ...],
    kind: Kind,
    low: int,
    high: int,
    value: int | Leaf | None = None,
) -> Expression:
    # The interval is part of the key: leaves of two models with equal names and different ranges stay distinct.
    key = (op, arguments, value, kind, low, high)
    found = _nodes.get(key)
    if found is None:
        found = Expression()
        found.operator, found.arguments, found.value = op, arguments, value
        found.kind, found.low, found.high, found.negation = kind, low, high, None
        _nodes[key] = found
    return found


@lru_cache(maxsize=1 << 12)  # tracing uses few constants very often
def constant(kind: Kind, value: int) -> Expression:
    return interned("constant", (), kind, value, value, value)


def leaf(of: Leaf) -> Expression:
    return of.expression


FALSE: Final = constant("flag", 0)


TRUE: Final = constant("flag", 1)


def is_constant(a: Expression) -> bool:
    return a.operator == "constant"


def flag_node(op: str, *arguments: Expression) -> Expression:
    return interned(op, arguments, "flag", 0, 1)


_CLOSED: Final = ("leaf", "constant", "has")
"""What has no parentheses as an argument."""


def applied(op: str, *arguments: Expression) -> Expression:
    """The operator applied to the arguments, without simplification. The result lies in the operator's interval."""
    of = OPERATORS[op]
    if of.interval is None:
        return interned(op, arguments, "flag", 0, 1)
    kind = arguments[of.takes.index("any")].kind if of.gives == "any" else of.gives
    return interned(op, arguments, kind, *of.interval(*arguments))


def render(a: Expression) -> str:
    """The expression as a modeller would write it."""
    if isinstance(a.value, Leaf):
        return a.value.path
    if a.operator == "constant":
        return _render_constant(a)
    if a.operator == "not" and a.arguments[0].operator == "le":
        return " > ".join(map(render, a.arguments[0].arguments))
    bare = [render(x) for x in a.arguments]
    inner = [text if x.operator in _CLOSED else f"({text})" for x, text in zip(a.arguments, bare, strict=True)]
    return filled(OPERATORS[a.operator].text, *inner, bare=bare)


def has_more_leaves(a: Expression, most: int) -> bool:
    """Whether `render` shows more than `most` leaves and constants; quick even for an expression with a long text."""
    pending = [a]
    while pending:
        one = pending.pop()
        most -= not one.arguments
        if most < 0:
            return True
        pending += one.arguments
    return False


def _render_constant(a: Expression) -> str:
    if a.kind == "flag":
        return "true" if a is TRUE else "false"
    if a.kind == "set":
        return "{" + ", ".join(str(i) for i in range(a.low.bit_length()) if a.low >> i & 1) + "}"
    return "none" if a.kind == "broker" and a.low < 0 else str(a.low)


_DUAL: Final = {"and": "or", "or": "and"}


@Operator(
    name="not", takes=("flag",), gives="flag", meaning=lambda a: 1 - a,
    text="not {0}", promela="!{0}", murphi="!{0}", tla="(~{0})",
)  # fmt: skip
def not_(a: Expression) -> Expression:
    """The negation, pushed inwards through `and` and `or`, so that equal conditions become equal nodes."""
    if a.negation is None:
        if is_constant(a):
            a.negation = FALSE if a is TRUE else TRUE
        elif a.operator == "not":
            a.negation = a.arguments[0]
        elif a.operator in _DUAL:
            # The rules are dual: if the arguments are simplified against each other, so are their negations.
            a.negation = flag_node(_DUAL[a.operator], *[x.negation or not_(x) for x in a.arguments])
        else:
            a.negation = flag_node("not", a)
    return a.negation


@Operator(
    name="and", takes=("flag", "flag"), gives="flag", meaning=lambda *a: int(all(a)),
    text="and", promela="&&", murphi="&", tla="/\\",
)  # fmt: skip
def and_(*arguments: Expression) -> Expression:
    if FALSE in arguments:
        return FALSE
    if TRUE in arguments:
        arguments = tuple(x for x in arguments if x is not TRUE)
    return _junction("and", arguments) if len(arguments) > 1 else arguments[0] if arguments else TRUE


@Operator(
    name="or", takes=("flag", "flag"), gives="flag", meaning=lambda *a: int(any(a)),
    text="or", promela="||", murphi="|", tla="\\/",
)  # fmt: skip
def or_(*arguments: Expression) -> Expression:
    if TRUE in arguments:
        return TRUE
    if FALSE in arguments:
        arguments = tuple(x for x in arguments if x is not FALSE)
    return _junction("or", arguments) if len(arguments) > 1 else arguments[0] if arguments else FALSE


def implies(a: Expression, b: Expression) -> Expression:
    return or_(not_(a), b)


@lru_cache(maxsize=1 << 15)  # a model builds most junctions several times, and junctions are the most expensive nodes
def _junction(op: str, given: tuple[Expression, ...]) -> Expression:
    """The `and` or `or` of `given`: flattened, without repetitions, with arguments simplified against each other."""
    dual, neutral, dominant = ("or", TRUE, FALSE) if op == "and" else ("and", FALSE, TRUE)
    parts = _flattened(op, given, neutral, dominant)
    if parts is None:
        return dominant
    absorbing = True
    while absorbing:
        absorbing = False
        for part in [p for p in parts if p.operator == dual]:
            smaller = _absorbed(part, dual, neutral, parts)
            if smaller is not part:
                parts = _flattened(op, [smaller if p is part else p for p in parts], neutral, dominant)
                if parts is None:
                    return dominant
                absorbing = True
                break
    kept = _tightest(list(parts), conjunction=op == "and") if len(parts) > 1 else [*parts]
    if kept is None:
        return dominant
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return flag_node(op, *kept)


def _flattened(
    op: str, given: Sequence[Expression], neutral: Expression, dominant: Expression
) -> dict[Expression, None] | None:
    """`given`, after the arguments of each nested `op` have replaced it; None if the junction is always `dominant`."""
    parts: dict[Expression, None] = {}
    for part in given:
        for one in part.arguments if part.operator == op else (part,):
            if one is dominant or (one.negation or not_(one)) in parts:
                return None
            if one is not neutral:
                parts[one] = None
    return parts


def _absorbed(part: Expression, dual: str, neutral: Expression, others: dict[Expression, None]) -> Expression:
    """`part` without the arguments whose negations are among its siblings `others`.

    Returns `neutral` if an argument of `part` is itself a sibling. `part` is an `or` inside an `and`, or an `and`
    inside an `or`.
    """
    if not others.keys().isdisjoint(part.arguments):
        return neutral
    left = [p for p in part.arguments if (p.negation or not_(p)) not in others]
    if len(left) == len(part.arguments):
        return part
    return and_(*left) if dual == "and" else or_(*left)


Bound = tuple[Expression, int, int]
"""A number and the interval in which it lies."""


@lru_cache(maxsize=1 << 14)
def _bounds(part: Expression, conjunction: bool) -> tuple[Bound | None, tuple[Bound, ...]] | None:
    """The bound that a comparison with a constant sets, and the bounds that a comparison of two numbers implies.

    If `conjunction` is false, the bounds are those of the part's negation. Returns None if no numbers are compared.
    """
    literal, positive = (part.arguments[0], False) if part.operator == "not" else (part, True)
    if literal.operator != "le" and (literal.operator != "eq" or literal.arguments[0].kind != "number"):
        return None
    x, y = literal.arguments
    positive = positive == conjunction
    if literal.operator == "eq":
        return ((x, y.low, y.low) if positive and is_constant(y) else None), ()
    if is_constant(y):
        return ((x, x.low, y.low) if positive else (x, y.low + 1, x.high)), ()
    if positive:
        return None, ((x, x.low, y.high), (y, x.low, y.high))
    return None, ((x, y.low + 1, x.high), (y, y.low, x.high - 1))


def _tightest(parts: list[Expression], conjunction: bool) -> list[Expression] | None:
    """The parts, except for bounds that other bounds imply; None if the bounds contradict each other."""
    comparing = [(part, found) for part in parts if (found := _bounds(part, conjunction)) is not None]
    if len(comparing) < 2:
        return parts  # a single comparison was already simplified by intervals when it was built
    bounds = {part: bound for part, (bound, _) in comparing if bound}
    compared = [bound for _, (_, implied) in comparing for bound in implied]
    if not bounds and not compared:
        return parts
    ranges: dict[Expression, tuple[int, int]] = {}
    literals: dict[Expression, list[Bound]] = {}
    for part, (x, low, high) in bounds.items():
        literals.setdefault(x, []).append((part, low, high))
    for x, low, high in [*bounds.values(), *compared]:
        known = ranges.get(x, (x.low, x.high))
        ranges[x] = max(low, known[0]), min(high, known[1])
    if any(low > high for low, high in ranges.values()):
        return None
    implied = set()
    for part, (x, low, high) in bounds.items():
        if any(other is not part and other not in implied and low <= a and b <= high for other, a, b in literals[x]):
            implied.add(part)
    return [part for part in parts if part not in implied]
