"""LLVM text for orbits of states under permutations of interchangeable brokers.

`isrcheck.checker.kernel.exchanges` defines scalarsets and leaves. The brokers are a scalarset. Members of other
scalarsets are treated like brokers.

A *class* lists interchangeable brokers. The *orbit* of a state consists of the states that result from permuting the
brokers within their classes. The *representative* of an orbit is its state with the least packed words, compared from
the first word on. The code goes through an orbit step by step. Each step exchanges two brokers that are neighbours in
a class. From the identity, the steps lead to each other permutation once (see `walk`). An exchange changes the packed
words of eight states at a time, in two phases:

* Each field (a leaf that holds a broker) with one of the two brokers gets the other broker. Fields of a word that have
  the same width and the same least value are changed together.
* Then pairs of bits are exchanged. The bits belong to sets of brokers, sets of messages, bags, and `per(...)` values.
  Pairs are exchanged together if they lie in the same two words and have the same distance between their bits.

`representatives(states, n, out)`
    Writes the representative of each state. `out` may be the array `states`.
`weights(states, n, totals)`
    Adds the size of each state's orbit to the integer at `totals`.
`exchange0(states, n, out)`, `exchange1`, ...
    Writes the states after an exchange of two neighbours. The functions are numbered in the order in which `walk` first
    yields their exchanges.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from isrcheck.checker.kernel.code_cache import objects
from isrcheck.checker.kernel.exchanges import Classes, Exchange, Member
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.llvm_batches import Octets
from isrcheck.checker.kernel.llvm_compiler import Code
from isrcheck.checker.kernel.llvm_module import WORD_DECLARATIONS
from isrcheck.checker.kernel.llvm_words import ALL, FLAGS, INTEGERS, LANES, Writer, splat
from isrcheck.model.language.domains import Bag, Broker, BrokerSet, Domain, Messages, Per, Record, Sequence_
from isrcheck.model.semantics.transition_system import TransitionSystem

MOST: Final = 120
"""The most permutations of brokers that are tried on every state. Five brokers have this many."""
_SUM: Final = f"declare i64 @llvm.vector.reduce.add.v{LANES}i64({INTEGERS})\n"
Pair = tuple[Member, Member]
Bit = tuple[int, int]
"""The number of a leaf or of a word, and the position of a bit in this leaf or word."""
ALL_BITS: Final = (1 << 64) - 1


class Orbits:
    """Native code for the orbits of a system's states under permutations of brokers within their classes."""

    def __init__(self, system: TransitionSystem, layout: Layout, classes: Classes) -> None:
        self.classes = [list(c) for c in classes]
        self.permutations = permutations(self.classes)
        self.words = layout.words
        self.text = orbits_text(system, layout, self.classes)
        self._steps = _numbered(walk(self.classes))
        exchanges = [f"exchange{number}" for number in sorted(set(self._steps))]
        self._code = Code(self.text, dict.fromkeys(("representatives", "weights", *exchanges), (3, False)), objects())
        self.addresses = self._code.addresses

    def representatives(self, states: Words) -> Words:
        """The representative of each state."""
        return self._mapped("representatives", states)

    def weight(self, states: Words) -> int:
        """The sum of the sizes of the given states' orbits. An orbit counts once for each given state in it."""
        states, total = np.ascontiguousarray(states), np.zeros(1, dtype=np.uint64)
        self._code.calls["weights"](states.ctypes.data, len(states), total.ctypes.data)
        return int(total[0])

    def members(self, states: Words) -> Words:
        """All states in the orbits of the given states, each once."""
        images = [states]
        for number in self._steps:
            images.append(self._mapped(f"exchange{number}", images[-1]))
        return distinct(np.concatenate(images))

    def _mapped(self, name: str, states: Words) -> Words:
        states = np.ascontiguousarray(states)
        out = np.empty_like(states)
        self._code.calls[name](states.ctypes.data, len(states), out.ctypes.data)
        return out


def distinct(states: Words) -> Words:
    """The given states without repetitions, sorted."""
    return np.unique(states, axis=0) if len(states) else states


def permutations(classes: Classes) -> int:
    """The number of permutations of brokers within their classes."""
    return math.prod(math.factorial(len(c)) for c in classes)


def affordable(classes: Classes) -> list[list[Member]]:
    """Leaves brokers out of the largest classes until at most `MOST` permutations remain. Returns the reduced classes.

    If fewer brokers are permuted, there are more orbits, but the results of a search are still right. The result has no
    class of a single broker.
    """
    kept = [list(c) for c in classes]
    while permutations(kept) > MOST:
        max(kept, key=len).pop()
    return [c for c in kept if len(c) > 1]


def walk(classes: Classes) -> Iterator[Pair]:
    """Exchanges of neighbours in a class. They lead from the identity through all other permutations, each once.

    The exchanges of a class lead through all orders of its brokers, whichever order is the first. So after each
    exchange in the first class, `walk` can repeat the exchanges of the other classes. It need not undo them before.
    """
    if not classes:
        return
    first, *others = classes
    yield from walk(others)
    for i in _changes(len(first)):
        yield first[i], first[i + 1]
        yield from walk(others)


def _changes(count: int) -> Iterator[int]:
    """Yields positions in a list of `count` things. A position i stands for an exchange of the things at i and i + 1.

    These exchanges lead through all orders of the things. This is the Steinhaus-Johnson-Trotter algorithm.
    """
    if count < 2:
        return
    down = list(range(count - 2, -1, -1))
    for turn, inner in enumerate([*_changes(count - 1), None]):
        yield from down if turn % 2 == 0 else reversed(down)
        if inner is not None:
            yield inner + 1 if turn % 2 == 0 else inner


def _numbered(steps: Iterable[Pair]) -> list[int]:
    """A number for each step. Equal steps have equal numbers. Each step that occurs for the first time gets the next
    number, from 0 upwards."""
    numbers: dict[Pair, int] = {}
    return [numbers.setdefault(step, len(numbers)) for step in steps]


# --- one exchange ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    """A leaf that holds a broker.

    If the leaf lies in no sequence, `length` is None. Otherwise the leaf is element `offset` of a sequence. `length` is
    then the position, in the system's leaves, of the leaf that has the number of elements. The element is in use if
    that number is greater than `offset`.
    """

    leaf: int
    length: int | None
    offset: int


class Exchanging:
    """How exchanging two brokers changes the packed words of a state."""

    def __init__(self, system: TransitionSystem, layout: Layout, a: Member, b: Member) -> None:
        self._layout, self._exchange = layout, Exchange(a, b)
        self._numbers = (a.number, b.number)
        self.fields: list[_Field] = []
        bits: list[Bit] = []
        for variable in system.variables:
            bits += self._bits(variable.domain, variable.start, None, 0)
        self.pairs = self._pairs(system, bits)

    def _bits(self, domain: Domain, start: int, length: int | None, offset: int) -> list[Bit]:
        """For each bit of a value, the bit from which it gets its content when pairs of bits are exchanged.

        Adds leaves that hold brokers to `fields`. The exchange of pairs leaves the bits of these leaves unchanged.
        `length` and `offset` are as in `_Field`.
        """
        match domain:
            case Broker() if self._exchange.moves(domain):
                self.fields.append(_Field(start, length, offset))
            case BrokerSet() if self._exchange.moves(domain):
                return [(start, self._exchange.number(i)) for i in range(domain.element.count)]
            case Record():
                parts, at = list[Bit](), start
                for inner in domain.domains:
                    parts += self._bits(inner, at, length, offset)
                    at += inner.width
                return parts
            case Sequence_():
                parts, width = self._plain(start), domain.element.width
                for i in range(domain.capacity):
                    parts += self._bits(domain.element, start + 1 + i * width, start, i)
                return parts
            case Messages():
                return [(start + i, 0) for i in self._exchange.origins(domain)]
            case Bag():
                return [bit for i in self._exchange.origins(domain) for bit in self._plain(start + i)]
            case Per():
                width = domain.element.width
                elements = [self._bits(domain.element, start + i * width, length, offset) for i in range(domain.count)]
                return [bit for i in self._exchange.origins(domain) for bit in elements[i]]
        return self._plain(start)

    def _plain(self, leaf: int) -> list[Bit]:
        return [(leaf, i) for i in range(self._layout.places[leaf].width)]

    def _pairs(self, system: TransitionSystem, sources: Sequence[Bit]) -> dict[tuple[int, int, int], int]:
        """The pairs of bits that are exchanged. The higher bit of a pair is the one at the higher position in its word.

        Maps (word of the higher bits, word of the lower bits, difference of the positions) to a mask of the lower bits.
        """
        targets = [bit for leaf in range(len(system.leaves)) for bit in self._plain(leaf)]
        partner = dict(zip(targets, sources, strict=True))
        found: dict[tuple[int, int, int], int] = defaultdict(int)
        for one, other in partner.items():
            assert partner[other] == one, "an exchange of bits is its own inverse"
            (w, s), (v, t) = self._position(one), self._position(other)
            # Each pair is added once: at its higher bit, or at its bit in the earlier word if both are equally high.
            if (s, -w) > (t, -v):
                found[w, v, s - t] |= 1 << t
        return dict(found)

    def _position(self, bit: Bit) -> Bit:
        place = self._layout.places[bit[0]]
        return place.word, place.shift + bit[1]

    # --- text -------------------------------------------------------------------------------------------------------

    def write(self, writer: Writer, words: Sequence[str]) -> list[str]:
        """Writes the instructions of the exchange. Returns the words of the states after the exchange."""
        after = [self._with_brokers(writer, words, number) for number in range(len(words))]
        let = writer.let
        for (one, other, distance), bits in self.pairs.items():
            shifted = let(f"lshr {INTEGERS} {after[one]}, {splat(distance)}") if distance else after[one]
            unlike = let(f"xor {INTEGERS} {shifted}, {after[other]}")
            change = let(f"and {INTEGERS} {unlike}, {splat(bits)}")
            after[other] = let(f"xor {INTEGERS} {after[other]}, {change}")
            back = let(f"shl {INTEGERS} {change}, {splat(distance)}") if distance else change
            after[one] = let(f"xor {INTEGERS} {after[one]}, {back}")
        return after

    def _with_brokers(self, writer: Writer, words: Sequence[str], number: int) -> str:
        """Word `number` of the states after the exchange of the two brokers in the fields of this word."""
        places = self._layout.places
        alike: dict[tuple[int, int], list[_Field]] = defaultdict(list)
        for field in self.fields:
            place = places[field.leaf]
            if place.width and place.word == number:
                alike[place.width, place.low].append(field)
        word = words[number]
        for (width, low), fields in alike.items():
            word = self._with_fields(writer, words, word, width, low, fields)
        return word

    def _with_fields(
        self, writer: Writer, words: Sequence[str], word: str, width: int, low: int, fields: Sequence[_Field]
    ) -> str:
        """The word `word` after the exchange of the two brokers in `fields`, which have equal widths and least values.

        In a mask, the lowest bit of a field represents the field. Shifting `word` down by k moves bit k of each field
        to the lowest bit of the field.
        """
        let, (a, b) = writer.let, (number - low for number in self._numbers)
        bits = [let(f"lshr {INTEGERS} {word}, {splat(k)}") if k else word for k in range(width)]
        differing = [k for k in range(width) if (a ^ b) >> k & 1]
        hit = self._mask(writer, words, low, fields)
        for k in range(width):
            if k not in differing:
                hit = self._where(writer, hit, bits[k], a >> k & 1)
        for k in differing[1:]:
            both = let(f"xor {INTEGERS} {bits[differing[0]]}, {bits[k]}")
            hit = self._where(writer, hit, both, (a >> differing[0] ^ a >> k) & 1)
        for k in differing:
            change = let(f"shl {INTEGERS} {hit}, {splat(k)}") if k else hit
            word = let(f"xor {INTEGERS} {word}, {change}")
        return word

    def _where(self, writer: Writer, hit: str, bits: str, wanted: int) -> str:
        let = writer.let
        if not wanted:
            bits = let(f"xor {INTEGERS} {bits}, {splat(ALL_BITS)}")
        return let(f"and {INTEGERS} {hit}, {bits}")

    def _mask(self, writer: Writer, words: Sequence[str], low: int, fields: Sequence[_Field]) -> str:
        """A mask of the lowest bits of the fields that the exchange may change.

        Unused fields, which lie after the end of a sequence, must keep their value. If the exchange would change this
        value, the mask leaves out the unused fields.
        """
        let, places = writer.let, self._layout.places
        padding = max(low, -1)  # the value of unused elements of a sequence: no broker (-1), or broker 0
        groups: dict[tuple[int | None, int], int] = defaultdict(int)
        for field in fields:
            inside = (field.length, field.offset) if padding in self._numbers else (None, 0)
            groups[inside] |= 1 << places[field.leaf].shift
        mask = splat(groups.pop((None, 0), 0))
        for (length, offset), bits in groups.items():
            assert length is not None
            place = places[length]
            value = let(f"lshr {INTEGERS} {words[place.word]}, {splat(place.shift)}")
            value = let(f"and {INTEGERS} {value}, {splat((1 << place.width) - 1)}")
            reached = let(f"icmp ugt {INTEGERS} {value}, {splat(offset)}")
            some = let(f"select {FLAGS} {reached}, {INTEGERS} {splat(bits)}, {INTEGERS} zeroinitializer")
            mask = let(f"or {INTEGERS} {mask}, {some}")
        return mask


# --- functions ------------------------------------------------------------------------------------------------------


def orbits_text(system: TransitionSystem, layout: Layout, classes: Classes) -> str:
    """The text of the module. Equal systems and classes have equal texts."""
    steps = list(walk(classes))
    exchanging = [Exchanging(system, layout, *pair) for pair in dict.fromkeys(steps)]
    functions = [_exchanged(layout, number, x) for number, x in enumerate(exchanging)]
    functions += [_exchange(layout, number) for number in range(len(exchanging))]
    path = _numbered(steps)
    return "\n".join([WORD_DECLARATIONS, _SUM, *functions, _representatives(layout, path), _weights(layout, path)])


def _all_words(layout: Layout) -> str:
    """The LLVM type of the words of eight states: a vector for each word."""
    return "{" + ", ".join([INTEGERS] * layout.words) + "}"


def _exchanged(layout: Layout, number: int, exchanging: Exchanging) -> str:
    """The text of a function that exchanges two brokers in the words of eight states."""
    w, names = Writer(), [f"%word{i}" for i in range(layout.words)]
    parameters = ", ".join(f"{INTEGERS} {name}" for name in names)
    w.lines.append(f"define internal {_all_words(layout)} @exchanged{number}({parameters}) #0 {{")
    w.block("entry")
    result = "poison"
    for i, word in enumerate(exchanging.write(w, names)):
        result = w.let(f"insertvalue {_all_words(layout)} {result}, {INTEGERS} {word}, {i}")
    return "\n".join([*w.lines, f"  ret {_all_words(layout)} {result}", "}", ""])


def _after(loop: Octets, layout: Layout, number: int, words: Sequence[str]) -> list[str]:
    let = loop.writer.let
    given = ", ".join(f"{INTEGERS} {word}" for word in words)
    result = let(f"call {_all_words(layout)} @exchanged{number}({given})")
    return [let(f"extractvalue {_all_words(layout)} {result}, {i}") for i in range(layout.words)]


def _mapping(name: str, layout: Layout) -> Octets:
    """Begins a function that writes a state for each given state."""
    loop = Octets(f"void @{name}(ptr %states, i64 %n, ptr %out)", layout.words)
    loop.writer.do(f"%written = alloca [{LANES * layout.words} x i64], align 64")
    loop.begin()
    return loop


def _exchange(layout: Layout, number: int) -> str:
    loop = _mapping(f"exchange{number}", layout)
    loop.store_rows("row", [_after(loop, layout, number, loop.words)])
    loop.end()
    return loop.text()


def _representatives(layout: Layout, path: Sequence[int]) -> str:
    loop = _mapping("representatives", layout)
    here = least = loop.words
    let = loop.writer.let
    for number in path:
        here = _after(loop, layout, number, here)
        less = _less(loop, here, least)
        pairs = zip(here, least, strict=True)
        least = [let(f"select {FLAGS} {less}, {INTEGERS} {x}, {INTEGERS} {y}") for x, y in pairs]
    loop.store_rows("row", [least])
    loop.end()
    return loop.text()


def _less(loop: Octets, one: Sequence[str], other: Sequence[str]) -> str:
    """The lanes in which the words of `one` are less than the words of `other`, compared from the first word on."""
    let = loop.writer.let
    less = let(f"icmp ult {INTEGERS} {one[-1]}, {other[-1]}")
    for x, y in zip(reversed(one[:-1]), reversed(other[:-1]), strict=True):
        same = let(f"and {FLAGS} {let(f'icmp eq {INTEGERS} {x}, {y}')}, {less}")
        less = let(f"or {FLAGS} {let(f'icmp ult {INTEGERS} {x}, {y}')}, {same}")
    return less


def _weights(layout: Layout, path: Sequence[int]) -> str:
    """Writes `weights`.

    The size of a state's orbit is the number of permutations, divided by the number of permutations that leave the
    state unchanged.
    """
    loop = Octets("void @weights(ptr %states, i64 %n, ptr %totals)", layout.words)
    loop.variable("%total", INTEGERS, "zeroinitializer")
    loop.begin()
    here, let = loop.words, loop.writer.let
    keeping = splat(1)
    for number in path:
        here = _after(loop, layout, number, here)
        same = ALL
        for x, y in zip(here, loop.words, strict=True):
            same = let(f"and {FLAGS} {same}, {let(f'icmp eq {INTEGERS} {x}, {y}')}")
        keeping = let(f"add {INTEGERS} {keeping}, {let(f'zext {FLAGS} {same} to {INTEGERS}')}")
    size = let(f"udiv {INTEGERS} {splat(len(path) + 1)}, {keeping}")
    counted = let(f"select {FLAGS} {loop.valid}, {INTEGERS} {size}, {INTEGERS} zeroinitializer")
    loop.put("%total", let(f"add {INTEGERS} {loop.get('%total', INTEGERS)}, {counted}"), INTEGERS)
    loop.end()
    total = let(f"call i64 @llvm.vector.reduce.add.v{LANES}i64({INTEGERS} {loop.get('%total', INTEGERS)})")
    loop.put("%totals", let(f"add i64 {total}, {loop.get('%totals')}"))
    return loop.text()
