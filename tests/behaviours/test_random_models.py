"""Random models, each compared with itself without one action, and checked against the methods themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.analysis.inclusion.inclusion_check import Side, compare
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.model.language import EvaluationError, Model, ModelError, UnknownName
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models

LONGEST = 4
"""The most states of a path, and the most visible parts of a word."""
MANY = 300
Word = tuple[Any, ...]


@pytest.fixture(scope="module")
def seen() -> Iterator[Counter[str]]:
    """How often each answer was seen. The test fails if it says too little."""
    answers = Counter[str]()
    yield answers
    assert answers["lost"] >= 5
    assert answers["none"] >= 5


class TooMany(Exception):
    """There are too many states for a test."""


def words(it: Interpreter, places: list[int], without: str | None, whole: bool) -> dict[Word, int]:
    """Each history with the length of its shortest path, among all paths or among those of at most `LONGEST` states."""

    def seen(state: Any) -> Any:
        return tuple(state[i] for i in places)

    level = {(s, (seen(s),)) for s in initial_states(it.model) if it.counted(s)}
    met, found, length = set(level), dict[Word, int](), 1
    while level and (whole or length <= LONGEST):
        for _, word in level:
            found.setdefault(word, length)
        reached = set()
        for state, word in level:
            for number, after in it.steps(state):
                if isinstance(after, EvaluationError):
                    raise after
                if it.labels[number].action != without and it.counted(after):
                    longer = word if seen(after) == word[-1] else (*word, seen(after))
                    reached |= {(after, longer)} if len(longer) <= LONGEST else set()
        level = reached - met
        met |= level
        length += 1
        if len(met) > MANY:
            raise TooMany
    return found


def side(cls: type[Model], name: str) -> Side:
    return Side(name, LoadedModel(cls, name, None, {}), cls())


def lacking(cls: type[Model], action: str) -> type[Model]:
    """The model with an action that never happens."""
    name = next(n for n in dir(cls) if n.replace("_", "-") == action)
    method = getattr(cls, name)

    def never(self: Any, s: Any, *arguments: Any) -> None:
        return None

    never.__action__ = method.__action__  # type: ignore[attr-defined]
    return type("Random", (cls,), {name: never, "__module__": cls.__module__})


@examples(240)
@given(models(), st.integers(0, 9), st.integers(0, 9), st.booleans())
def test_what_a_model_loses_with_an_action_is_what_the_methods_say(
    seen: Counter[str], source: str, which: int, variable: int, alone: bool
) -> None:
    """Only one variable is visible, or all except this one."""
    cls = load(source)
    try:
        it = Interpreter(cls(), {})
        action = it.actions[which % len(it.actions)]
        names = list(it.model.domains)
        one = variable % len(names)
        places = [i for i in range(len(names)) if (i == one) == alone] or [one]
        fewer = lacking(cls, action)
        mine, others = words(it, places, None, False), words(it, places, action, True)
        compared = compare(side(cls, "all"), side(fewer, "fewer"), [names[i] for i in places])
    except UnknownName:
        raise  # each variable is in both
    except (EvaluationError, ModelError, TooMany) as error:
        seen[type(error).__name__] += 1
        return
    lost = [length for word, length in mine.items() if word not in others]
    way = compared.gone
    length = None if way.endings is None else way.endings.trace.length
    seen["lost" if lost else "none"] += 1
    assert compared.new.verdict == "none"
    if lost:
        assert length == min(lost)
    else:
        assert length is None or length > LONGEST
