"""Values of every domain: as leaves, as JSON, and in order."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isrcheck.model.language.domains import (
    BrokerSet,
    Domain,
    bag,
    broker,
    channel,
    enum,
    flag,
    messages,
    number,
    optional,
    per,
    record,
    resolved,
    scalarset,
    sequence,
    set_of,
)
from tests.agreement.profiles import examples

MOST = 2_000
"""The most values of a domain that are enumerated."""


def of(member: Any) -> list[Domain]:
    return [member, optional(member), set_of(member)]


SCALARS = st.one_of(
    st.just(flag),
    st.tuples(st.integers(-3, 3), st.integers(0, 4)).map(lambda x: number(x[0], x[0] + x[1])),
    st.integers(1, 4).map(lambda n: enum(*"abcd"[:n])),
    st.sampled_from([*of(broker), *of(scalarset("client"))]),
)
INDICES = SCALARS.filter(lambda d: not isinstance(d, BrokerSet) and not getattr(d, "optional", False))


def structures(inner: st.SearchStrategy[Domain]) -> st.SearchStrategy[Domain]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: record(**dict(zip("xyz", parts, strict=False)))),
        st.tuples(inner, st.integers(1, 2)).map(lambda x: sequence(*x)),
        inner.map(messages),
        st.tuples(inner, st.integers(1, 3)).map(lambda x: bag(*x)),
        st.tuples(inner, st.integers(1, 2)).map(lambda x: channel(*x)),
        st.tuples(INDICES, inner).map(lambda x: per(*x)),
    )


@st.composite
def domains(draw: Any) -> Domain:
    """A random domain of any kind with few values, for a fixed number of brokers and clients."""
    domain = resolved(
        draw(st.recursive(SCALARS, structures, max_leaves=3)),
        {"broker": draw(st.integers(1, 3)), "client": draw(st.integers(1, 2))},
    )
    assume(small(domain))
    return domain


def small(domain: Domain) -> bool:
    """True if a domain and all its parts have few values."""
    parts = getattr(domain, "domains", None) or [getattr(domain, n) for n in ("index", "element") if hasattr(domain, n)]
    if not all(small(part) for part in parts):
        return False
    values = len(list(itertools.islice(parts[-1].values(), 13))) if parts else 0
    if type(domain).__name__ in ("Bag", "Channel", "Messages", "Per", "Sequence_") and values > 12:
        return False
    return len(list(itertools.islice(domain.values(), MOST + 1))) <= MOST


@examples(150)
@given(domains())
def test_values_come_in_the_order_of_their_leaves_and_each_once(domain: Domain) -> None:
    leaves = [domain.encode(value) for value in domain.values()]
    assert leaves == sorted(leaves)
    assert len({tuple(x) for x in leaves}) == len(leaves)
    assert domain.first == next(domain.values())


@examples(150)
@given(domains())
def test_a_value_is_what_its_leaves_and_its_json_say(domain: Domain) -> None:
    scalars = domain.scalars
    for value in domain.values():
        leaves = domain.encode(value)
        assert all(s.low <= x <= s.high for s, x in zip(scalars, leaves, strict=True))
        rest = iter(leaves)
        assert domain.decode(rest) == value
        assert next(rest, None) is None
        assert domain.contains(value)
        assert domain.from_json(json.loads(json.dumps(domain.to_json(value)))) == value


@examples(150)
@given(domains())
def test_leaves_have_paths_of_their_own(domain: Domain) -> None:
    paths = [s.path for s in domain.scalars]
    assert len(set(paths)) == len(paths) == domain.width


ODD = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 9), st.floats(allow_nan=False), st.sampled_from(["a", "b", ""])
    ),
    lambda x: st.one_of(st.lists(x, max_size=3), st.dictionaries(st.sampled_from(["x", "y", "q"]), x, max_size=3)),
    max_leaves=6,
)


@examples(200)
@given(domains(), ODD)
def test_json_data_is_a_value_or_is_refused(domain: Domain, data: Any) -> None:
    try:
        value = domain.from_json(data)
    except ValueError:
        return
    assert domain.contains(value)
    assert value in set(domain.values())


def three(domain: Domain) -> Domain:
    return resolved(domain, {"broker": 3})


@pytest.mark.parametrize(
    ("domain", "data"),
    [
        (flag, 1),
        (flag, None),
        (number(0, 3), True),
        (number(0, 3), 4),
        (number(0, 3), 1.0),
        (number(0, 3), "1"),
        (enum("a", "b"), "c"),
        (enum("a", "b"), 0),
        (enum("a", "b"), []),
        (three(broker), None),
        (three(broker), 3),
        (three(broker), False),
        (three(optional(broker)), -1),
        (three(set_of(broker)), [0, 0]),
        (three(set_of(broker)), [3]),
        (three(set_of(broker)), [[0]]),
        (three(set_of(broker)), {"0": 0}),
        (record(x=flag), {}),
        (record(x=flag), {"x": True, "y": True}),
        (record(x=flag), [True]),
        (sequence(flag, 1), [True, True]),
        (sequence(flag, 1), "t"),
        (bag(flag, 2), [1]),
        (bag(flag, 2), [True, True, True]),
        (bag(flag, 2), {}),
        (channel(flag, 1), [True, True]),
        (messages(flag), [1]),
        (messages(flag), [True, True]),
        (messages(flag), {}),
        (per(flag, flag), [True]),
        (per(flag, flag), [True, 1]),
    ],
)
def test_json_data_of_another_kind_is_refused(domain: Domain, data: Any) -> None:
    with pytest.raises(ValueError, match=r"is not|does not have"):
        domain.from_json(data)


def test_a_set_of_messages_over_a_large_domain_is_refused() -> None:
    from isrcheck.model.language import ModelError

    with pytest.raises(ModelError) as caught:
        _ = messages(number(0, 5000)).first
    assert str(caught.value) == (
        "a set of messages over a number from 0 to 5000 has more than 4096 possible elements, and each "
        "is a bit of the state; use fewer values or per(index, record)"
    )
