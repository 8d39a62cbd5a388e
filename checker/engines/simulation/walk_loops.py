"""The inner loops of random walks, as compiled code. They do not depend on the model.

Walks run side by side in *slots*. Each iteration takes one step in every slot. Every choice is drawn from a hash of the
seed, the walk's number and the position in the walk. So the walks do not depend on the number of slots or threads, nor
on the size of a *chunk* (the walks that a thread takes at a time).

The *verdict* of a state is a row of bits. For example, each invariant has a bit that is set if the state violates the
invariant (`checker/kernel/verdict_bits.py`). The *wanted* bits are those that end a walk.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.kernel.intrinsics import call_batch, call_expand, call_failures
from isrcheck.checker.kernel.jit import Loop

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
def begin(cursor, seed, initial, initial_bits, initial_hashes, states, walks, positions, keys, seen, registers, slot):
    """Gives a slot the next walk of the chunk. Returns False if no walk is left."""
    if cursor[NEXT] >= cursor[END]:
        return False
    walk = cursor[NEXT]
    cursor[NEXT] += 1
    walks[slot], positions[slot], keys[slot] = walk, 1, key_of(seed, walk)
    start = draw(keys[slot], 0, len(initial))
    for j in range(states.shape[1]):
        states[slot, j] = initial[start, j]
    for j in range(seen.shape[1]):
        seen[slot, j] = initial_bits[start, j]
    fingerprint(registers, initial_hashes[start])
    cursor[STATES] += 1
    return True


@Loop
def fill(cursor, seed, initial, initial_bits, initial_hashes, states, walks, positions, keys, seen, registers):
    """Starts the first walks of a chunk."""
    slot = 0
    while slot < len(walks) and begin(
        cursor, seed, initial, initial_bits, initial_hashes, states, walks, positions, keys, seen, registers, slot
    ):
        slot += 1
    cursor[SLOTS] = slot


@Loop
def choose(found, sources, verdicts, constrained, slots, keys, positions, degrees, left, chosen):
    """Draws one successor inside the constraints for each slot.

    Sets the slot's entry in `chosen` to the row of this successor, or to -1 if no successor is inside the constraints.
    """
    for i in range(slots):
        degrees[i], left[i], chosen[i] = 0, 0, -1
    for k in range(found):
        degrees[sources[k]] += 1
        if not (constrained and verdicts[k, 0] & np.uint64(OUTSIDE_BIT)):
            left[sources[k]] += 1
    for i in range(slots):
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
def note_failing(function, states, slots, sources, transitions, walks, positions, first, place):
    """Records the first state in which an instance is undefined."""
    found = call_failures(function, states.ctypes.data, slots, sources.ctypes.data, transitions.ctypes.data)
    for k in range(found):
        code = (positions[sources[k]] << WALK_BITS) | walks[sources[k]]
        if code < first[place]:
            first[place] = code


@Loop
def note_stuck(slots, degrees, walks, positions, first, place):
    """Records the first state in which no instance is enabled."""
    for i in range(slots):
        code = (positions[i] << WALK_BITS) | walks[i]
        if degrees[i] == 0 and code < first[place]:
            first[place] = code


@Loop
def move(slots, chosen, successors, transitions, states, positions, taken):
    """Moves every slot to its chosen successor."""
    for i in range(slots):
        k = chosen[i]
        if k >= 0:
            for j in range(states.shape[1]):
                states[i, j] = successors[k, j]
            positions[i] += 1
            taken[transitions[k]] += 1


@Loop
def note(cursor, chosen, degrees, hashes, verdicts, wanted, depth, walks, positions, seen, registers, first, ending):
    """Records the new state of each slot.

    Sets the slot's entry in `ending` to the reason why its walk ends, or to -1 if the walk continues.
    """
    for i in range(cursor[SLOTS]):
        ending[i] = -1
        if chosen[i] < 0:
            ending[i] = FENCED if degrees[i] else STUCK
            continue
        cursor[STATES] += 1
        fingerprint(registers, hashes[i])
        for j in range(seen.shape[1]):
            seen[i, j] |= verdicts[i, j]
        if saw(first, verdicts[i], wanted, positions[i], walks[i]):
            ending[i] = WRONG
        elif positions[i] >= depth:
            ending[i] = AT_DEPTH


@Loop
def settle(
    cursor, seed, initial, initial_bits, initial_hashes, states, walks, positions, keys, seen, registers,
    ending, lengths, ends, reached,
):  # fmt: skip
    """Counts the walks that ended. Gives their slots the next walks, or closes the slots if no walk is left."""
    for i in range(cursor[SLOTS] - 1, -1, -1):
        if ending[i] < 0:
            continue
        lengths[positions[i]] += 1
        ends[ending[i]] += 1
        for b in range(len(reached)):
            if (seen[i, b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
                reached[b] += 1
        if not begin(
            cursor, seed, initial, initial_bits, initial_hashes, states, walks, positions, keys, seen, registers, i
        ):
            last = cursor[SLOTS] - 1
            cursor[SLOTS] = last
            walks[i], positions[i], keys[i] = walks[last], positions[last], keys[last]
            for j in range(states.shape[1]):
                states[i, j] = states[last, j]
            for j in range(seen.shape[1]):
                seen[i, j] = seen[last, j]


@Loop
def advance(functions, constrained, wanted, depth, seed, initial, slots, buffers, seen, steps):
    """Takes up to `steps` steps in all slots.

    `functions` has the addresses of the kernel functions `expand`, `failures`, `evaluate` and `hashes`, in this order.
    """
    rows, bits, row_hashes = initial
    states, verdicts, met, hashes, keys, walks, positions, degrees, left, chosen, ending = slots
    successors, sources, transitions, beside, failing, failing_transitions = buffers
    cursor, taken, tally, lengths, ends, reached, first, registers = seen
    stuck_place = len(first) - 2
    for _ in range(steps):
        count = cursor[SLOTS]
        if count == 0:
            return
        failures = tally[FAILURES]
        found = call_expand(
            functions[0], states.ctypes.data, count, successors.ctypes.data, sources.ctypes.data,
            transitions.ctypes.data, tally.ctypes.data,
        )  # fmt: skip
        if tally[FAILURES] != failures:
            note_failing(
                functions[1], states, count, failing, failing_transitions, walks, positions, first, stuck_place + 1
            )
        if constrained:
            call_batch(functions[2], successors.ctypes.data, found, beside.ctypes.data)
            look_outside(found, sources, beside, wanted, walks, positions, first, cursor)
        choose(found, sources, beside, constrained, count, keys, positions, degrees, left, chosen)
        note_stuck(count, degrees, walks, positions, first, stuck_place)
        move(count, chosen, successors, transitions, states, positions, taken)
        call_batch(functions[2], states.ctypes.data, count, verdicts.ctypes.data)
        call_batch(functions[3], states.ctypes.data, count, hashes.ctypes.data)
        note(cursor, chosen, degrees, hashes, verdicts, wanted, depth, walks, positions, met, registers, first, ending)
        settle(
            cursor, seed, rows, bits, row_hashes, states, walks, positions, keys, met, registers, ending, lengths,
            ends, reached,
        )  # fmt: skip
