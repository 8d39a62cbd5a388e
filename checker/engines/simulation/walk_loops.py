"""The inner loops of random walks, as compiled code. They do not depend on the model.

Walks run side by side in *slots*. Each iteration takes one step in every slot. Every choice is drawn from a hash of the
seed, the walk's number and the position in the walk. So the walks do not depend on the number of slots or threads, nor
on the size of a *chunk* (the walks that a thread takes at a time).

The *verdict* of a state is a row of bits. For example, each invariant has a bit that is set if the state violates the
invariant (`checker/kernel/verdict_bits.py`). The *wanted* bits are those that end a walk.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from isrcheck.checker.kernel.intrinsics import call_batch, call_expand, call_failures
from isrcheck.checker.kernel.jit import Loop
from isrcheck.checker.kernel.layout import Integers, Words

GOLDEN: Final = 0x9E3779B97F4A7C15
OUTSIDE_BIT: Final = 2
"""The mask of the verdict bit that marks states outside the constraints."""
FINGERPRINT_BITS: Final = 16
"""The estimate of distinct states uses 2**16 registers, which gives a standard error of 0.4 %."""

WALK_BITS: Final = 40
NEVER: Final = (1 << 62) - 1
"""The array `first` (`walks.Seen`) has this value for an observation that no walk has made. An observation, such as a
violation of an invariant, is stored as the number `position << WALK_BITS | walk`. Only the least such number is kept.
So the position is the earliest in any walk. If several walks make the observation at this position, `walk` is the least
of these walks."""

AT_DEPTH: Final = 0
STUCK: Final = 1
FENCED: Final = 2
WRONG: Final = 3
"""The reasons why a walk ended. AT_DEPTH: the walk has reached the greatest length. STUCK: no instance was enabled.
FENCED: every successor was outside the constraints. WRONG: the walk met a state with a violation or an undefined
predicate."""

SLOTS: Final = 0
NEXT: Final = 1
END: Final = 2
STATES: Final = 3
REJECTED: Final = 4
"""The array `cursor` (`walks.Seen`) has five numbers at these positions: the number of slots in use, the next walk of
the chunk, the chunk's last walk plus one, the number of states met so far, and the number of successors outside the
constraints."""

FAILURES: Final = 2
"""The position of the number of failing instances in the kernel's tally (`checker/kernel/verdict_bits.py`)."""


class InitialStates(NamedTuple):
    """The seed, and the initial states inside the constraints with their verdicts and their hashes."""

    seed: int
    rows: Words
    bits: Words
    hashes: Words


class WalkInput(NamedTuple):
    """What all walks have in common (`walks.Start`).

    `functions` has the addresses of the kernel functions `expand`, `failures`, `evaluate` and `hashes`, in this order.
    """

    functions: Integers
    constrained: bool
    wanted: Words
    depth: int
    initial: InitialStates


class Lanes(NamedTuple):
    """For each lane: its state, the verdict bits that its walk has met, and the key and the number of the walk.

    `positions` has the position in the walk.
    """

    states: Words
    met: Words
    keys: Words
    walks: Integers
    positions: Integers


class Slots(NamedTuple):
    """The lanes, and arrays with an entry for each lane that one step computes.

    `verdicts` and `hashes` belong to the present states. `degrees` and `chosen` are the number of successors and the
    row of the chosen one (`choose`, which also uses `left`). `ending` is the reason why the walk ends (`note`).
    """

    lanes: Lanes
    verdicts: Words
    hashes: Words
    degrees: Integers
    left: Integers
    chosen: Integers
    ending: Integers


class Successors(NamedTuple):
    """The successors of the present states of all lanes: for each, its lane, its transition and, if the system has
    constraints, its verdict. Also the lanes and the transitions of failing instances."""

    rows: Words
    sources: Integers
    transitions: Integers
    verdicts: Words
    failing: Integers
    failing_transitions: Integers


@Loop
def mixed(x):
    """A 64-bit hash of 64 bits (the last steps of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@Loop
def key_of(seed, walk):
    """The key of a walk, from which all its random numbers are computed."""
    return mixed(mixed(np.uint64(seed)) + np.uint64(GOLDEN) * np.uint64(walk + 1))


@Loop
def draw(key, position, bound):
    """A random number from 0 to `bound - 1`. The probabilities of the numbers differ by at most 2**-32."""
    bits = mixed(key + np.uint64(GOLDEN) * np.uint64(position + 1)) >> np.uint64(32)
    return np.int64((bits * np.uint64(bound)) >> np.uint64(32))


@Loop
def fingerprint(registers, h):
    """Adds a hash to the registers, from which the number of distinct hashes is estimated."""
    h = mixed(h)
    rest = (h << np.uint64(FINGERPRINT_BITS)) | (np.uint64(1) << np.uint64(FINGERPRINT_BITS - 1))
    rank = 1
    while not rest >> np.uint64(63):
        rest <<= np.uint64(1)
        rank += 1
    place = h >> np.uint64(64 - FINGERPRINT_BITS)
    if rank > registers[place]:
        registers[place] = rank


@Loop
def saw(first, verdicts, wanted, position, walk):
    """Notes each wanted bit that is set in a verdict, in `first` (see `NEVER`). Returns whether there is such a bit."""
    code = (position << WALK_BITS) | walk
    any_seen = False
    for j in range(len(wanted)):
        bits = verdicts[j] & wanted[j]
        if bits:
            any_seen = True
            for b in range(64):
                if (bits >> np.uint64(b)) & np.uint64(1) and code < first[64 * j + b]:
                    first[64 * j + b] = code
    return any_seen


@Loop
def begin(initial, lanes, cursor, registers, slot):
    """Gives a lane the next walk of the chunk. Returns False if no walk is left."""
    if cursor[NEXT] >= cursor[END]:
        return False
    walk, key = cursor[NEXT], key_of(initial.seed, cursor[NEXT])
    cursor[NEXT] += 1
    lanes.walks[slot], lanes.positions[slot], lanes.keys[slot] = walk, 1, key
    row = draw(key, 0, len(initial.rows))
    for j in range(lanes.states.shape[1]):
        lanes.states[slot, j] = initial.rows[row, j]
    for j in range(lanes.met.shape[1]):
        lanes.met[slot, j] = initial.bits[row, j]
    fingerprint(registers, initial.hashes[row])
    cursor[STATES] += 1
    return True


@Loop
def fill(initial, lanes, cursor, registers):
    """Starts the first walks of a chunk."""
    slot = 0
    while slot < len(lanes.walks) and begin(initial, lanes, cursor, registers, slot):
        slot += 1
    cursor[SLOTS] = slot


@Loop
def choose(found, successors, constrained, count, slots):
    """Draws one of the `found` successors inside the constraints for each of the `count` lanes.

    Sets the slot's entry in `chosen` to the row of this successor, or to -1 if no successor is inside the constraints.
    """
    sources, verdicts = successors.sources, successors.verdicts
    keys, positions = slots.lanes.keys, slots.lanes.positions
    degrees, left, chosen = slots.degrees, slots.left, slots.chosen
    for i in range(count):
        degrees[i], left[i], chosen[i] = 0, 0, -1
    for k in range(found):
        degrees[sources[k]] += 1
        if not (constrained and verdicts[k, 0] & np.uint64(OUTSIDE_BIT)):
            left[sources[k]] += 1
    for i in range(count):
        left[i] = draw(keys[i], positions[i], left[i]) if left[i] else -1
    for k in range(found):
        if constrained and verdicts[k, 0] & np.uint64(OUTSIDE_BIT):
            continue
        slot = sources[k]
        if left[slot] == 0:
            chosen[slot] = k
        left[slot] -= 1


@Loop
def look_outside(found, sources, verdicts, wanted, walks, positions, first, cursor):
    """Counts the successors outside the constraints, which no walk enters. Records their wanted verdict bits."""
    for k in range(found):
        if verdicts[k, 0] & np.uint64(OUTSIDE_BIT):
            slot = sources[k]
            cursor[REJECTED] += 1
            saw(first, verdicts[k], wanted, positions[slot] + 1, walks[slot])


@Loop
def note_failing(function, count, slots, sources, transitions, first, place):
    """Records the first state in which an instance is undefined."""
    states, walks, positions = slots.lanes.states, slots.lanes.walks, slots.lanes.positions
    found = call_failures(function, states.ctypes.data, count, sources.ctypes.data, transitions.ctypes.data)
    for k in range(found):
        code = (positions[sources[k]] << WALK_BITS) | walks[sources[k]]
        if code < first[place]:
            first[place] = code


@Loop
def note_stuck(count, degrees, walks, positions, first, place):
    """Records the first state in which no instance is enabled."""
    for i in range(count):
        code = (positions[i] << WALK_BITS) | walks[i]
        if degrees[i] == 0 and code < first[place]:
            first[place] = code


@Loop
def move(count, chosen, successors, transitions, states, positions, taken):
    """Moves every lane to its chosen successor."""
    for i in range(count):
        k = chosen[i]
        if k >= 0:
            for j in range(states.shape[1]):
                states[i, j] = successors[k, j]
            positions[i] += 1
            taken[transitions[k]] += 1


@Loop
def note(start, slots, seen):
    """Records the new state of each lane.

    Sets the slot's entry in `ending` to the reason why its walk ends, or to -1 if the walk continues.
    """
    cursor, registers, first = seen.cursor, seen.registers, seen.first
    walks, positions, met = slots.lanes.walks, slots.lanes.positions, slots.lanes.met
    chosen, ending, verdicts = slots.chosen, slots.ending, slots.verdicts
    for i in range(cursor[SLOTS]):
        ending[i] = -1
        if chosen[i] < 0:
            ending[i] = FENCED if slots.degrees[i] else STUCK
            continue
        cursor[STATES] += 1
        fingerprint(registers, slots.hashes[i])
        for j in range(met.shape[1]):
            met[i, j] |= verdicts[i, j]
        if saw(first, verdicts[i], start.wanted, positions[i], walks[i]):
            ending[i] = WRONG
        elif positions[i] >= start.depth:
            ending[i] = AT_DEPTH


@Loop
def settle(start, slots, seen):
    """Counts the walks that ended. Gives their lanes the next walks, or closes the lanes if no walk is left."""
    cursor, reached, lanes, ending = seen.cursor, seen.reached, slots.lanes, slots.ending
    states, met, walks, positions, keys = lanes.states, lanes.met, lanes.walks, lanes.positions, lanes.keys
    for i in range(cursor[SLOTS] - 1, -1, -1):
        if ending[i] < 0:
            continue
        seen.lengths[positions[i]] += 1
        seen.ends[ending[i]] += 1
        for b in range(len(reached)):
            if (met[i, b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
                reached[b] += 1
        if not begin(start.initial, lanes, cursor, seen.registers, i):
            last = cursor[SLOTS] - 1
            cursor[SLOTS] = last
            walks[i], positions[i], keys[i] = walks[last], positions[last], keys[last]
            for j in range(states.shape[1]):
                states[i, j] = states[last, j]
            for j in range(met.shape[1]):
                met[i, j] = met[last, j]


@Loop
def advance(start, slots, successors, seen, steps):
    """Takes up to `steps` steps in all lanes."""
    functions, wanted, constrained = start.functions, start.wanted, start.constrained
    states, walks, positions = slots.lanes.states, slots.lanes.walks, slots.lanes.positions
    rows, sources, transitions = successors.rows, successors.sources, successors.transitions
    cursor, tally, first = seen.cursor, seen.tally, seen.first
    stuck_place = len(first) - 2
    for _ in range(steps):
        count = cursor[SLOTS]
        if count == 0:
            return
        failures = tally[FAILURES]
        found = call_expand(
            functions[0], states.ctypes.data, count, rows.ctypes.data, sources.ctypes.data, transitions.ctypes.data,
            tally.ctypes.data,
        )  # fmt: skip
        if tally[FAILURES] != failures:
            failing, which = successors.failing, successors.failing_transitions
            note_failing(functions[1], count, slots, failing, which, first, stuck_place + 1)
        if constrained:
            call_batch(functions[2], rows.ctypes.data, found, successors.verdicts.ctypes.data)
            look_outside(found, sources, successors.verdicts, wanted, walks, positions, first, cursor)
        choose(found, successors, constrained, count, slots)
        note_stuck(count, slots.degrees, walks, positions, first, stuck_place)
        move(count, slots.chosen, rows, transitions, states, positions, seen.taken)
        call_batch(functions[2], states.ctypes.data, count, slots.verdicts.ctypes.data)
        call_batch(functions[3], states.ctypes.data, count, slots.hashes.ctypes.data)
        note(start, slots, seen)
        settle(start, slots, seen)
