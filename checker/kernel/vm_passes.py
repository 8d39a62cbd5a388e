"""LLVM text of functions that run whole programs over columns, and of a function that keeps new states.

The functions are the same for all models and are compiled together with `run` of `isrcheck.checker.kernel.bytecode`.
All arguments are 64-bit integers, many of them addresses. A *part* of a program has the instructions for a transition
or a flag. It is stored as `PART` integers, in the order of the names from `INSTRUCTIONS` to `NUMBER`. A *leaf* is one
of the integers of a state. A *column* has a byte or a 64-bit integer for each state. A *lane* is the position of a
state in a column. Each leaf, and each value that a change adds to a word, is stored with the address of a column. The
lowest bit of this address is set if the column has 64-bit integers. (Columns are aligned, so this bit is free.)

`unpack(leaves, count, words, stride, lanes)`
    Fills the columns of leaves from the words of states. The array at `words + 8 * stride * w` has the w-th word of
    each state.
    A leaf is stored as `LEAF` integers: the address of its column, its word, its shift, its mask, its least value.
`expand(parts, count, rows, words, lanes, degrees, masks, ends, out, sources, counts) -> failures`
    Writes the successors of states, part by part. `rows` has the packed states, of `words` words each. Adds the number
    of each state's successors to `degrees` (32 bits for each lane), and the number of successors of each group of 64
    lanes to `ends`. `masks` is spare memory of the size of `ends`. `out` receives the successors, `sources` the lane of
    each successor's source, and `counts` the number of successors of each part. Returns how many instances fail.
`arrange(parts, count, counts, words, starts, out, sources, first, rows, positions, transitions)`
    Sorts the successors that `expand` has written. A group has the successors of 64 successive source lanes. Within a
    group, the successors are sorted by part. Writes the sorted successors to `rows`. For each of them, writes the lane
    of its source plus `first` to `positions`, and the number of its transition to `transitions`. `starts` has the
    position of the first successor of each group. The call overwrites `starts`.
`evaluate(parts, count, lanes, out, words)`
    Sets bit p of a state's verdict if the part whose `NUMBER` is p has a flag that holds in the state. A verdict has
    `words` words.
`keep_new(table, mask, known, count, rows, n, words) -> count`
    Appends to `known` each of the `n` rows at `rows` that `known` does not contain yet. At first `known` has `count`
    rows. Returns how many rows `known` has at the end. `table` is a hash table of `mask + 1` 32-bit integers. Each of
    these integers is 0, or is one more than the position of a row in `known`. The table must not become full.
"""

from __future__ import annotations

from typing import Final

from isrcheck.checker.kernel.llvm_routines import Routine
from isrcheck.checker.kernel.llvm_words import FIRST

BLOCK: Final = 64
"""How many lanes are processed at a time."""
LEAF: Final = 5
PART: Final = 9
INSTRUCTIONS, STEPS, FLAG, FAILURE, BODY, BODY_STEPS, CHANGES, CHANGE_COUNT, NUMBER = range(PART)
"""The positions of a part's integers. The integer at `FLAG` is 0 if the part has no flag. The integer at `FAILURE` is 0
if the part has no failure."""
CHANGE: Final = 5
"""A change is stored as this many integers: word, kept bits, added number, address of values, number of values."""
VALUE: Final = 2
"""A value of a change is stored as this many integers: the address of its column, and its shift."""
SIGNATURES: Final = {
    "unpack": (5, False),
    "expand": (11, True),
    "arrange": (11, False),
    "evaluate": (5, False),
    "keep_new": (7, True),
}
"""The number of arguments of each function, and whether it returns an integer."""

_BYTES: Final = f"<{BLOCK} x i8>"
_FLAGS: Final = f"<{BLOCK} x i1>"
_DEGREES: Final = f"<{BLOCK} x i32>"
_WORDS: Final = f"<{BLOCK} x i64>"
DECLARATIONS: Final = """\
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
"""


def passes_text() -> str:
    """The text of all functions of this file. They call `run`, which `isrcheck.checker.kernel.bytecode` defines."""
    return "\n".join([DECLARATIONS, _unpack(), _expand(), _arrange(), _evaluate(), _keep_new()])


def _unpack() -> str:
    r = Routine("unpack", ["leaves", "count", "words", "stride", "lanes"], ["i", "lane"])
    with r.each("i", "%count") as i:
        column, word, shift, mask, low = (r.element(r.address("%leaves", r.times(i, LEAF)), f) for f in range(LEAF))
        states = r.address("%words", r.times(word, "%stride"))
        shifts, masks, lows = (_all_lanes(r, x) for x in (shift, mask, low))
        wide, start = r.let(f"and i64 {column}, 1"), r.let(f"and i64 {column}, -2")
        with r.each("lane", "%lanes", step=BLOCK) as lane:
            bits = r.let(f"lshr {_WORDS} {r.load(r.address(states, lane), _WORDS)}, {shifts}")
            value = r.let(f"add {_WORDS} {r.let(f'and {_WORDS} {bits}, {masks}')}, {lows}")
            with r.when(f"eq i64 {wide}, 0"):
                r.store(r.plus(start, lane), r.let(f"trunc {_WORDS} {value} to {_BYTES}"), _BYTES, 1)
            with r.when(f"ne i64 {wide}, 0"):
                r.store(r.address(start, lane), value, _WORDS)
    return r.text()


def _all_lanes(r: Routine, value: str) -> str:
    one = r.let(f"insertelement {_WORDS} poison, i64 {value}, i64 0")
    return r.let(f"shufflevector {_WORDS} {one}, {_WORDS} poison, <{BLOCK} x i32> zeroinitializer")


def _part(r: Routine, number: str) -> list[str]:
    part = r.address("%parts", r.times(number, PART))
    return [r.element(part, field) for field in range(PART)]


def _run(r: Routine, instructions: str, steps: str, first: str, last: str) -> None:
    with r.when(f"ne i64 {steps}, 0"):
        r.do(f"call void @run(i64 {instructions}, i64 {steps}, i64 {first}, i64 {last})")


def _bits(r: Routine, column: str, lane: str) -> str:
    """64 bits, for the 64 lanes that begin at `lane`. A bit is 1 if the flag holds in its lane.

    The bit of a lane without a state is 0.
    """
    flags = r.let(f"icmp ne {_BYTES} {r.load(r.plus(column, lane), _BYTES, 1)}, zeroinitializer")
    bits, left = r.let(f"bitcast {_FLAGS} {flags} to i64"), r.let(f"sub i64 %lanes, {lane}")
    below = r.let(f"sub i64 {r.let(f'shl i64 1, {left}')}, 1")
    whole = r.let(f"icmp sge i64 {left}, {BLOCK}")
    return r.let(f"and i64 {bits}, {r.let(f'select i1 {whole}, i64 -1, i64 {below}')}")


def _population(r: Routine, bits: str) -> str:
    return r.let(f"call i64 @llvm.ctpop.i64(i64 {bits})")


def _lowest(r: Routine, bits: str, lane: str) -> str:
    """The lane for which the lowest set bit stands. Bit 0 stands for the lane `lane`."""
    return r.plus(r.let(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)"), lane)


def _drop_lowest(r: Routine, variable: str) -> None:
    bits = r.get(variable)
    r.put(variable, r.let(f"and i64 {bits}, {r.let(f'sub i64 {bits}, 1')}"))


def _expand() -> str:
    names = ["parts", "count", "rows", "words", "lanes", "degrees", "masks", "ends", "out", "sources", "counts"]
    variables = ["i", "lane", "fired", "failing", "at", "bits", "change", "value", "sum", "word", "first", "last"]
    r = Routine("expand", names, variables, returns=True)
    r.put("failing", 0)
    r.put("at", 0)
    size = r.times("%words", 8)
    with r.each("i", "%count") as i:
        instructions, steps, flag, failure, body, body_steps, changes, change_count, _ = _part(r, i)
        _run(r, instructions, steps, "0", "%lanes")
        r.put("fired", 0)
        with r.when(f"eq i64 {flag}, 0"), r.each("lane", "%lanes", step=BLOCK) as lane:
            r.add_to("failing", _population(r, _bits(r, failure, lane)))
        with r.when(f"ne i64 {flag}, 0"):
            r.put("first", -1)
            _enabled(r, flag, failure)
            with r.when(f"ne i64 {r.get('fired')}, 0"):
                _run(r, body, body_steps, r.get("first"), r.get("last"))
                with r.each("lane", "%lanes", step=BLOCK) as lane:
                    r.put("bits", r.load(r.plus("%masks", r.let(f"lshr i64 {lane}, 3"))))
                    with r.while_not_zero("bits"):
                        source = _lowest(r, r.get("bits"), lane)
                        _drop_lowest(r, "bits")
                        at = r.get("at")
                        _successor(r, source, at, size, changes, change_count)
                        r.store(r.address("%sources", at), source)
                        r.put("at", r.plus(at, 1))
        r.store(r.address("%counts", i), r.get("fired"))
    return r.text(f"ret i64 {r.get('failing')}")


def _enabled(r: Routine, flag: str, failure: str) -> None:
    """Finds the lanes in which a part fires. Sets a bit in `masks` for each of them. Stores their number in `fired`.

    A block has `BLOCK` lanes. Stores the beginning of the first block with a found lane in `first`, and the end of the
    last block with a found lane in `last`. Updates `failing`, `ends` and `degrees`.
    """
    with r.each("lane", "%lanes", step=BLOCK) as lane:
        r.put("bits", _bits(r, flag, lane))
        with r.when(f"ne i64 {failure}, 0"):
            fails = _bits(r, failure, lane)
            r.add_to("failing", _population(r, fails))
            r.put("bits", r.let(f"and i64 {r.get('bits')}, {r.let(f'xor i64 {fails}, -1')}"))
        bits = r.get("bits")
        r.store(r.plus("%masks", r.let(f"lshr i64 {lane}, 3")), bits)
        with r.when(f"ne i64 {bits}, 0"):
            count = _population(r, bits)
            r.add_to("fired", count)
            ends = r.plus("%ends", r.let(f"lshr i64 {lane}, 3"))
            r.store(ends, r.plus(r.load(ends), count))
            with r.when(f"slt i64 {r.get('first')}, 0"):
                r.put("first", lane)
            r.put("last", r.plus(lane, BLOCK))
            place = r.address("%degrees", lane, 4)
            ones = r.let(f"zext {_FLAGS} {r.let(f'bitcast i64 {bits} to {_FLAGS}')} to {_DEGREES}")
            r.store(place, r.let(f"add {_DEGREES} {r.load(place, _DEGREES, 4)}, {ones}"), _DEGREES, 4)


def _successor(r: Routine, source: str, at: str, size: str, changes: str, count: str) -> None:
    """Writes one successor, a copy of its source with the changed words."""
    before, after = r.plus("%rows", r.times(source, size)), r.plus("%out", r.times(at, size))
    with r.each("word", "%words") as word:
        r.store(r.address(after, word), r.element(before, word))
    with r.each("change", count) as change:
        word, kept, base, values, how_many = (
            r.element(r.address(changes, r.times(change, CHANGE)), field) for field in range(CHANGE)
        )
        place = r.address(after, word)
        r.put("sum", r.plus(r.let(f"and i64 {r.load(place)}, {kept}"), base))
        with r.each("value", how_many) as value:
            column, shift = (r.element(r.address(values, r.times(value, VALUE)), field) for field in range(VALUE))
            start = r.let(f"and i64 {column}, -2")
            with r.when(f"eq i64 {r.let(f'and i64 {column}, 1')}, 0"):
                narrow = r.load(r.plus(start, source), "i8", 1)
                r.add_to("sum", r.let(f"shl i64 {r.let(f'sext i8 {narrow} to i64')}, {shift}"))
            with r.when(f"ne i64 {r.let(f'and i64 {column}, 1')}, 0"):
                r.add_to("sum", r.let(f"shl i64 {r.element(start, source)}, {shift}"))
        r.store(place, r.get("sum"))


def _arrange() -> str:
    names = [
        "parts",
        "count",
        "counts",
        "words",
        "starts",
        "out",
        "sources",
        "first",
        "rows",
        "positions",
        "transitions",
    ]
    r = Routine("arrange", names, ["i", "j", "at", "word"])
    r.put("at", 0)
    size = r.times("%words", 8)
    with r.each("i", "%count") as i:
        number, count = r.element(r.address("%parts", r.times(i, PART)), NUMBER), r.element("%counts", i)
        with r.each("j", count):
            at = r.get("at")
            r.put("at", r.plus(at, 1))
            source = r.element("%sources", at)
            start = r.address("%starts", r.let(f"lshr i64 {source}, 6"))
            place = r.load(start)
            r.store(start, r.plus(place, 1))
            before, after = r.plus("%out", r.times(at, size)), r.plus("%rows", r.times(place, size))
            with r.each("word", "%words") as word:
                r.store(r.address(after, word), r.element(before, word))
            r.store(r.address("%positions", place), r.plus(source, "%first"))
            r.store(r.address("%transitions", place), number)
    return r.text()


def _evaluate() -> str:
    r = Routine("evaluate", ["parts", "count", "lanes", "out", "words"], ["i", "lane", "bits"])
    with r.each("i", "%count") as i:
        instructions, steps, flag, *_, number = _part(r, i)
        _run(r, instructions, steps, "0", "%lanes")
        bit = r.let(f"shl i64 1, {r.let(f'and i64 {number}, 63')}")
        place = r.address("%out", r.let(f"lshr i64 {number}, 6"))
        with r.each("lane", "%lanes", step=BLOCK) as lane:
            r.put("bits", _bits(r, flag, lane))
            with r.while_not_zero("bits"):
                verdict = r.address(place, r.times(_lowest(r, r.get("bits"), lane), "%words"))
                _drop_lowest(r, "bits")
                r.store(verdict, r.let(f"or i64 {r.load(verdict)}, {bit}"))
    return r.text()


def _keep_new() -> str:
    names = ["table", "mask", "known", "count", "rows", "n", "words"]
    r = Routine("keep_new", names, ["i", "word", "hash", "found", "slot", "searching", "differs"], returns=True)
    size = r.times("%words", 8)
    r.put("found", "%count")
    with r.each("i", "%n") as i:
        row = r.plus("%rows", r.times(i, size))
        r.put("hash", 0)
        with r.each("word", "%words") as word:
            h = r.let(f"xor i64 {r.get('hash')}, {r.element(row, word)}")
            h = r.times(r.let(f"xor i64 {h}, {r.let(f'lshr i64 {h}, 32')}"), FIRST)
            r.put("hash", r.let(f"xor i64 {h}, {r.let(f'lshr i64 {h}, 29')}"))
        h = r.get("hash")
        r.put("slot", r.let(f"and i64 {r.let(f'xor i64 {h}, ' + r.let(f'lshr i64 {h}, 32'))}, %mask"))
        r.put("searching", 1)
        with r.while_not_zero("searching"):
            place = r.address("%table", r.get("slot"), 4)
            entry = r.let(f"zext i32 {r.load(place, 'i32', 4)} to i64")
            with r.when(f"eq i64 {entry}, 0"):
                found = r.get("found")
                new, more = r.plus("%known", r.times(found, size)), r.plus(found, 1)
                with r.each("word", "%words") as word:
                    r.store(r.address(new, word), r.element(row, word))
                r.store(place, r.let(f"trunc i64 {more} to i32"), "i32", 4)
                r.put("found", more)
                r.put("searching", 0)
            with r.when(f"ne i64 {entry}, 0"):
                there = r.plus("%known", r.times(r.plus(entry, -1), size))
                r.put("differs", 0)
                with r.each("word", "%words") as word:
                    other = r.let(f"xor i64 {r.element(there, word)}, {r.element(row, word)}")
                    r.put("differs", r.let(f"or i64 {r.get('differs')}, {other}"))
                r.put("searching", r.get("differs"))
                r.put("slot", r.let(f"and i64 {r.plus(r.get('slot'), 1)}, %mask"))
    return r.text(f"ret i64 {r.get('found')}")
