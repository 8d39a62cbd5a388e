"""Random models as source text in the public language, so that hypothesis prints its findings as runnable code.

An `Author` draws the text of one class. Each scalar is written by its kind, so that the text is well typed. A *plain*
expression (of parameters and constants) has a Python value while the model is read. Every other expression depends on
the state. A *bold* model may contain operations that are undefined in some states: read past a log's end, append to a
full queue, leave a domain.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import isrcheck.model.language as language
from isrcheck.model.language import Model

_numbers = itertools.count()


def load(source: str) -> type[Model]:
    """The class `Random` of a model's text. Tracebacks can show this text by a file name."""
    file = f"random_{next(_numbers)}.py"
    names: dict[str, Any] = {**{n: getattr(language, n) for n in language.__all__}, "__name__": "random_model"}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    cls: type[Model] = names["Random"]
    return cls


@dataclass(frozen=True)
class Shape:
    """A domain and its text. `parts` has the fields of a record, or the element, or the index and the element."""

    kind: str
    text: str
    low: int = 0
    high: int = 0
    members: tuple[str, ...] = ()
    parts: tuple[tuple[str, Shape], ...] = ()


SCALARS = ("flag", "number", "enum", "broker", "optional", "set", "client", "maybe", "clients")
LINES = ("sequence", "channel")
"""Kinds with ordered elements."""
FLAG = Shape("flag", "flag")
BROKER = Shape("broker", "broker")
OPTIONAL = Shape("optional", "optional(broker)")
SET = Shape("set", "set_of(broker)")
CLIENT = Shape("client", "client")
MAYBE = Shape("maybe", "optional(client)")
CLIENTS = Shape("clients", "set_of(client)")
SIMPLE = {s.kind: s for s in (FLAG, BROKER, OPTIONAL, SET, CLIENT, MAYBE, CLIENTS)}
HOLDS = {"optional": BROKER, "maybe": CLIENT}
"""The kind of the value in a place that may also hold `none`."""
CHOSEN_FROM = {"set": OPTIONAL, "clients": MAYBE}
"""The kind of the values whose membership in a set can be tested."""


@dataclass(frozen=True)
class Code:
    text: str
    plain: bool = False


@dataclass(frozen=True)
class Route:
    """A path from the state to a value: field names and per(...) indices. Inside a sequence nothing is assigned."""

    start: str
    steps: tuple[str | Shape, ...]
    shape: Shape


class Author:
    """Draws a model. `bold` says whether it may have unguarded operations."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.bold = self.chance(4)
        self.brokers = self.pick([1, 2, 2, 3, 3])
        self.clients = self.pick([1, 2, 2, 3])
        self.names = itertools.count()
        self.scope: list[tuple[str, Shape]] = []
        self.applicable_properties: list[str] = []
        self.helper: Code | None = None
        shapes = [self.scalar(), *(self.shape(2) for _ in range(self.number(2, 4)))]
        self.variables = {f"v{i}": shape for i, shape in enumerate(shapes)}
        self.routes = [r for name, s in self.variables.items() for r in routes(f"s.{name}", (), s)]

    # --- drawing ----------------------------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def chance(self, one_in: int) -> bool:
        return self.number(1, one_in) == one_in

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.number(0, len(choices) - 1)]

    def scalar(self, kinds: Sequence[str] = SCALARS) -> Shape:
        match self.pick(kinds):
            case "number":
                low = self.number(-2, 1)
                high = low + self.pick([0, 1, 1, 2, 3])
                return Shape("number", f"number({low}, {high})", low, high)
            case "enum":
                members = ("red", "green", "blue")[: self.pick([1, 2, 2, 3])]
                return Shape("enum", f"enum({', '.join(map(repr, members))})", members=members)
            case kind:
                return SIMPLE[kind]

    def shape(self, depth: int) -> Shape:
        kind = self.pick([*SCALARS, "record", *LINES, "messages", "bag", "per", "per"]) if depth else self.pick(SCALARS)
        if kind in SCALARS:
            return self.scalar([kind])
        if kind == "record":
            fields = tuple((name, self.shape(depth - 1)) for name in ("f", "g")[: self.number(1, 2)])
            return Shape(kind, f"record({', '.join(f'{n}={d.text}' for n, d in fields)})", parts=fields)
        if kind in LINES:
            element, capacity = self.shape(depth - 1), self.number(1, 3)
            text = f"{kind}({element.text}, {capacity})"
            return Shape(kind, text, high=capacity, parts=(("element", element),))
        if kind in ("messages", "bag"):
            element = self.scalar(("flag", "enum", "broker", "optional", "number", "client", "maybe"))
            if self.chance(2):
                fields = (("f", element), ("g", self.scalar(("flag", "broker", "enum", "client"))))
                text = f"record({', '.join(f'{n}={d.text}' for n, d in fields)})"
                element = Shape("record", text, parts=fields)
            if kind == "bag":
                size = self.number(1, 3)
                return Shape(kind, f"bag({element.text}, {size})", high=size, parts=(("element", element),))
            return Shape(kind, f"messages({element.text})", parts=(("element", element),))
        index, element = self.scalar(("broker", "number", "enum", "flag", "client")), self.shape(depth - 1)
        return Shape(kind, f"per({index.text}, {element.text})", parts=(("index", index), ("element", element)))

    # --- expressions ------------------------------------------------------------------------------------------------

    def value(self, shape: Shape, depth: int, only_plain: bool = False) -> Code:
        """A value of any shape, for an assignment. In a bold model a number may be outside the domain."""
        match shape.kind:
            case "number":
                code = self.scalar_code(shape, depth, only_plain)
                if self.bold and not only_plain and not code.plain and self.chance(2):
                    return code
                return Code(f"minimum(maximum({code.text}, {shape.low}), {shape.high})", code.plain)
            case "broker":
                return self.scalar_code(BROKER if only_plain else self.pick([BROKER, OPTIONAL]), depth, only_plain)
            case "client":
                return self.scalar_code(CLIENT if only_plain else self.pick([CLIENT, MAYBE]), depth, only_plain)
            case kind if kind in SCALARS:
                return self.scalar_code(shape, depth, only_plain)
            case "record":
                same = [r for r in self.routes if r.shape == shape]
                if same and not only_plain and self.chance(3):
                    return Code(self.path(self.pick(same), depth))
                parts = {name: self.value(part, depth - 1, only_plain) for name, part in shape.parts}
                return Code("{" + ", ".join(f"{n!r}: {c.text}" for n, c in parts.items()) + "}")
            case "per":
                (_, index), (_, element) = shape.parts
                return self.listed([self.value(element, depth - 1, only_plain) for _ in range(self.count(index))])
            case "channel" | "bag":
                length = self.number(0, shape.high)
                return self.listed([self.value(shape.parts[0][1], depth - 1, only_plain) for _ in range(length)])
            case "sequence":
                same = [r for r in self.routes if r.shape == shape]
                if same and not only_plain and self.chance(2):
                    return self.changed(self.path(self.pick(same), depth - 1), shape.parts[0][1])
                length = self.number(0, shape.high)
                return self.listed([self.value(shape.parts[0][1], depth - 1, only_plain) for _ in range(length)])
            case "messages":
                length = self.number(0, 2)
                return self.listed([self.value(shape.parts[0][1], depth - 1, only_plain) for _ in range(length)])
        raise AssertionError(shape.kind)

    def changed(self, path: str, element: Shape) -> Code:
        """A sequence that is derived from another sequence."""
        if self.chance(2):
            whole, change = f"{path}.is_full", f"{path}.appended({self.value(element, 0).text})"
        else:
            whole, change = f"{path}.is_empty", self.pick([f"{path}.without_first()", f"{path}.truncated(0)"])
        return Code(change if self.bold else f"when({whole}, {path}, {change})")

    def following(self, shape: Shape) -> Code:
        """A value that leads to new states: the next number, a parameter, or another value in the state."""
        taken = [name for name, s in self.scope if s == shape]
        if taken and not self.chance(3):
            return Code(taken[0], True)
        numbers = [r for r in self.routes if r.shape == shape]
        if shape.kind == "number" and numbers:
            x = self.path(self.pick(numbers), 0)
            return Code(f"when({x} < {shape.high}, {x} + 1, {self.pick([x, str(shape.low)])})")
        if shape.kind == "flag":
            return self.negated(self.flag(1))
        if shape.kind in CHOSEN_FROM and self.chance(2):
            held = self.path(self.pick(self.of_kind(shape.kind)), 0)
            member = self.scalar_code(CHOSEN_FROM[shape.kind], 1).text
            return Code(f"{held}.{self.pick(['including', 'excluding'])}({member})")
        changes = self.readable(shape) if shape.kind in SCALARS else []
        if changes and self.chance(2):
            return Code(self.path(self.pick(changes), 0))
        return self.value(shape, 0)

    def listed(self, codes: list[Code]) -> Code:
        return Code("[" + ", ".join(c.text for c in codes) + "]")

    def count(self, index: Shape) -> int:
        sizes = {"broker": self.brokers, "client": self.clients, "enum": len(index.members), "flag": 2}
        return sizes.get(index.kind, index.high - index.low + 1)

    def scalar_code(self, shape: Shape, depth: int, only_plain: bool = False) -> Code:
        choices: list[Callable[[], Code]] = [lambda: self.constant(shape)]
        held = [
            n
            for n, s in self.scope
            if s.kind == shape.kind and (s.kind != "enum" or set(s.members) <= set(shape.members))
        ]
        if shape.kind in HOLDS:
            held += [n for n, s in self.scope if s == HOLDS[shape.kind]]
        choices += [lambda: Code(self.pick(held), True)] * (3 if held else 0)
        if not only_plain:
            read = self.readable(shape)
            choices += [lambda: Code(self.path(self.pick(read), depth - 1))] * (4 if read else 0)
            if depth > 0:
                choices += [lambda: self.composed(shape, depth - 1)] * 3
                choices.append(lambda: self.chosen(shape, depth - 1))
        return self.pick(choices)()  # type: ignore[no-any-return]

    def readable(self, shape: Shape) -> list[Route]:
        if shape.kind == "enum":
            return [r for r in self.routes if r.shape == shape]
        return [r for r in self.routes if r.shape.kind == shape.kind or r.shape == HOLDS.get(shape.kind)]

    def constant(self, shape: Shape) -> Code:
        match shape.kind:
            case "flag":
                return Code(self.pick(["True", "False"]), True)
            case "number":
                return Code(str(self.number(min(shape.low, 0), max(shape.high, 1))), True)
            case "enum":
                return Code(repr(self.pick(shape.members)), True)
            case "broker":
                return Code(f"self.broker({self.number(0, self.brokers - 1)})", True)
            case "client":
                return Code(f"self.members(client)[{self.number(0, self.clients - 1)}]", True)
            case "optional" | "maybe":
                return Code("none", True) if self.chance(2) else self.constant(HOLDS[shape.kind])
            case "set":
                chosen = [f"self.broker({i})" for i in range(self.brokers) if self.chance(2)]
                return Code("{" + ", ".join(chosen) + "}" if chosen else "set()", True)
            case "clients":
                chosen = [f"self.members(client)[{i}]" for i in range(self.clients) if self.chance(2)]
                return Code("{" + ", ".join(chosen) + "}" if chosen else "set()", True)
        raise AssertionError(shape.kind)

    def chosen(self, shape: Shape, depth: int) -> Code:
        condition, yes, no = self.flag(depth), self.scalar_code(shape, depth), self.scalar_code(shape, depth)
        return Code(f"when({condition.text}, {yes.text}, {no.text})", condition.plain and yes.plain and no.plain)

    def composed(self, shape: Shape, depth: int) -> Code:
        match shape.kind:
            case "flag":
                return self.flag(depth + 1)
            case "number":
                return self.arithmetic(shape, depth)
            case "set" | "clients":
                return self.combined_set(shape, depth)
        return self.chosen(shape, depth)

    def arithmetic(self, shape: Shape, depth: int) -> Code:
        a, b = self.scalar_code(shape, depth), self.scalar_code(shape, depth)
        plain = a.plain and b.plain
        conditions = [self.flag(depth) for _ in range(self.number(1, 2))]
        counted = f"count([{', '.join(c.text for c in conditions)}])"
        options = [
            Code(f"({a.text} + {b.text})", plain),
            Code(f"({a.text} - {b.text})", plain),
            Code(f"({a.text} * {self.number(-2, 2)})", a.plain),
            Code(f"(-{a.text})", a.plain),
            Code(f"minimum({a.text}, {b.text})", plain),
            Code(f"maximum({a.text}, {b.text})", plain),
            Code(counted, all(c.plain for c in conditions)),
        ]
        sequences = [r for kind in LINES for r in self.of_kind(kind)]
        sets = [*self.of_kind("set"), *self.of_kind("clients")]
        if sequences:
            options += [Code(f"{self.path(self.pick(sequences), depth)}.length")] * 3
        if bags := self.of_kind("bag"):
            route = self.pick(bags)
            counted = f"count({self.value(route.shape.parts[0][1], depth).text})"
            options += [Code(f"{self.path(route, depth)}.{self.pick(['size', counted])}")] * 2
        if sets:
            options.append(Code(f"{self.path(self.pick(sets), depth)}.size"))
        return self.pick(options)  # type: ignore[no-any-return]

    def of_kind(self, kind: str) -> list[Route]:
        return [r for r in self.routes if r.shape.kind == kind]

    def combined_set(self, shape: Shape, depth: int) -> Code:
        a, b = self.scalar_code(shape, depth), self.scalar_code(shape, depth)
        sets = self.of_kind(shape.kind)
        if sets and self.chance(3):
            member, held = self.scalar_code(CHOSEN_FROM[shape.kind], depth).text, self.path(self.pick(sets), depth)
            return Code(f"{held}.{self.pick(['including', 'excluding'])}({member})")
        return Code(f"({a.text} {self.pick('|&-')} {b.text})", a.plain and b.plain)

    def negated(self, of: Code) -> Code:
        return Code(f"(not {of.text})" if of.plain else f"(~{of.text})", of.plain)

    def flag(self, depth: int) -> Code:
        """A condition."""
        if depth <= 0:
            return self.scalar_code(FLAG, 0) if self.chance(6) else self.about_the_state()
        options: list[Callable[[], Code]] = [
            self.about_the_state,
            lambda: self.negated(self.flag(depth - 1)),
            lambda: self.both(self.flag(depth - 1), self.pick("&|"), self.flag(depth - 1)),
            lambda: self.compared(depth - 1),
            lambda: self.compared(depth - 1),
            lambda: self.quantified(depth - 1),
            lambda: self.asked(depth - 1),
            lambda: self.asked(depth - 1),
        ]
        return self.pick(options)()  # type: ignore[no-any-return]

    def about_the_state(self) -> Code:
        """A short condition on a part of the state."""
        route = self.pick([r for r in self.routes if r.shape.kind in SCALARS])
        path, operators = self.path(route, 0), ["==", "!="]
        if route.shape.kind == "flag":
            return self.pick([Code(path), self.negated(Code(path))])  # type: ignore[no-any-return]
        if route.shape.kind in ("number", *CHOSEN_FROM):
            operators += ["<=", ">="]
        if route.shape.kind in CHOSEN_FROM and self.chance(2):
            combined = f"({path} {self.pick('|&-')} {self.scalar_code(route.shape, 0).text})"
            return Code(f"({self.pick([path, combined])}.size {self.pick(operators)} {self.number(0, self.brokers)})")
        if route.shape.kind == "number" and self.chance(2):
            other = self.path(self.pick([r for r in self.routes if r.shape.kind == "number"]), 0)
            path = f"({path} {self.pick('+-*')} {other})"
        return Code(f"({path} {self.pick(operators)} {self.scalar_code(route.shape, 0).text})")

    def both(self, a: Code, operator: str, b: Code) -> Code:
        if a.text == b.text:
            return self.about_the_state()
        return Code(f"({a.text} {operator} {b.text})", a.plain and b.plain)

    def compared(self, depth: int) -> Code:
        kind = self.pick(["number", "number", "same", "broker", "set", "flag", "structure"])
        if kind == "number":
            shape = Shape("number", "", -1, 2)
            operator = self.pick(["<=", "<", ">=", ">", "==", "!="])
            return self.both(self.scalar_code(shape, depth), operator, self.scalar_code(shape, depth))
        if kind == "broker":
            shape = self.pick([OPTIONAL, MAYBE])
            return self.both(self.scalar_code(shape, depth), self.pick(["==", "!="]), self.scalar_code(shape, depth))
        if kind == "set":
            operator, shape = self.pick(["==", "!=", "<=", ">="]), self.pick([SET, CLIENTS])
            return self.both(self.scalar_code(shape, depth), operator, self.scalar_code(shape, depth))
        if kind == "flag":
            return self.both(self.flag(depth - 1), self.pick(["==", "!="]), self.flag(depth - 1))
        route = self.pick(self.routes)
        path = self.path(route, depth)
        structures = [r for r in self.routes if r.shape == route.shape]
        other = self.path(self.pick(structures), depth) if self.chance(2) else self.value(route.shape, depth).text
        return Code(f"({path} {self.pick(['==', '!='])} {other})")

    def quantified(self, depth: int) -> Code:
        word, name = self.pick(["every", "some"]), f"x{next(self.names)}"
        of, kind, everybody = self.pick([(BROKER, "set", "self.brokers"), (CLIENT, "clients", "self.members(client)")])
        sets = self.of_kind(kind)
        outer = self.path(self.pick(sets), depth) if sets and self.chance(3) else None
        self.scope.append((name, of))
        body = self.flag(depth)
        self.scope.pop()
        if outer is not None:
            return Code(f"{outer}.{word}(lambda {name}: {body.text})")
        return Code(f"{word}({body.text} for {name} in {everybody})", body.plain)

    def asked(self, depth: int) -> Code:
        """A condition that a structure, a set or the model itself computes."""
        options: list[Callable[[], Code]] = [lambda: self.flag(depth)]
        for kind, questions in (
            ("sequence", (".is_empty", ".is_full")),
            ("channel", (".is_empty", ".is_full")),
            ("bag", (".is_empty", ".is_full")),
            ("messages", (".is_empty",)),
            ("set", (".is_empty",)),
            ("clients", (".is_empty",)),
            ("optional", (".is_none",)),
            ("maybe", (".is_none",)),
        ):
            found = self.of_kind(kind)
            if found:
                options.append(lambda f=found, q=questions: Code(self.path(self.pick(f), depth) + self.pick(q)))
        sets, messages = [*self.of_kind("set"), *self.of_kind("clients")], self.of_kind("messages")
        messages += [r for kind in ("bag", "channel") for r in self.of_kind(kind)]
        if sets:
            options.append(lambda: self.has_member(self.pick(sets), depth))
        if messages:
            options.append(lambda: self.has_message(self.pick(messages), depth))
        if self.applicable_properties:
            options.append(lambda: Code(f"s.enabled(self.{self.pick(self.applicable_properties)})"))
        if self.helper is not None:
            helper, broker = self.helper, self.scalar_code(BROKER, 0, only_plain=True).text
            options.append(lambda: Code(f"self.helper(s, {broker})", helper.plain))
        return self.pick(options)()  # type: ignore[no-any-return]

    def has_member(self, route: Route, depth: int) -> Code:
        return Code(f"{self.path(route, depth)}.has({self.scalar_code(CHOSEN_FROM[route.shape.kind], depth).text})")

    def has_message(self, route: Route, depth: int) -> Code:
        return Code(f"{self.path(route, depth)}.has({self.value(route.shape.parts[0][1], depth).text})")

    def path(self, route: Route, depth: int) -> str:
        """The text that reads a route, with newly drawn indices and offsets."""
        text, there = route.start, []
        for step in route.steps:
            if isinstance(step, Shape) and step.kind in LINES:
                read, condition = self.element(text, step, depth)
                text, there = read, [*there, condition]
            elif isinstance(step, Shape):
                text = f"{text}[{self.index(step, depth)}]"
            else:
                text = f"{text}.{step}"
        if not there or (self.bold and self.chance(2)):
            return text
        otherwise = self.value(route.shape, 0, only_plain=True).text
        return f"when({' & '.join(there)}, {text}, {otherwise})"

    def element(self, text: str, sequence: Shape, depth: int) -> tuple[str, str]:
        """An element of a sequence, and the condition under which the element exists."""
        if sequence.kind == "channel":
            return f"{text}.head", f"(~{text}.is_empty)"
        offset, last = self.number(0, sequence.high - 1), sequence.high - 1
        if self.chance(3):
            return self.pick([f"{text}.first", f"{text}.last"]), f"(~{text}.is_empty)"
        if self.bold and self.chance(3):
            at = self.scalar_code(Shape("number", "", 0, last), min(depth, 1))
            bounded = at.text if not at.plain else f"minimum(maximum({at.text}, 0), {last})"
            return f"{text}.at({bounded})", f"(({bounded} >= 0) & ({text}.length > {bounded}))"
        return f"{text}.at({offset})", f"({text}.length > {offset})"

    def index(self, shape: Shape, depth: int) -> str:
        held = [n for n, s in self.scope if s == shape]
        if held and not self.chance(4):
            return str(self.pick(held))
        if self.chance(2):
            if shape.kind == "number":
                return str(self.number(shape.low, shape.high))
            return self.constant(shape).text
        code = self.scalar_code(shape, min(depth, 1))
        if shape.kind == "number" and (code.plain or not self.bold):
            return f"minimum(maximum({code.text}, {shape.low}), {shape.high})"
        return code.text

    # --- statements -------------------------------------------------------------------------------------------------

    def parameters(self, target: Route | None) -> list[tuple[str, Shape]]:
        """The parameters of an action. If the action changes one target, its parameter is the new value."""
        if target is not None:
            shape = target.shape.parts[0][1] if target.shape.parts else target.shape
            return [("p0", shape)] if shape.kind in SCALARS else []
        found = [(f"p{k}", self.scalar()) for k in range(self.number(0, 2))]
        return [found[0], ("p1", found[0][1])] if len(found) == 2 and self.chance(3) else found

    def body(self, targets: list[Route], lively: bool) -> Iterator[str]:
        """The lines of an action: reads, requirements and assignments."""
        if len(self.scope) > 1 and self.scope[0][1] == self.scope[1][1] and self.chance(2):
            yield f"if {self.scope[0][0]} == {self.scope[1][0]}:"
            yield "    return"
        elif self.scope and self.scope[0][1].kind == "number" and self.chance(4):
            yield f"if {self.scope[0][0]} > {self.scope[0][1].low}:"
            yield "    return"
        requires = [self.flag(2).text for _ in range(self.pick([0, 0, 0, 1] if lively else [0, 1, 1, 2]))]
        later: list[str] = []
        for route in targets:
            place, before = self.place(route)
            yield from before
            name = f"x{next(self.names)}"
            assigned = self.assigned(route.shape, place, name)
            yield from (line for line in assigned if line.startswith(f"{name} ="))
            requires += [line.removeprefix("require ") for line in assigned if line.startswith("require ")]
            later += [line for line in assigned if not line.startswith((f"{name} =", "require "))]
        if requires:
            yield f"s.require({', '.join(requires)})"
        yield from later

    def target(self) -> Route:
        """A place to change, preferably a small one."""
        assignable = [r for r in self.routes if not any(isinstance(x, Shape) and x.kind in LINES for x in r.steps)]
        small = [r for r in assignable if r.shape.kind in (*SCALARS, *LINES, "messages", "bag")]
        return self.pick(assignable if not small or self.chance(4) else small)  # type: ignore[no-any-return]

    def targets(self) -> list[Route]:
        """Different variables, or different fields of one variable, so that no place is assigned twice."""
        chosen: list[Route] = []
        for _ in range(self.pick([1, 1, 2, 3])):
            route = self.target()
            if not any(may_meet(route, other) for other in chosen):
                chosen.append(route)
        return chosen

    def place(self, route: Route) -> tuple[str, list[str]]:
        """The text of a place to assign, and the lines before it that read its indices."""
        text, before = route.start, []
        for step in route.steps:
            if isinstance(step, Shape):
                name = f"x{next(self.names)}"
                before.append(f"{name} = {self.index(step, 1)}")
                text = f"{text}[{name}]"
            else:
                text = f"{text}.{step}"
        return text, before

    def assigned(self, shape: Shape, place: str, name: str) -> list[str]:
        guarded = not (self.bold and self.chance(2))
        if shape.kind == "sequence" and not self.chance(4):
            what = self.pick(["append", "append", "truncate", "remove_first"])
            if what == "append":
                value = f"{name} = {self.following(shape.parts[0][1]).text}"
                return [value, *([f"require ~{place}.is_full"] if guarded else []), f"{place}.append({name})"]
            if what == "truncate":
                length = f"{name} = {self.scalar_code(Shape('number', '', 0, shape.high), 1).text}"
                inside = f"require ({name} >= 0) & ({place}.length >= {name})"
                return [length, *([inside] if guarded else []), f"{place}.truncate({name})"]
            return [*([f"require ~{place}.is_empty"] if guarded else []), f"{place}.remove_first()"]
        if shape.kind in ("bag", "channel") and not self.chance(4):
            value, put = f"{name} = {self.following(shape.parts[0][1]).text}", not self.chance(3)
            if put:
                return [value, *([f"require ~{place}.is_full"] if guarded else []), f"{place}.put({name})"]
            if shape.kind == "channel":
                return [*([f"require ~{place}.is_empty"] if guarded else []), f"{place}.take()"]
            return [value, *([f"require {place}.has({name})"] if guarded else []), f"{place}.take({name})"]
        if shape.kind == "messages" and not self.chance(4):
            value = f"{name} = {self.following(shape.parts[0][1]).text}"
            return [value, f"{place}.{self.pick(['add', 'add', 'remove'])}({name})"]
        code = self.following(shape) if not self.chance(3) else self.value(shape, 2)
        line = [f"{name} = {code.text}", f"{place} = {name}"]
        if shape in (BROKER, CLIENT) and not code.plain and guarded:
            line = [line[0], f"require {name} != none", line[1]]
        return line

    # --- the class --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        lines = ["client = scalarset('client')", "", "class Random(Model):"]
        lines.append(f"    replicas = setting({self.brokers}, counts=broker, meaning='brokers')")
        lines.append(f"    users = setting({self.clients}, counts=client, meaning='clients')")
        if self.chance(2):
            bound = self.flag(2).text.replace("self.", "m.")
            lines.append(f"    room = setting(1, meaning='room', bound=lambda m, s: {bound})")
        invariants = [f"invariant_{i}" for i in range(self.number(1, 2))]
        lines.append(f"    invariants = ({''.join(repr(n.replace('_', '-')) + ', ' for n in invariants)})")
        listed = ", ".join(f"{name!r}: {shape.text}" for name, shape in self.variables.items())
        lines += ["", "    def variables(self):", f"        return {{{listed}}}"]
        lines += self.initial()
        lines += self.actions()
        kinds = [*(("invariant", n) for n in invariants)]
        kinds += [("constraint", "constraint_0")] * self.chance(3) + [("goal", "goal_0")] * self.chance(2)
        for kind, name in kinds:
            # Conditions that are seldom false make longer runs.
            condition = " | ".join(self.flag(2).text for _ in range(self.number(1, 4)))
            lines += [
                "",
                f"    @{kind}",
                f"    def {name}(self, s):",
                f'        """{name}."""',
                f"        return {condition}",
            ]
        return "\n".join(lines) + "\n"

    def initial(self) -> list[str]:
        parameters = [(f"p{i}", self.scalar()) for i in range(self.number(0, 2))] if self.chance(2) else []
        self.scope = parameters
        assigned = [n for n in self.variables if self.chance(2)]
        values = {n: self.value(self.variables[n], 1, only_plain=True).text for n in assigned}
        self.scope = []
        marker = [f"    @initial({', '.join(f'{n}={s.text}' for n, s in parameters)})"] if parameters else []
        head = f"    def initial({', '.join(['self', 's', *(n for n, _ in parameters)])}):"
        body = [f"        s.{n} = {value}" for n, value in values.items()] or ["        return"]
        return ["", *marker, head, *body]

    def actions(self) -> list[str]:
        lines: list[str] = []
        if self.chance(2):
            self.scope = [("b", BROKER)]
            condition = self.flag(2)
            self.scope, self.helper = [], condition
            lines += ["", "    def helper(self, s, b):", f"        return {condition.text}"]
        for i in reversed(range(self.number(2, 6))):
            lively = self.chance(2)
            targets = [self.target()] if lively else self.targets()
            self.scope = self.parameters(targets[0] if lively else None)
            parameters = "".join(f", {n}={s.text}" for n, s in self.scope)
            members = [n for n, s in self.scope if s in (BROKER, CLIENT)]
            actor = self.pick([*members, "controller", "administrator"])
            lines += ["", f"    @action(actor={actor!r}{parameters})"]
            lines += [
                f"    def action_{i}(self, s{''.join(f', {n}' for n, _ in self.scope)}):",
                '        """It acts."""',
            ]
            lines += [f"        {line}" for line in self.body(targets, lively)]
            self.applicable_properties.append(f"action_{i}")
        self.scope = []
        return lines


def routes(start: str, steps: tuple[str | Shape, ...], shape: Shape) -> Iterator[Route]:
    """All routes from a variable to the values inside it."""
    yield Route(start, steps, shape)
    if shape.kind == "record":
        for name, part in shape.parts:
            yield from routes(start, (*steps, name), part)
    elif shape.kind == "per":
        yield from routes(start, (*steps, shape.parts[0][1]), shape.parts[1][1])
    elif shape.kind in LINES:
        yield from routes(start, (*steps, shape), shape.parts[0][1])


def may_meet(a: Route, b: Route) -> bool:
    """Whether two routes can name a common part of the state."""
    return a.start == b.start and all(x == y or isinstance(x, Shape) for x, y in zip(a.steps, b.steps, strict=False))


@st.composite
def models(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """The text of a model whose class is named `Random`."""
    return Author(draw).text()
