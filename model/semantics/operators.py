"""The registry of operators: what an operator of expressions is, and the table of all of them.

An operator is declared once, by the decorator `Operator` on its constructor (in `expressions` and `nodes`). The
declaration says all that needs no library of a back-end. A *back-end* is a part of the checker that translates
expressions, such as the code generator or an export. It has a table with a row for each operator. `complete` makes such
a table, and raises an error if it lacks an operator.

The classes of values with which models compute take their arithmetic from the registry, too: `python_operators` gives
them a method for each operator that has a `sign`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

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
            raise ValueError(f"operator {self.name!r}: {self.sign!r} is none of {' '.join(SIGNS)}")
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
        raise NotImplementedError(f"{back_end} has {', '.join(sorted(unknown))}, which is no operator; remove it")
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
