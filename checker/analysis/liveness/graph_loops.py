"""Loops over the edges of a graph, as compiled code. `isrcheck.checker.analysis.liveness.region` describes the graph.

The states of the graph are found in a search from the sources. A state joins the search's queue when it is first
reached. A state has a number, and may have flags. Its rank is the count of smaller numbers whose states have flags (see
`rank_of`).
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,call-arg"

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.intrinsics import prefetch
from isrcheck.checker.kernel.jit import Loop
from isrcheck.checker.kernel.layout import Integers, Words

INSIDE: Final = 1
SOURCE: Final = 2
MARKED: Final = 4
"""Flags of a state: the question is open in it (`INSIDE`), it is a source (`SOURCE`), it has the mark (`MARKED`)."""
AHEAD: Final = 16
"""How many steps in advance the data of a state is fetched from memory."""

Narrow = npt.NDArray[Any]
"""Numbers of the narrowest integer type that can hold them."""


class Steps(NamedTuple):
    """The steps from some states: for each step, its source, its successor, its label and the number of its target.

    The number is negative if the target has no number. `steps_of` overwrites the numbers. `outside` marks the steps to
    targets that a constraint leaves out. It is empty if there are no constraints.
    """

    source: Integers
    successors: Words
    label: Narrow
    target: Integers
    outside: npt.NDArray[np.bool_]


class Queue(NamedTuple):
    """The queue of a search. `ranks` is the index of `ranking`. `length` is the length before the call of a loop.

    At position r, `places` has a number for the state with rank r: the state's place in the queue plus one, or 0 if it
    is not in the queue.
    """

    ranks: Words
    places: Narrow
    length: int


class ObligationSets(NamedTuple):
    """`of` has the number of each label's obligation, or -1. `enabled` and `cut` have a set for each state."""

    of: Integers
    enabled: Words
    cut: Words


class FoundSteps(NamedTuple):
    """Results of `steps_of`. `degree` has the number of steps of each state.

    `labels` has the labels of these steps, and `targets` the places of their targets in the queue. Both are sorted by
    the state that a step leaves. Steps from the same state keep their order. `fresh` has the positions of the steps
    that reach a state for the first time. `first` and `order` are spare memory. `first` has one number for each state,
    and `order` one number for each step.
    """

    degree: Narrow
    labels: Narrow
    targets: Narrow
    fresh: Narrow
    first: Integers
    order: Narrow


class Graph(NamedTuple):
    """The steps from state v lie at `begin[v]` to `begin[v + 1] - 1` of `target` and `label` (`region.Region`)."""

    begin: Narrow
    target: Narrow
    label: Narrow


class Summaries(NamedTuple):
    """Three sets of obligations and two marks for each component.

    `always` has the obligations that are enabled in all states of the component. `ever` has the obligations that are
    enabled in at least one of its states, and `taken` the obligations that its steps take. `state_mark` says whether a
    state of the component is marked, and `step_mark` whether a step of the component is marked.
    """

    always: Words
    ever: Words
    taken: Words
    state_mark: npt.NDArray[np.bool_]
    step_mark: npt.NDArray[np.bool_]


@Loop
def ranking(flags, found):
    """Makes an index of the numbers that have a flag. Returns how many such numbers there are.

    The index, `found`, has two words for every 64 numbers. All words must be 0 before the call. The bits of the first
    word say which of the 64 numbers have a flag. The second word counts the numbers below these 64 that have a flag.
    """
    count = np.int64(0)
    for word in range(len(found)):
        found[word, 1] = count
        for number in range(64 * word, min(64 * (word + 1), len(flags))):
            if flags[number]:
                found[word, 0] |= np.uint64(1) << np.uint64(number & 63)
                count += 1
    return count


@Loop
def rank_of(number, ranks):
    """How many smaller numbers have a flag; -1 if the number itself has no flag. `ranks` is the index of `ranking`."""
    bits, bit = ranks[number >> 6, 0], np.uint64(1) << np.uint64(number & 63)
    if bits & bit == 0:
        return np.int64(-1)
    bits &= bit - np.uint64(1)
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    ones = (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return np.int64(ranks[number >> 6, 1] + ones)


@Loop
def joined(states, queue, found):
    """Puts those of `states` that are not in the queue into `found`, and gives them the next places in the queue.

    Returns the number of these states.
    """
    places = queue.places
    fresh = 0
    for i in range(len(states)):
        rank = rank_of(np.int64(states[i]), queue.ranks)
        if places[rank] == 0:
            found[fresh] = states[i]
            fresh += 1
            places[rank] = queue.length + fresh
    return fresh


@Loop
def steps_of(states, steps, queue, sets, found):
    """Finds the steps from some states to states of the region.

    Returns how many of these steps reach a state for the first time. Steps that change nothing are left out. If a step
    is marked as outside, its obligation is added to the set that `cut` has for the state that the step leaves.
    Otherwise the obligation is added to this state's set in `enabled`.
    """
    source, label, target, outside = steps.source, steps.label, steps.target, steps.outside
    ranks, places, degree, first, order = queue.ranks, queue.places, found.degree, found.first, found.order
    words, here = states.shape[1], np.uint64(places.ctypes.data)
    degree[:] = 0
    for i in range(len(source)):
        v, same = source[i], True
        for w in range(words):
            same &= steps.successors[i, w] == states[v, w]
        if same:
            target[i] = -1  # a step that changes nothing does not count
            continue
        o = sets.of[label[i]]
        if o >= 0:
            into = sets.cut if len(outside) and outside[i] else sets.enabled
            into[v, o >> 6] |= np.uint64(1) << np.uint64(o & 63)
    bits = np.uint64(ranks.ctypes.data)
    for i in range(len(target)):
        if i + AHEAD < len(target) and target[i + AHEAD] >= 0:
            prefetch(bits + np.uint64(16 * (target[i + AHEAD] >> 6)))
        if target[i] >= 0:
            target[i] = rank_of(target[i], ranks)
            degree[source[i]] += target[i] >= 0
    count = np.int64(0)
    for v in range(len(states)):
        first[v] = count
        count += degree[v]
    for i in range(len(target)):
        if target[i] >= 0:
            order[first[source[i]]] = i
            first[source[i]] += 1
    fresh = 0
    for k in range(count):
        if k + AHEAD < count:
            prefetch(here + np.uint64(places.itemsize * target[order[k + AHEAD]]))
        i = order[k]
        if places[target[i]] == 0:
            found.fresh[fresh] = i
            fresh += 1
            places[target[i]] = queue.length + fresh
        found.labels[k], found.targets[k] = label[i], places[target[i]] - 1
    return fresh


@Loop
def components(begin, target, alive, number, calls, entered, open_, at):
    """The strongly connected components among the alive states. A single state is no component.

    Puts the number of the component of each state (-1 for none) into `number`. Returns how many components there are.
    `calls`, `entered`, `open_` and `at` are spare memory of one number for each state.

    This is Tarjan's algorithm with one number for each state (Pearce 2016). When a state is visited, it gets the next
    number, from 1 upwards. Until the state's component is known, this number is reduced to the least number that is
    found among the states to which the state leads. Then it is replaced by the number of the component. Components are
    first numbered downwards from the number of states minus one. At the end they are renumbered from 0 upwards.
    """
    n = len(begin) - 1
    for v in range(n):
        number[v] = 0 if alive[v] else n
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
    sizes = entered  # reused for the size of each component, then for its final number
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
    return count


@Loop
def summaries(number, graph, enabled, obligation, never, marked, found):
    """Finds the `Summaries` of the components.

    A state is marked if it has a flag in `marked`, and a step if `never` has a flag for its label. Before the call, all
    bits of `always` must be set, and all bits and flags of the other results must be clear.
    """
    target, label, always, ever = graph.target, graph.label, found.always, found.ever
    words = enabled.shape[1]
    for v in range(len(number)):
        c = number[v]
        if c < 0:
            continue
        found.state_mark[c] |= marked[v]
        for w in range(words):
            always[c, w] &= enabled[v, w]
            ever[c, w] |= enabled[v, w]
        for i in range(np.int64(graph.begin[v]), np.int64(graph.begin[v + 1])):
            if number[target[i]] == c:
                found.step_mark[c] |= never[label[i]]
                o = obligation[label[i]]
                if o >= 0:
                    found.taken[c, o >> 6] |= np.uint64(1) << np.uint64(o & 63)
