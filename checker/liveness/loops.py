"""What walks over the edges of a graph one by one, compiled by Numba; a graph is as `region` has it."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_compiled: Any = njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")


@_compiled
def by_source(source, label, target, number, begin):
    """Steps in the order of their sources, and else as they are; `number` gives states new numbers.

    `begin` has room for one number more than there are states, and then says where the steps of each begin.
    """
    begin[:] = 0
    for i in range(len(source)):
        begin[number[source[i]] + 1] += 1
    for v in range(1, len(begin)):
        begin[v] += begin[v - 1]
    place = begin[:-1].copy()
    labels, targets = np.empty(len(source), dtype=np.int32), np.empty(len(source), dtype=np.int32)
    for i in range(len(source)):
        v = number[source[i]]
        labels[place[v]], targets[place[v]] = label[i], number[target[i]]
        place[v] += 1
    return labels, targets


@_compiled
def components(begin, target, alive):
    """The strongly connected components of the states that are alive (Tarjan): for each state a number, -1 for others.

    Also how many components there are. A component has its number once all that it leads to has one.
    """
    n = len(begin) - 1
    number = np.full(n, -1, dtype=np.int32)
    low, index = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    at = np.zeros(n, dtype=np.int64)
    open_, calls = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    opened = depth = 0
    counter = found = np.int32(0)
    for root in range(n):
        if not alive[root] or index[root] != 0:
            continue
        calls[0], depth = root, 1
        while depth:
            v = calls[depth - 1]
            if index[v] == 0:
                counter += np.int32(1)
                index[v] = low[v] = counter
                at[v] = begin[v]
                open_[opened] = v
                opened += 1
            deeper = False
            while at[v] < begin[v + 1]:
                w = target[at[v]]
                at[v] += 1
                if not alive[w] or number[w] >= 0:
                    continue
                if index[w] == 0:
                    calls[depth] = w
                    depth += 1
                    deeper = True
                    break
                low[v] = min(low[v], index[w])
            if deeper:
                continue
            depth -= 1
            if depth:
                low[calls[depth - 1]] = min(low[calls[depth - 1]], low[v])
            if low[v] == index[v]:
                while True:
                    opened -= 1
                    w = open_[opened]
                    number[w] = found
                    if w == v:
                        break
                found += np.int32(1)
    return number, found


@_compiled
def summaries(number, count, begin, target, label, enabled, obligation, never, marked):
    """Of each component: its states, what is always enabled, what is ever, what its steps take, whether it has a mark.

    `never` says of each label whether it is an action that counts as the mark of a step; a component without steps has
    no mark of that kind.
    """
    words = enabled.shape[1]
    size = np.zeros(count, dtype=np.int64)
    always = np.full((count, words), np.uint64(0xFFFFFFFFFFFFFFFF), dtype=np.uint64)
    ever, taken = np.zeros((count, words), dtype=np.uint64), np.zeros((count, words), dtype=np.uint64)
    state_mark, step_mark = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for v in range(len(number)):
        c = number[v]
        if c < 0:
            continue
        size[c] += 1
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
    return size, always, ever, taken, state_mark, step_mark
