"""Covering arrays of pairs: rows in which all pairs of values of two factors occur."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations

Row = dict[str, str]
Item = tuple[str, str]
Pair = tuple[Item, Item]


def pairs_of(row: Row, factors: Mapping[str, Sequence[str]]) -> set[Pair]:
    return {((a, row[a]), (b, row[b])) for a, b in combinations(factors, 2)}


def covering(factors: Mapping[str, Sequence[str]], start: int, tries: int = 40) -> list[Row]:
    """Few rows with all pairs. Each row is the best of some random rows that begin with a missing pair.

    >>> [len(covering({"a": "xy", "b": "xy", "c": "xy"}, 1)) <= 6, covering({"a": "x", "b": "y"}, 1)]
    [True, [{'a': 'x', 'b': 'y'}]]
    """
    generator, rows = random.Random(start), list[Row]()
    places = {name: place for place, name in enumerate(factors)}
    missing = [((a, x), (b, y)) for a, b in combinations(factors, 2) for x in factors[a] for y in factors[b]]
    generator.shuffle(missing)
    while missing:
        left = set(missing)
        candidates = [_extended(dict(missing[0]), factors, places, left, generator) for _ in range(tries)]
        best = max(candidates, key=lambda row: len(left & pairs_of(row, factors)))
        rows.append(best)
        covered = pairs_of(best, factors)
        missing = [pair for pair in missing if pair not in covered]
    return rows


def _extended(
    row: Row, factors: Mapping[str, Sequence[str]], places: Mapping[str, int], left: set[Pair], generator: random.Random
) -> Row:
    """The row, completed so that each further factor has the value that adds most of the missing pairs."""
    order = [name for name in factors if name not in row]
    generator.shuffle(order)
    for name in order:
        before = [x for x in row.items() if places[x[0]] < places[name]]
        after = [x for x in row.items() if places[x[0]] > places[name]]
        brought = {v: _brought((name, v), before, after, left) for v in factors[name]}
        values = list(factors[name])
        generator.shuffle(values)
        row[name] = max(values, key=brought.__getitem__)
    return {name: row[name] for name in factors}


def _brought(one: Item, before: Sequence[Item], after: Sequence[Item], left: set[Pair]) -> int:
    """The number of missing pairs that a value adds, with values of the factors before and after its own."""
    return sum((other, one) in left for other in before) + sum((one, other) in left for other in after)
