"""Random small models with a bound, and right or wrong proofs of them, as source text in the public language.

A model has two numbers, a log and a mark. Actions and lemmas compare them with each other, with the bound and with
constants, so that bad states are often reached only beyond small bounds.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

import isrcheck.model.language as language
from isrcheck.model.language import Model
from isrcheck.model.language import proofs as proof_language
from isrcheck.model.language.proofs import Proof

_files = itertools.count()

MODEL = """
class Random(Model):
    top = setting(2, at_least=1, at_most=9, meaning="how high", bound=lambda m, s: s.n == m.top)

    def variables(self):
        held = number(0, self.top)
        return {{"n": held, "k": held, "bad": flag, "log": sequence(held, self.top)}}
{actions}
    @invariant
    def fine(self, s):
        \"\"\"It is.\"\"\"
        return {invariant}


class RandomProof(Proof):
    of = Random
    invariants = ("fine",)

    @lemma()
    def is_fine(self, s):
        \"\"\"The invariant itself.\"\"\"
        return self.model.fine(s)
{lemmas}"""

ACTION = """
    @action(actor="hand"{declared})
    def {name}(self, s{taken}):
        \"\"\"It happens.\"\"\"
        s.require({guard})
{effects}
"""

CHOSEN = ACTION.format(
    name="{name}",
    declared=", {name}=lambda m: number(0, m.top)",
    taken=", {name}",
    guard="True",
    effects="        s.n = {name}",
)

LEMMA = """
    @{kind}({declared})
    def lemma_{number}(self, s{taken}):
        \"\"\"It holds.\"\"\"
        return {condition}
"""

NAMES = ("some", "at", "end", "index", "all", "before")
"""Names of actions and parameters, including names that a careless encoding would use itself."""


class Author:
    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.parameter: str | None = None

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def held(self) -> str:
        own = ["s.n", "s.n", "s.k", "s.log.length"]
        return str(self.pick([*own, *([self.parameter] * 2 if self.parameter else [])]))

    def number(self, depth: int = 1) -> str:
        options = [self.held, self.held, lambda: str(self.pick(range(6))), lambda: "self.top"]
        if depth:
            options += [
                lambda: f"({self.number(0)} {self.pick('+-')} {self.pick([1, 1, 2, 3])})",
                lambda: f"(self.top - {self.pick([1, 2, 3])})",
                lambda: f"{self.pick(['minimum', 'maximum'])}({self.held()}, {self.number(0)})",
                lambda: f"one_past_last({self.held()}, lambda i: {self.of_each(depth)})",
            ]
        return str(self.pick(options)())

    def of_each(self, depth: int) -> str:
        """A random condition on a number i."""
        if depth and self.chance(4):
            return (
                f"one_past_last(i, lambda j: j {self.pick(['<', '!='])} {self.number(0)}) {self.pick(['==', '<='])} i"
            )
        return f"i {self.pick(['<', '<=', '==', '!=', '>='])} {self.number(0)}"

    def compared(self) -> str:
        operator = self.pick(["<", "<=", "==", "!=", ">=", ">"])
        return f"({self.held()} {operator} {self.number()})"

    def condition(self, depth: int = 1) -> str:
        options = [self.compared, self.compared, self.compared, lambda: "~s.bad"]
        if depth:
            options += [
                lambda: f"({self.condition(0)} {self.pick('&|')} {self.condition(0)})",
                lambda: f"implies({self.condition(0)}, {self.condition(0)})",
                lambda: (
                    f"for_all(lambda i: {self.of_each(1)}, where=lambda i: i < {self.held()}, i=below(self.top + 1))"
                ),
            ]
        return str(self.pick(options)())

    def effect(self, variable: str) -> str:
        """The new value of a variable."""
        if variable == "s.bad":
            return f"s.bad | {self.condition()}" if self.chance(2) else self.condition()
        if variable == "s.log":
            return self.pick(["s.log.appended(s.n)", f"s.log.truncated(minimum(s.log.length, {self.held()}))"])  # type: ignore[no-any-return]
        options = [f"{variable} + 1", f"maximum({variable}, {self.held()})", "0", self.held(), self.number()]
        return f"minimum(maximum({self.pick(options)}, 0), self.top)"

    def action(self, name: str) -> str:
        self.parameter = self.pick(NAMES) if self.chance(3) else None
        changed = [v for v in ("s.n", "s.k", "s.bad", "s.log") if self.chance(2)] or ["s.n"]
        guards = [self.condition() for _ in range(self.pick([1, 1, 2]))]
        effects = [self.effect(v) for v in changed]
        if "s.log.appended(s.n)" in effects:
            guards.append("~s.log.is_full")
        return ACTION.format(
            name=name,
            declared=f", {self.parameter}=lambda m: number(0, m.top)" if self.parameter else "",
            taken=f", {self.parameter}" if self.parameter else "",
            guard=", ".join(guards),
            effects=f"        {', '.join(changed)} = {', '.join(effects)}",
        )

    def lemma(self, number: int) -> str:
        self.parameter = self.pick(NAMES) if self.chance(2) else None
        condition = self.condition().replace("self.top", "self.model.top")
        return LEMMA.format(
            kind="lemma",
            number=number,
            declared=f"{self.parameter}=lambda m: number(0, m.top)" if self.parameter else "",
            taken=f", {self.parameter}" if self.parameter else "",
            condition=condition,
        )

    def planted(self) -> str:
        """An action that becomes bad if the bound is large enough, sometimes under a further condition."""
        self.parameter = None
        found = "one_past_last(s.n, lambda i: i >= 0)"
        nested = "one_past_last(s.n, lambda i: one_past_last(s.n, lambda j: j < i) == i)"
        at_the_bound = "s.n >= self.top, s.n >= {}"
        where = self.pick(
            [
                "s.n >= {}",
                at_the_bound,
                at_the_bound,
                "s.n == self.top - {}",
                "s.log.length > {}",
                found + " > {}",
                nested + " >= {}",
            ]
        )
        guard = where.format(self.pick([3, 3, 4]))
        return ACTION.format(name=self.pick(NAMES), declared="", taken="", guard=guard, effects="        s.bad = True")

    def source(self) -> str:
        self.parameter = None
        names = [f"{n}_{i}" for i, n in enumerate(self.pick(NAMES) for _ in range(self.pick([0, 1, 1, 2])))]
        actions = [
            ACTION.format(name="climb", declared="", taken="", guard="s.n < self.top", effects="        s.n += 1"),
            *(self.action(name) for name in names),
        ]
        self.parameter = None
        kinds = ["~s.bad", "s.n <= self.top", f"s.n < {self.pick([4, 5])}", self.condition(), self.condition()]
        invariant = self.pick(kinds)
        match self.pick(["as it is", "planted", "chosen"]):
            case "planted":
                actions.append(self.planted())
                invariant = "~s.bad"
            case "chosen":
                actions[0] = CHOSEN.format(name=self.pick(NAMES))
                invariant = "for_all(lambda i: s.n != i + 1, where=lambda i: i >= 2, i=below(self.top))"
        lemmas = "".join(self.lemma(i) for i in range(self.pick([0, 0, 1, 2])))
        return MODEL.format(actions="".join(actions), invariant=invariant, lemmas=lemmas)


@st.composite
def proofs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    return Author(draw).source()


def load(source: str) -> tuple[type[Model], type[Proof]]:
    """The model and the proof of a text. Tracebacks can show this text by a file name."""
    file = f"random_proof_{next(_files)}.py"
    names: dict[str, Any] = {n: getattr(language, n) for n in language.__all__}
    names |= {"Proof": Proof, "lemma": proof_language.lemma, "__name__": "random_proof"}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names["Random"], names["RandomProof"]
