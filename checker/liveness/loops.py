"""Loops over the edges of a graph, compiled by Numba; `region` describes the graph."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_compiled: Any = njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")


@_compiled
def steps_of(states, successors, source, label, target, outside, obligation, enabled, cut, degree):
    """Labels and targets of the steps of some states that stay in the region, state by state and else in their order.

    `target` is negative for what is not in the region, `outside` (if it is not empty) true for what no constraint
    lets in. Fills in how many steps each state has, and the obligations that are enabled there, or cut.
    """
    words = states.shape[1]
    for i in range(len(source)):
        v, same = source[i], True
        for w in range(words):
            same &= successors[i, w] == states[v, w]
        if same:
            target[i] = -1  # a step that changes nothing is none
            continue
        degree[v] += target[i] >= 0
        o = obligation[label[i]]
        if o >= 0:
            into = cut if len(outside) and outside[i] else enabled
            into[v, o >> 6] |= np.uint64(1) << np.uint64(o & 63)
    place = np.cumsum(degree) - degree
    count = degree.sum()
    labels, targets = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    for i in range(len(source)):
        if target[i] >= 0:
            v = source[i]
            labels[place[v]], targets[place[v]] = label[i], target[i]
            place[v] += 1
    return labels, targets


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
    at = np.empty(n, dtype=np.int64)
    depth = opened = 0
    next_, component = 1, n - 1
    for root in range(n):
        if number[root] != 0:
            continue
        v = root
        while True:
            if number[v] == 0:
                calls[depth], entered[depth], at[depth] = v, next_, begin[v]
                number[v] = next_
                depth += 1
                next_ += 1
            i, end, least, deeper = at[depth - 1], begin[v + 1], number[v], False
            while i < end:
                w = target[i]
                if number[w] == 0:
                    deeper = True
                    break
                least = min(least, number[w])
                i += 1
            number[v] = least
            if deeper:
                at[depth - 1] = i
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
        for i in range(begin[v], begin[v + 1]):
            if number[target[i]] == c:
                step_mark[c] |= never[label[i]]
                o = obligation[label[i]]
                if o >= 0:
                    taken[c, o >> 6] |= np.uint64(1) << np.uint64(o & 63)
    return always, ever, taken, state_mark, step_mark
