"""Sentences that describe steps in the protocol's words, and the read-only states from which these sentences are made.

For an action `shrink_isr`, for example, a model may define a method `describe_shrink_isr(self, old, new, ...)`. The
arguments are the states before and after the action, then the action's parameters. The method returns a sentence
without its full stop. Subclasses may override the method. `old` and `new` are read-only and hold plain Python values:
numbers, strings, `True`, brokers (printed as `broker 1`), `None` for no broker, sets of brokers (printed as `{0, 1}`),
sequences with `len` and `[offset]`, records with fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from isrcheck.model.language.decorators import Method
from isrcheck.model.language.domains import Bag, Broker, BrokerSet, Domain, Messages, Per, Record, Sequence_, Value
from isrcheck.model.language.errors import mistake, nearest
from isrcheck.model.language.model import DESCRIBE, Model
from isrcheck.model.language.scalarset_members import BrokerId
from isrcheck.model.semantics.concrete_state import ConcreteState
from isrcheck.model.semantics.concrete_values import CONCRETE, Plain, plain_value
from isrcheck.model.semantics.transition_system import Label, actor_of


class SeenBrokers(frozenset[BrokerId]):
    """A set of brokers, printed in order."""

    def __str__(self) -> str:
        return "{" + ", ".join(str(b.number) for b in sorted(self, key=lambda b: b.number)) + "}"

    __repr__ = __str__


class SeenRecord:
    """A record; its fields are attributes."""

    __slots__ = ("_domain", "_value")

    def __init__(self, domain: Record, value: Value) -> None:
        object.__setattr__(self, "_domain", domain)
        object.__setattr__(self, "_value", value)

    def __getattr__(self, name: str) -> Any:
        found = self._domain.fields.get(name)
        if found is None:
            raise AttributeError(f"there is no field {name!r}; {nearest(name, self._domain.names)}")
        return seen(found[1], self._value[found[0]])

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise mistake(f"a description assigns {name}", "descriptions only read the step")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeenRecord) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        return "(" + ", ".join(f"{name} {in_words(getattr(self, name))}" for name in self._domain.names) + ")"


class SeenSequence(tuple[Any, ...]):
    """The elements of a sequence, a bag or a set of messages. A set of messages has the order of its domain."""

    def __str__(self) -> str:
        return "[" + ", ".join(map(in_words, self)) + "]"


class SeenPer:
    """A per(...): one value for each index."""

    __slots__ = ("_domain", "_value")

    def __init__(self, domain: Per, value: Value) -> None:
        self._domain, self._value = domain, value

    def __getitem__(self, index: Any) -> Any:
        key = index.number if isinstance(index, BrokerId) else index
        return seen(self._domain.element, self._value[self._domain.positions[key]])

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return (seen(self._domain.element, x) for x in self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeenPer) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


class SeenState:
    """A state for `describe_*` methods. Attributes without a leading underscore are the variables."""

    __slots__ = ("_model", "_state")

    def __init__(self, model: Model, state: tuple[Value, ...]) -> None:
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_state", state)

    def __getattr__(self, name: str) -> Any:
        positions = self._model.positions
        if name not in positions:
            raise AttributeError(f"the state has no variable {name!r}; {nearest(name, positions)}")
        return seen(self._model.domains[name], self._state[positions[name]])

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise mistake(f"a description assigns {name}", "descriptions only read the step")


def seen(domain: Domain, value: Value) -> Any:
    """A value of a domain as `describe_*` methods receive it."""
    match domain:
        case Broker():
            return None if value is None else BrokerId(value, domain.of)
        case BrokerSet():
            return SeenBrokers(BrokerId(x, domain.element.of) for x in value)
        case Record():
            return SeenRecord(domain, value)
        case Sequence_() | Bag():
            return SeenSequence(seen(domain.element, x) for x in value)
        case Messages():
            return SeenSequence(seen(domain.element, x) for x in domain.elements if x in value)
        case Per():
            return SeenPer(domain, value)
        case _:
            return value


def asked(state: SeenState, method: Callable[..., Any], *arguments: Any) -> Any:
    """The plain value that a method of the model returns in a state, for example `asked(old, self.high_watermark)`."""
    model = state._model
    answer = method(ConcreteState(model, state._state), *arguments)
    if not isinstance(answer, CONCRETE):
        return answer
    value = plain_value(answer)
    return seen(answer.domain, value) if isinstance(answer, Plain) else value


def in_words(value: Any) -> str:
    """The text of a value in a sentence: `none`, `true`, `{0, 1}`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.number) if isinstance(value, BrokerId) else str(value)


def becomes(old: Any, new: Any) -> str:
    """`{0, 1} -> {0}` if the values differ, `stays {0}` if they are equal.

    >>> becomes(1, 2), becomes(2, 2)
    ('1 -> 2', 'stays 2')
    """
    return f"{in_words(old)} -> {in_words(new)}" if old != new else f"stays {in_words(new)}"


def listed(values: Any) -> str:
    """Members of a scalarset as text: `broker 0 and broker 2`; `nobody` if there are no members.

    >>> listed([BrokerId(0), BrokerId(2)])
    'broker 0 and broker 2'
    """
    words = [str(v) for v in sorted(values, key=lambda b: b.number)]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "nobody"


def describe(model: Model, label: Label, old: tuple[Value, ...], new: tuple[Value, ...]) -> str:
    """The sentence, without its full stop, that tells how an action instance leads from one state to another.

    An exception in a `describe_*` method does not stop the check. The sentence then names the action and the exception.
    """
    method = getattr(model, DESCRIBE + label.action.replace("-", "_"), None)
    if method is None:
        return _described(model, label)
    parameters = [seen(domain, value) for (_, value), domain in zip(label.parameters, label.domains, strict=True)]
    try:
        sentence = method(SeenState(model, old), SeenState(model, new), *parameters)
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{_plain(model, label)} [{method.__name__} failed: {what}]"
    if not isinstance(sentence, str) or not sentence.strip():
        return f"{_plain(model, label)} [{method.__name__} returned {sentence!r} instead of a sentence]"
    return sentence


def _described(model: Model, label: Label) -> str:
    """For an action without a `describe_*` method: the first sentence of the action's docstring, and its parameters."""
    described = " ".join(str(model.actions()[label.action].__doc__).split()).split(". ")[0].removesuffix(".")
    values = [seen(domain, value) for (_, value), domain in zip(label.parameters, label.domains, strict=True)]
    return described + _bracketed(zip([n for n, _ in label.parameters], values, strict=True))


def _plain(model: Model, label: Label) -> str:
    """The actor, name and parameters of an action in words, for an action whose `describe_*` method fails."""
    actor = model.actions()[label.action].__action__.actor  # type: ignore[attr-defined]
    values = [seen(domain, value) for (_, value), domain in zip(label.parameters, label.domains, strict=True)]
    named = [(n, v) for (n, _), v in zip(label.parameters, values, strict=True) if n != actor]
    who = actor_of(actor, label)
    what = label.action.replace("-", " ")
    return f"{who}: {what}{_bracketed(named)}"


def _bracketed(named: Iterable[tuple[str, Any]]) -> str:
    """Parameters in words: ` (follower broker 1, by 2)`; an empty text for no parameters."""
    rest = ", ".join(f"{n.replace('_', ' ')} {v if isinstance(v, BrokerId) else in_words(v)}" for n, v in named)
    return f" ({rest})" if rest else ""


def last_held(what: str, holds: Callable[..., bool]) -> Callable[[Method], Method]:
    """Adds a condition to an invariant; a report says until which state of a violating trace the condition held.

    `holds(model, s, last, **choice)` returns whether the condition holds in state `s` of a trace. The trace ends in the
    state `last`. `choice` has the values of the quantified parameters for which the invariant is false in `last`. All
    values are plain, as in `describe_*` methods. `what` names the condition: "every member of the ISR had the lost
    record".
    """

    def decorate(method: Method) -> Method:
        method.__last_held__ = (what, holds)  # type: ignore[attr-defined]
        return method

    return decorate
