"""Chooses the word of a packed state for each leaf, so that each word has few distinct values in a search.

The engine for large state spaces keeps the distinct values of each word
(`isrcheck.checker.engines.explicit.compressed_ids`). A word has few distinct values if its leaves depend on each other.
The choice is made for a sample of states from random walks. It changes the time and the memory of a search, but no
result. The choice depends only on the system and on the states in which the walks can begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import WORD, Integers, Layout, Words
from isrcheck.checker.kernel.verdict_bits import OUTSIDE
from isrcheck.model.semantics.expressions import Leaf
from isrcheck.model.semantics.transition_system import TransitionSystem

WALKS: Final = 1 << 9
STEPS: Final = 40
FIRST: Final = 1 << 12
"""Random walks begin in the first levels that together have at least this many states. If all known levels together
have fewer states, the walks begin in all known levels."""
SAMPLE: Final = 1 << 12
"""The sample for the choice has at most this many states."""
EFFORT: Final = 1 << 12
"""The search for better words ends after about this many tries. A try counts the distinct values of a set of leaves."""
WORTHWHILE: Final = 0.9
"""The choice is used only if the number of distinct values, added up over all words, is at most this share of the
number for the usual layout."""
LARGEST: Final = 32
"""Any group of leaves may be moved to another word. Only this many groups, the largest in bits, may be exchanged."""

Group = tuple[int, ...]
"""The numbers of some leaves, in ascending order."""


def arranged(system: TransitionSystem, levels: Sequence[Words]) -> Kernel:
    """A kernel with the chosen word of each leaf, or with the usual layout if the choice is not clearly better.

    `levels` are the first levels of the search in the usual layout. If `levels` is empty, random walks begin in the
    initial states. The chosen layout has as many words as the usual layout.
    """
    kernel = Kernel(system)
    if kernel.words == 1:
        return kernel
    states = _walk_states(system, kernel, _first(levels or [kernel.layout.pack(system.initial)]))
    chosen = _Choice(system.leaves, kernel.layout, states[:: 1 + len(states) // SAMPLE])
    before = chosen.total
    chosen.improve()
    return Kernel(system, Layout(system.leaves, chosen.words)) if chosen.total <= WORTHWHILE * before else kernel


def _first(levels: Sequence[Words]) -> Words:
    """The states of the first levels that together have at least `FIRST` states.

    If all levels together have fewer states, the states of all levels.
    """
    enough = int(np.searchsorted(np.cumsum([len(level) for level in levels]), FIRST)) + 1
    return np.concatenate(levels[:enough])


def _walk_states(system: TransitionSystem, kernel: Kernel, known: Words) -> Words:
    """The distinct states of random walks that begin in known states. A walk without a next step begins anew."""
    dice = np.random.default_rng(0)
    states = known[dice.integers(0, len(known), WALKS)]
    seen = [states]
    for _ in range(STEPS):
        successors, sources, *_ = kernel.expand(states)
        if system.constraints:
            inside = kernel.evaluate(successors)[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 0
            successors, sources = successors[inside], sources[inside]
        order, degrees = np.argsort(sources, kind="stable"), np.bincount(sources, minlength=WALKS)
        picked = np.cumsum(degrees) - degrees + (dice.random(WALKS) * degrees).astype(np.int64)
        states = known[dice.integers(0, len(known), WALKS)]
        states[degrees > 0] = successors[order[picked[degrees > 0]]]
        seen.append(states)
    return np.unique(np.concatenate(seen), axis=0)


class _Choice:
    """A choice of the word of each leaf (`words`), which is improved step by step.

    Each value of each leaf has a random number. The hash of a set of leaves in a state is the exclusive or of the
    random numbers of these leaves' values. The number of distinct hashes in the sample is taken as the number of
    distinct values of the set. (Two values may have the same hash by chance, with a probability that does not matter.)
    """

    def __init__(self, leaves: Sequence[Leaf], layout: Layout, sample: Words) -> None:
        self.words = [place.word for place in layout.places]
        widths = [place.width for place in layout.places]
        self._hashes = _hashes(layout.unpack(sample))
        self._groups = _groups(leaves, widths)
        self._bits = {group: sum(widths[i] for i in group) for group in self._groups}
        self._hash = {group: np.bitwise_xor.reduce(self._hashes[list(group)]) for group in self._groups}
        self._room, self._states, self._counts = [], [], list[int]()
        self._tries = 0
        for word in range(layout.words):
            inside = [i for i, its in enumerate(self.words) if its == word and widths[i]]
            self._room.append(WORD - (word == 0) - sum(widths[i] for i in inside))
            self._states.append(np.bitwise_xor.reduce(self._hashes[inside]))
            self._counts.append(self._count(self._states[word]))

    @property
    def total(self) -> int:
        return sum(self._counts)

    def _count(self, hashes: Words) -> int:
        self._tries += 1
        ordered = np.sort(hashes)
        return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))

    def improve(self) -> None:
        """Moves and exchanges groups until the total of distinct values no longer falls, or until `EFFORT` is spent."""
        large = sorted(self._groups, key=lambda group: (-self._bits[group], group))[:LARGEST]
        before = self.total + 1
        while self.total < before and self._tries < EFFORT:
            before = self.total
            for group in self._groups:
                self._try(group, ((word, ()) for word in range(len(self._counts))))
            for group in large:
                self._try(group, ((self.words[other[0]], other) for other in large))

    def _try(self, group: Group, changes: Iterator[tuple[int, Group]]) -> None:
        """Makes the change that most reduces the number of distinct values. Makes no change if none reduces the number.

        A change moves `group` to another word, and a second group (or no leaves) from this word to the former word of
        `group`. A change is possible only if both words have room, and if the leaves of each group are in one word.
        """
        best, here = None, self.words[group[0]]
        if not self._in_one_word(group) or self._tries >= EFFORT:
            return
        for there, other in changes:
            more = self._bits[group] - (self._bits[other] if other else 0)
            if there == here or more > self._room[there] or -more > self._room[here] or not self._in_one_word(other):
                continue
            moved = self._hash[group] ^ self._hash[other] if other else self._hash[group]
            counts = self._count(self._states[here] ^ moved), self._count(self._states[there] ^ moved)
            gain = self._counts[here] + self._counts[there] - sum(counts)
            if gain > 0 and (best is None or gain > best[0]):
                best = gain, there, other, moved, counts, more
        if best is None:
            return
        _, there, other, moved, counts, more = best
        self._counts[here], self._counts[there] = counts
        self._states[here], self._states[there] = self._states[here] ^ moved, self._states[there] ^ moved
        self._room[here], self._room[there] = self._room[here] + more, self._room[there] - more
        for i in group:
            self.words[i] = there
        for i in other:
            self.words[i] = here

    def _in_one_word(self, group: Group) -> bool:
        return all(self.words[i] == self.words[group[0]] for i in group)


def _hashes(values: Integers) -> Words:
    """For each leaf and each state: the random number of the leaf's value in the state. Shape (leaves, states).

    Equal values of a leaf have the same random number.
    """
    dice = np.random.default_rng(1)
    rows = []
    for column in values.T:
        distinct, numbers = np.unique(column, return_inverse=True)
        rows.append(dice.integers(0, 1 << 63, len(distinct), dtype=np.uint64)[numbers])
    return np.stack(rows)


def _groups(leaves: Sequence[Leaf], widths: Sequence[int]) -> list[Group]:
    """Groups of leaves that may belong together. Larger groups come first.

    A group has one leaf, the leaves of a variable, the leaves of a part of a variable, or the leaves of the same part
    at all indexes (such as all `replica[.].leader`). Leaves that take no bits are in no group.
    """
    groups = dict[str, list[int]]()
    for i, leaf in enumerate(leaves):
        for name in _names(leaf.path) if widths[i] else ():
            groups.setdefault(name, []).append(i)
    return sorted({tuple(group) for group in groups.values()}, key=lambda group: (-len(group), group))


def _names(path: str) -> Iterator[str]:
    """The names of the groups that a leaf with this path belongs to."""
    names = {path}
    while (end := max(path.rfind("."), path.rfind("["))) > 0:
        path = path[:end]
        names.add(path)
    yield from sorted(names | {re.sub(r"\[\d+\]", "[.]", name) for name in names})
