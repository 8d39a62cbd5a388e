"""Loops over the edges of a graph, compiled by Numba; `region` describes the graph."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

INSIDE: Final = 1
SOURCE: Final = 2
MARKED: Final = 4
REACHED: Final = 8
"""Flags of a state: whether it is in the region, is a source, is marked, and was reached from a source."""

_compiled: Any = njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")


@_compiled
def steps_of(states, successors, source, label, target, outside, obligation, flags, enabled, cut, degree, found):
    """Labels and targets of the steps of some states that stay in the region, state by state and else in their order.

    `target` is negative for what is not in the table, `outside` (if it is not empty) true for what no constraint lets
    in. Fills in how many steps each state has, and the obligations that are enabled there, or cut. What is reached for
    the first time is flagged, and put into `found`; returns how many these are, too.
    """
    words = states.shape[1]
    for i in range(len(source)):
        v, same = source[i], True
        for w in range(words):
            same &= successors[i, w] == states[v, w]
        if same:
            target[i] = -1  # a step that changes nothing is none
            continue
        o = obligation[label[i]]
        if o >= 0:
            into = cut if len(outside) and outside[i] else enabled
            into[v, o >> 6] |= np.uint64(1) << np.uint64(o & 63)
        if target[i] >= 0 and not flags[target[i]] & INSIDE:
            target[i] = -1
        degree[v] += target[i] >= 0
    place = np.cumsum(degree) - degree
    count = np.int64(0)
    for v in range(len(degree)):
        count += degree[v]
    labels, targets = np.empty(count, dtype=label.dtype), np.empty(count, dtype=found.dtype)
    for i in range(len(source)):
        if target[i] >= 0:
            v = source[i]
            labels[place[v]], targets[place[v]] = label[i], target[i]
            place[v] += 1
    fresh = 0
    for i in range(count):
        if not flags[targets[i]] & REACHED:
            flags[targets[i]] |= REACHED
            found[fresh] = targets[i]
            fresh += 1
    return labels, targets, fresh


@_compiled
def ones(word):
    """How many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@_compiled
def place_of(number, bits, before):
    """How many bits are set below one; `before` has those of all words below a word."""
    below = (np.uint64(1) << np.uint64(number & 63)) - np.uint64(1)
    return before[number >> 6] + ones(bits[number >> 6] & below)


@_compiled
def renumbered(numbers, order, bits):
    """Instead of each of some numbers its place in `order`; `bits` are set for those that are there.

    A number's place among those bits is counted, so that nothing as long as the bits is needed but the bits.
    """
    before = np.zeros(len(bits) + 1, dtype=np.uint32)
    for word in range(len(bits)):
        before[word + 1] = before[word] + ones(bits[word])
    places = np.empty(len(order), dtype=np.uint32)
    for i in range(len(order)):
        places[place_of(np.int64(order[i]), bits, before)] = i
    for i in range(len(numbers)):
        numbers[i] = places[place_of(np.int64(numbers[i]), bits, before)]


@_compiled
def components(begin, target, alive):
    """The strongly connected components of the states that are alive, of two states or more: those with steps inside.

    For each state the number of its component, -1 for others; and how many there are. This is Tarjan's algorithm with
    one number a state (Pearce 2016): of an open state the least that it leads to, counted up from 1, of a finished one
    that of its component, counted down from the number of states.
    """
    n = len(begin) - 1
    number = np.zeros(n, dtype=np.int32)
    for v in range(n):
        if not alive[v]:
            number[v] = n
    calls, entered, open_ = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    at = np.empty(n, dtype=np.uint32)
    depth = opened = 0
    next_, component = 1, n - 1
    for root in range(n):
        if number[root] != 0:
            continue
        v = root
        while True:
            if number[v] == 0:
                calls[depth], entered[depth], at[depth] = v, next_, 0
                number[v] = next_
                depth += 1
                next_ += 1
            i, end = np.int64(begin[v]) + np.int64(at[depth - 1]), np.int64(begin[v + 1])
            least, deeper = number[v], False
            while i < end:
                w = target[i]
                if number[w] == 0:
                    deeper = True
                    break
                least = min(least, number[w])
                i += 1
            number[v] = least
            if deeper:
                at[depth - 1] = i - np.int64(begin[v])
                v = w
                continue
            depth -= 1
            if least == entered[depth]:
                next_ -= 1
                while opened and number[open_[opened - 1]] >= least:
                    opened -= 1
                    next_ -= 1
                    number[open_[opened]] = component
                number[v] = component
                component -= 1
            else:
                open_[opened] = v
                opened += 1
            if depth == 0:
                break
            v = calls[depth - 1]
    sizes = entered  # of components, by what is counted down
    sizes[:] = 0
    for v in range(n):
        if alive[v]:
            sizes[number[v]] += 1
    count = np.int32(0)
    for c in range(n):
        if sizes[c] > 1:
            sizes[c], count = count, count + 1
        else:
            sizes[c] = -1
    for v in range(n):
        number[v] = sizes[number[v]] if alive[v] else -1
    return number, count


@_compiled
def summaries(number, count, begin, target, label, enabled, obligation, never, marked):
    """For each component: what is always enabled, what is ever enabled, what its steps take, whether it has a mark.

    `never` says of each label whether it is an action that counts as the mark of a step.
    """
    words = enabled.shape[1]
    always = np.full((count, words), np.uint64(0xFFFFFFFFFFFFFFFF), dtype=np.uint64)
    ever, taken = np.zeros((count, words), dtype=np.uint64), np.zeros((count, words), dtype=np.uint64)
    state_mark, step_mark = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for v in range(len(number)):
        c = number[v]
        if c < 0:
            continue
        state_mark[c] |= marked[v]
        for w in range(words):
            always[c, w] &= enabled[v, w]
            ever[c, w] |= enabled[v, w]
        for i in range(np.int64(begin[v]), np.int64(begin[v + 1])):
            if number[target[i]] == c:
                step_mark[c] |= never[label[i]]
                o = obligation[label[i]]
                if o >= 0:
                    taken[c, o >> 6] |= np.uint64(1) << np.uint64(o & 63)
    return always, ever, taken, state_mark, step_mark
