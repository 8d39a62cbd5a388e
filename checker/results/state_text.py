"""Text for values and states according to their domains, and lists of the parts in which two states differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from isrcheck.model.language.domains import Domain, Per, Record, Sequence_, Value
from isrcheck.model.semantics.transition_system import Label, shown

Variables = Sequence[tuple[str, Domain]]
State = Sequence[Value]


def label_text(label: Label) -> str:
    """The text of an action instance: `become-leader(leader=0, epoch=1)`."""
    pairs = zip(label.parameters, label.domains, strict=True)
    return f"{label.action}({', '.join(f'{name}={d.text(value)}' for (name, value), d in pairs)})"


def parts(variables: Variables, state: State) -> Iterator[tuple[str, str]]:
    """The path and the value of every variable, as texts. A `per` variable has one entry for each index."""
    for (name, domain), value in zip(variables, state, strict=True):
        yield from _spread(name, domain, value)


def _spread(path: str, domain: Domain, value: Value) -> Iterator[tuple[str, str]]:
    if not isinstance(domain, Per):
        yield path, domain.text(value)
        return
    for key, x in zip(domain.index.values(), value, strict=True):
        yield from _spread(f"{path}[{domain.index.text(key)}]", domain.element, x)


def differences(variables: Variables, old: State, new: State) -> Iterator[tuple[str, str, str]]:
    """The parts in which two states differ, each as its path, its old value and its new value, as texts."""
    for (name, domain), a, b in zip(variables, old, new, strict=True):
        yield from _differences(name, domain, a, b)


def _differences(path: str, domain: Domain, a: Value, b: Value) -> Iterator[tuple[str, str, str]]:
    if a == b:
        return
    if isinstance(domain, Per):
        for key, x, y in zip(domain.index.values(), a, b, strict=True):
            yield from _differences(f"{path}[{domain.index.text(key)}]", domain.element, x, y)
    elif isinstance(domain, Record):
        for name, d, x, y in zip(domain.names, domain.domains, a, b, strict=True):
            yield from _differences(f"{path}.{name}", d, x, y)
    else:
        yield path, domain.text(a), domain.text(b)


def data_text(variables: Variables, path: str, data: Any) -> str:
    """The readable text of JSON data about the part of a state at a path such as `log[1]` or `quorum.isr`.

    If there is no such part, or if the data are no value of the part's domain, returns the text that `shown` gives.
    """
    try:
        domain = domain_at(dict(variables), path)
        return domain.text(domain.from_json(data))
    except (KeyError, AttributeError, ValueError):
        return shown(data)


def part_text(variables: Variables, state: State, path: str) -> str:
    """The part of a state at a path, as text."""
    domain, value = part_at(variables, state, path)
    return domain.text(value)


def part_at(variables: Variables, state: State, path: str) -> tuple[Domain, Value]:
    """The part of a state at a path, with its domain."""
    name, *steps = _steps(path)
    position = [n for n, _ in variables].index(name)
    domain, value = variables[position][1], state[position]
    for step in steps:
        if isinstance(domain, Per):
            keys = [f"[{domain.index.text(key)}]" for key in domain.index.values()]
            value, domain = value[keys.index(step)], domain.element
        else:
            assert isinstance(domain, Record)
            at, inner = domain.fields[step]
            value, domain = value[at], inner
    return domain, value


def apart(path: str, one: tuple[Domain, Value], other: tuple[Domain, Value]) -> Iterator[tuple[str, str, str]]:
    """The parts in which two values differ: the path and both texts. The values may come from different models.

    For sequences, the parts are elements that differ, and elements that only one of the values has. For a missing
    element, the text is `nothing`. If one of two records has all fields of the other, only their common fields are
    compared. If two `per` values have the same indices, their elements are compared. All other values are compared as
    whole texts.
    """
    match one, other:
        case (Sequence_() as a, x), (Sequence_() as b, y):
            for i in range(max(len(x), len(y))):
                here, there = f"{path}[{i}]", (len(x) > i, len(y) > i)
                if all(there):
                    yield from apart(here, (a.element, x[i]), (b.element, y[i]))
                else:
                    sides = zip((a, b), (x, y), there, strict=True)
                    old, new = (d.element.text(v[i]) if has else "nothing" for d, v, has in sides)
                    yield here, old, new
        case (Record() as a, x), (Record() as b, y) if set(a.names) <= set(b.names) or set(b.names) <= set(a.names):
            for name in (n for n in a.names if n in b.names):
                (i, d), (j, e) = a.fields[name], b.fields[name]
                yield from apart(f"{path}.{name}", (d, x[i]), (e, y[j]))
        case (Per() as a, x), (Per() as b, y) if [*a.index.values()] == [*b.index.values()]:
            for key, v, w in zip(a.index.values(), x, y, strict=True):
                yield from apart(f"{path}[{a.index.text(key)}]", (a.element, v), (b.element, w))
        case _:
            texts = one[0].text(one[1]), other[0].text(other[1])
            if texts[0] != texts[1]:
                yield path, *texts


def domain_at(domains: dict[str, Domain], path: str) -> Domain:
    """The domain of the part of a state at a path."""
    name, *steps = _steps(path)
    domain = domains[name]
    for step in steps:
        domain = domain.element if step.startswith("[") else domain.fields[step][1]  # type: ignore[attr-defined]
    return domain


def _steps(path: str) -> list[str]:
    return re.findall(r"\[[^\]]*\]|[^.\[\]]+", path)
