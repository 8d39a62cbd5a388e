"""Identities: only comparisons for equality are allowed, and the states are those of the protocol up to names."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from isrcheck import check
from isrcheck.model.language import (
    Model,
    ModelError,
    action,
    flag,
    identity,
    invariant,
    messages,
    number,
    per,
    record,
    sequence,
    setting,
)
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.agreement.test_engines_agree import comparable
from tests.language import mistakes
from tests.language.mistakes import line_of, made, said_by_running, said_by_tracing
from tests.marks import one_in

TEXT = mistakes.MODEL.replace(
    '"on": flag', '"v": identity(3), "w": identity(4), "told": sequence(identity(3), 1), "on": flag'
)
NO_NUMBER = "identities have no order and no arithmetic"
MISTAKES = {
    "an order": ("s.require(s.v < s.told.first)", NO_NUMBER),
    "an order with a number": ("s.require(s.n <= s.v)", ("is combined with", NO_NUMBER)),
    "arithmetic": ("s.v = s.v + 1", NO_NUMBER),
    "arithmetic from a number": ("s.n = minimum(s.n + s.v, 1)", ("is combined with", NO_NUMBER)),
    "the least": ("s.v = minimum(s.v, s.told.first)", NO_NUMBER),
    "an index": ("s.end[s.v] = 1", ("index by a broker", "cannot be an index")),
    "an offset": ("s.require(s.log.at(s.v) == 1)", ("is combined with", "cannot be an index")),
    "a number": ("s.n = s.v", ("store a number", NO_NUMBER)),
    "a number compared": ("s.require(s.v == s.n)", ("is combined with", "where an identity is required")),
    "compared with a number": ("s.require(s.n == s.v)", ("is combined with", "cannot be an index")),
    "a literal": ("s.v = 2", ("2 is not an identity of 3", "2 where an identity is required")),
    "a literal compared": ("s.require(s.v == 2)", ("is combined with 2", "2 where an identity is required")),
    "true": ("s.v = False", ("False is not an identity of 3", "False where an identity is required")),
    "another domain": ("s.v = s.w", ("identity of 4", "where an identity is required")),
    "another domain compared": ("s.require(s.v == s.w)", ("identity of 4", "where an identity is required")),
    "fresh of another": ("s.v = s.fresh(identity(4))", ("identity of 4", "where an identity is required")),
    "fresh of numbers": ("s.n = s.fresh(number(0, 3))", "s.fresh(a number from 0 to 3)"),
    "fresh by name": ("s.v = s.fresh('v')", "s.fresh(v); write s.fresh(domain) with an identity(n)"),
    "used up of numbers": ("s.require(s.used_up(number(0, 3)))", "s.used_up(a number from 0 to 3)"),
    "fresh twice": ("s.v = s.fresh(identity(3)); s.told = [s.fresh(identity(3))]", "s.fresh is used twice in a step"),
    "fresh, and not used": ("s.fresh(identity(3))", "but does not use it"),
    "after an assignment": ("s.v = 0; s.told.append(s.fresh(identity(3)))", "v is read after it was assigned"),
    "after an append": ("s.told.append(s.v); s.v = s.fresh(identity(3))", "is read after it was assigned"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, said = MISTAKES[name]
    by_tracing, by_running = (said, said) if isinstance(said, str) else said
    monkeypatch.setattr(mistakes, "MODEL", TEXT)
    text = mistakes.text_of(body)
    for found, wanted in ((said_by_tracing(text), by_tracing), (said_by_running(text), by_running)):
        assert found.startswith(f"mistake.py:{line_of(text, body)}: ")
        assert wanted in found


DECLARED = {
    "per an identity": ("per(identity(3), flag)", "per(an identity of 3"),
    "one value": ("identity(1)", "identity(1) has no fresh value; give it at least 2 values"),
    "no number": ("identity('n')", "identity('n'); give the number of values as an integer"),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_domain_that_is_none_is_refused(name: str) -> None:
    domain, wanted = DECLARED[name]
    with pytest.raises(ModelError, match=r"^mistake\.py:") as error:
        made(mistakes.text_of().replace('"on": flag', f'"v": {domain}, "on": flag'))()
    assert wanted in str(error.value)


def test_nothing_but_the_state_knows_an_identity() -> None:
    text = mistakes.text_of().replace("k=number(0, 3)", "k=record(v=identity(3))")
    found = said_by_tracing(text)
    assert "parameter k of act is a record of v; read it from the state, its only source" in found


# --- random protocols ---------------------------------------------------------------------------------------------

ENOUGH = 9
"""More identities than a state has places, which is seven."""
SCALARS = ("a", "b", "r0", "r1")
KINDS = ("copy", "fresh", "reset", "append", "append-fresh", "take", "tell", "hear", "swap")
Act = tuple[str, str, str, str]
"""The kind of an action, its target, its source, and its requirement ("" or two places with a comparison)."""


class Protocol(Model):
    """Places for identities, and actions by chance that move them around."""

    abstract = True
    size = setting(ENOUGH, at_least=2, at_most=ENOUGH, meaning="identities")
    acts: ClassVar[tuple[Act, ...]] = ()

    def variables(self) -> dict[str, Any]:
        self.v = v = identity(self.size)
        reported = messages(record(v=v, f=flag))
        return {"a": v, "b": v, "r": per(number(0, 1), v), "q": sequence(v, 2), "told": reported, "same": flag}

    @action(k=number(0, 5), actor="someone")
    def act(self, s: Any, k: int) -> None:
        """One of the actions."""
        if k >= len(self.acts):
            return
        kind, to, of, required = self.acts[k]
        if required:
            x, sign, y = required.split()
            s.require(read(s, x) == read(s, y) if sign == "==" else read(s, x) != read(s, y))
        if kind in ("fresh", "append-fresh"):
            s.require(s.room(~s.used_up(self.v)))
        match kind:
            case "copy":
                write(s, to, read(s, of))
            case "fresh":
                write(s, to, s.fresh(self.v))
            case "reset":
                write(s, to, 0)
            case "append" | "append-fresh":
                s.require(~s.q.is_full)
                s.q.append(s.fresh(self.v) if kind == "append-fresh" else read(s, of))
            case "take":
                s.require(~s.q.is_empty)
                write(s, to, s.q.first)
                s.q.remove_first()
            case "tell":
                s.require(s.told.is_empty)
                s.told.add({"v": read(s, of), "f": s.same})
            case "hear":
                s.require(s.told.has({"v": read(s, of), "f": False}) | s.told.has({"v": read(s, of), "f": True}))
                s.same = s.told.has({"v": read(s, of), "f": True})
                s.told = []
            case "swap":
                s.same = read(s, of) == read(s, to)

    @invariant
    def differ(self, s: Any) -> Any:
        """The first two places differ, or a queue is not full."""
        return (s.a != s.b) | (s.r[0] == s.r[1]) | ~s.q.is_full


def read(s: Any, place: str) -> Any:
    return s.r[int(place[1])] if place[0] == "r" else getattr(s, place)


def write(s: Any, place: str, value: Any) -> None:
    if place[0] == "r":
        s.r[int(place[1])] = value
    else:
        setattr(s, place, value)


def drawn(seed: int) -> tuple[Act, ...]:
    dice = random.Random(seed)
    found = [("fresh", dice.choice(SCALARS), "", "")]
    for kind in dice.choices(KINDS, k=dice.randint(3, 5)):
        to, of = dice.sample(SCALARS, 2)
        required = " ".join([dice.choice(SCALARS), dice.choice(("==", "!=")), dice.choice(SCALARS)])
        found.append((kind, to, of, required if dice.random() < 0.4 else ""))
    return tuple(found)


Places = tuple[int, int, int, int, tuple[int, ...], tuple[tuple[int, bool], ...], bool]
"""The values of a, b, r0, r1, the queue, `reported` and the flag. Values are numbered in the order of occurrence."""


def named(places: list[Any]) -> Places:
    """The places with values renumbered in the order of occurrence; 0 stays."""
    names: dict[int, int] = {0: 0}
    *scalars, queue, reported, same = places
    flat = [*scalars, *queue, *(v for v, _ in reported)]
    for value in flat:
        names.setdefault(value, len(names))
    found = [names[value] for value in scalars]
    return (*found, tuple(names[v] for v in queue), tuple((names[v], f) for v, f in reported), same)  # type: ignore[return-value]


def after(places: Places, act: Act) -> Places | None:
    """The effect of an action if there is always a value that never occurred before; None if it is not enabled."""
    kind, to, of, required = act
    *scalars, queue, reported, same = places
    at: dict[str, Any] = dict(zip(SCALARS, scalars, strict=True))
    if required:
        x, sign, y = required.split()
        if (at[x] == at[y]) != (sign == "=="):
            return None
    never = 100
    match kind:
        case "copy":
            at[to] = at[of]
        case "fresh":
            at[to] = never
        case "reset":
            at[to] = 0
        case "append" | "append-fresh":
            if len(queue) == 2:
                return None
            queue = (*queue, never if kind == "append-fresh" else at[of])
        case "take":
            if not queue:
                return None
            at[to], queue = queue[0], queue[1:]
        case "tell":
            if reported:
                return None
            reported = ((at[of], same),)
        case "hear":
            if not reported or reported[0][0] != at[of]:
                return None
            same, reported = reported[0][1], ()
        case "swap":
            same = at[of] == at[to]
    return named([*at.values(), queue, reported, same])


def behaved(acts: tuple[Act, ...]) -> set[Places]:
    """All states of a protocol with unlimited new values, up to names."""
    first: Places = (0, 0, 0, 0, (), (), False)
    found, queue = {first}, deque([first])
    while queue:
        places = queue.popleft()
        for act in acts:
            then = after(places, act)
            if then is not None and then not in found:
                found.add(then)
                queue.append(then)
    return found


def explored(cls: type[Model]) -> Iterator[Places]:
    """The states that the methods themselves reach, up to names."""
    it = Interpreter(cls(), {})
    states = list(initial_states(it.model))
    seen = set(states)
    for state in states:
        a, b, r, queue, reported, same = state
        yield named([a, b, *r, queue, sorted(reported), same])
        for i in range(len(it.labels)):
            then = it.step(state, i)
            if then is not None and then not in seen:
                seen.add(then)
                states.append(then)


def protocol(seed: int) -> type[Model]:
    return type("Drawn", (Protocol,), {"acts": drawn(seed), "__module__": __name__})


def require_true(seed: int) -> int:
    cls, truth = protocol(seed), behaved(drawn(seed))
    assert set(explored(cls)) == truth, seed
    for size in (ENOUGH, 2, 3):
        one, other = (check(cls(size=size), engine=engine, keep_going=True) for engine in ("reference", "local"))
        assert comparable(one) == comparable(other), (seed, size)
        assert size < ENOUGH or one.distinct >= len(truth)
    return len(truth)


def test_what_is_explored_is_the_protocol_up_to_names() -> None:
    assert max(map(require_true, range(4))) > 20


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", one_in(5, range(5)))
def test_what_is_explored_is_the_protocol_up_to_names_for_many(part: int) -> None:
    for seed in range(100 + 40 * part, 140 + 40 * part):
        require_true(seed)


class Two(Model):
    """Two places, and a value for each of them now and then."""

    abstract = True
    size = setting(4, at_least=2, at_most=4, meaning="identities")

    def variables(self) -> dict[str, Any]:
        return {"held": per(number(0, 1), identity(self.size))}

    @action(k=number(0, 1), actor="someone")
    def renew(self, s: Any, k: int) -> None:
        """A place gets a value that is nowhere."""
        s.held[k] = s.fresh(identity(self.size))


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_where_all_are_held_none_is_fresh(engine: str) -> None:
    enough = check(Two, engine=engine)
    assert (enough.exit_code, enough.levels) == (0, [1, 2, 4, 4])  # 00, 10 01, 20 12 21 02, 32 13 31 23
    wanting = check(Two(size=3), engine=engine)
    assert wanting.exit_code == 75
    assert wanting.evaluation is not None
    assert wanting.evaluation.what == "held[0]: no fresh identity of 3 is left"
