"""A method cannot ask a bound for its value in a proof without bounds, whatever the way and wherever it asks.

Each way gives `True` if the bound is 5, or if it is a number of Python. So the model is violated at the bound 5, and a
proof that holds for all bounds would be wrong.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import pytest

from isrcheck.model.language import ModelError
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof
from tests.proofs.asking import attempt
from tests.proofs.test_not_fooled import violated_at

MODEL = """
import copy
import operator
from dataclasses import astuple, fields
from isrcheck import *
from isrcheck.model.language.proofs import Proof, lemma

def seen(m, d):
    answer = ANSWER
    return answer

def caught(m, d):
    try:
        return seen(m, d)
    except Exception:
        return CAUGHT

class Asks(Model):
    "It falls where it comes to know that the bound is 5."

    top = setting(2, at_least=1, at_most=9, meaning="how high", bound=lambda m, s: s.n == m.top)

    def variables(self):
        own = number(0, self.top)
        IN_VARIABLES
        return {"n": own, "bad": flag, "log": sequence(number(0, 1), self.top), "table": per(own, flag)}

    def domain(self, name):
        return SOURCE

    @action(actor="hand")
    def climb(self, s):
        "One up."
        s.require(s.n < self.top)
        s.n += 1

    @action(actor="hand", i=IN_PARAMETER)
    def fall(self, s, i):
        "If it knows."
        s.require(s.n >= 4, IN_ACTION)
        s.bad = True

    @invariant
    def fine(self, s):
        "Nothing bad happened."
        return ~s.bad

class AsksProof(Proof):
    of = Asks
    invariants = ("fine",)

    @lemma()
    def nothing_bad(self, s):
        "Nothing bad happened."
        return ~s.bad
"""

OF_NUMBERS = {
    "equal": "d == number(0, 5)",
    "unequal": "not (d != number(0, 5))",
    "equal, turned": "number(0, 5) == d",
    "its end": "d.high == 5",
    "its end, turned": "5 == d.high",
    "its end in order": "4 < d.high <= 5",
    "its end by name": "getattr(d, 'high') == 5",
    "its end by attrgetter": "operator.attrgetter('high')(d) == 5",
    "in a list": "d in [number(0, 5)]",
    "a count": "[number(0, 5)].count(d) == 1",
    "in a tuple": "(1, d) == (1, number(0, 5))",
    "in a dict": "{'n': d} == {'n': number(0, 5)}",
    "its text": "str(d) == 'a number from 0 to 5'",
    "its text in a text": "f'{d}' == 'a number from 0 to 5'",
    "its representation": "repr(d) == 'Number(low=0, high=5)'",
    "the text of its end": "str(d.high) == '5'",
    "the representation of its end": "repr(d.high) == '5'",
    "the length of a text": "len(str(d)) == 20",
    "the type of its end": "isinstance(d.high, int)",
    "the type of its end by type": "type(d.high) is int",
    "the class of its end": "d.high.__class__ is int",
    "an attribute of its end": "hasattr(d.high, 'bit_length')",
    "no attribute of its end": "not hasattr(d.high, 'term')",
    "no private attribute of its end": "not hasattr(d.high, '_refused')",
    "no operator of its end": "not hasattr(d.high, '__len__')",
    "a method of its end": "d.high.bit_length() == 3",
    "a range": "len(range(d.high)) == 5",
    "a difference": "d.high - 5 == 0",
    "a truth": "bool(d.high)",
    "a maximum": "max(d.high, 5) == min(d.high, 5)",
    "a sum": "sum([d.high]) == 5",
    "an index": "[0, 0, 0, 0, 0, 1, 0, 0, 0, 0][d.high] == 1",
    "a key": "{5: 1}.get(d.high, 0) == 1",
    "a set": "d in {number(0, 5)}",
    "what it contains": "d.contains(5) and not d.contains(6)",
    "its values": "len(list(d.values())) == 6",
    "a read of data": "d.from_json(5) == 5",
    "its scalars": "d.scalars[0].high == 5",
    "its fields": "[getattr(d, f.name) for f in fields(d)] == [0, 5]",
    "its attributes": "vars(d) == {'low': 0, 'high': 5}",
    "its attributes by name": "d.__dict__['high'] == 5",
    "a copy": "copy.copy(d) == number(0, 5)",
    "a deep copy": "copy.deepcopy(d) == number(0, 5)",
    "a tuple of its ends": "astuple(d) == (0, 5)",
    "a hash": "d.__hash__() == number(0, 5).__hash__()",
}
OF_OTHERS = {
    "a capacity": "m.domains['log'].capacity == 5",
    "the text of a log": "str(m.domains['log']) == 'a sequence of at most 5 elements'",
    "an equal log": "m.domains['log'] == sequence(number(0, 1), 5)",
    "the parts of a log": "m.domains['log'].width == 6",
    "the values of a log": "m.domains['log'].contains((0, 0, 0, 0, 0)) and not m.domains['log'].contains((0,) * 6)",
    "a count of a table": "m.domains['table'].count == 6",
    "the index of a table": "m.domains['table'].index.high == 5",
    "an equal table": "m.domains['table'] == per(number(0, 5), flag)",
    "the positions of a table": "5 in m.domains['table'].positions and 6 not in m.domains['table'].positions",
    "all domains": "m.domains == {**m.domains, 'n': number(0, 5)}",
    "a parameter's domain": "m.parameter_domains(m.climb) == {} and m.domains['n'].high == 5",
    "the number of instances": "m.resolved_domain(m.domains['n']) == number(0, 5)",
    "the setting": "m.top == 5",
    "the setting among all": "m.settings['top'] == 5 and True",
    "the text of the setting": "f'{m.top}' == '5'",
    "no attribute of the setting": "not hasattr(m.top, 'terms')",
    "no attribute of the setting by name": "getattr(m.top, 'domain', None) is None",
    "no private attribute of the setting": "not hasattr(m.top, '_lift')",
    "no operator of the setting": "not hasattr(m.top, '__len__')",
    "no method of the setting": "not hasattr(m.top, 'as_end')",
    "no attribute of a comparison": "not hasattr(m.top == 5, 'term')",
    "the truth of a comparison": "(m.top == 5).term == True",
    "an attribute of the setting": "hasattr(m.top, 'bit_length')",
}
WAYS = {**OF_NUMBERS, **OF_OTHERS}
COUNT = itertools.count()
SOURCES = {"domains": "self.domains[name]", "variables": "self.variables()[name]", "made anew": "number(0, self.top)"}


def made(folder: Path, answer: str, at: str = "action", source: str = "domains", caught: str | None = None) -> Path:
    """A model that asks at a place; with `caught` it catches the mistake, and this is the answer then."""
    ask = "seen" if caught is None else "caught"
    own = "own" if at == "variables" else "m.domain('n')"
    places = {
        "action": ("pass", "number(0, 0)", f"{ask}(self, self.domain('n'))"),
        "parameter": ("pass", f"lambda m: number(0, 0) if {ask}(m, {own}) else number(1, 1)", "i == 0"),
        "variables": (f"self.__dict__['known'] = {ask}(self, own)", "number(0, 0)", "self.known"),
    }
    texts = dict(zip(("IN_VARIABLES", "IN_PARAMETER", "IN_ACTION"), places[at], strict=True))
    text = MODEL
    for name, part in {**texts, "ANSWER": answer, "CAUGHT": str(caught), "SOURCE": SOURCES[source]}.items():
        text = text.replace(name, part)
    file = folder / f"asks_{next(COUNT)}.py"
    file.write_text(text)
    return file


def loaded(file: Path) -> tuple[type[Model], type[Proof]]:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.Asks, module.AsksProof


def require_not_proved(file: Path, way: str) -> None:
    """Refused, or not proved: what a proof must not do is to succeed."""
    model, proof = loaded(file)
    try:
        model()
    except ValueError:
        return  # this way cannot be asked of the model's own number
    try:
        result = attempt(model, {}, proof, form="unbounded")
    except ModelError as error:
        assert str(error).startswith(f"{file.name}:"), (way, str(error))
        return
    assert result.verdict == "not proved", way


def is_a_hole(file: Path) -> bool:
    """Whether the model is violated at the bound 5 (False: it is refused there too, or says the same at any bound)."""
    model, _ = loaded(file)
    try:
        return violated_at(model, 5)
    except (ModelError, AttributeError):
        return False


@pytest.mark.parametrize("way", WAYS)
def test_a_bound_is_not_asked_by_an_action(tmp_path: Path, way: str) -> None:
    for caught in (None, "False", "True"):
        require_not_proved(made(tmp_path, WAYS[way], caught=caught), way)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("at", ["action", "parameter", "variables"])
def test_a_bound_is_not_asked_anywhere(tmp_path: Path, at: str, source: str) -> None:
    for way, answer in OF_NUMBERS.items():
        if at != "variables" or source == "domains":
            require_not_proved(made(tmp_path, answer, at, source), way)
            require_not_proved(made(tmp_path, answer, at, source, caught="False"), way)


def test_the_ways_are_holes(tmp_path: Path) -> None:
    """Otherwise the tests above would test nothing: the bounded check violates what most of these models say."""
    holes = {way for way, answer in WAYS.items() if is_a_hole(made(tmp_path, answer))}
    assert {"equal", "its end", "in a list", "its text", "a capacity", "a count of a table"} <= holes
    assert len(holes) > 0.6 * len(WAYS), sorted(WAYS.keys() - holes)


def test_what_asks_nothing_is_proved(tmp_path: Path) -> None:
    model, proof = loaded(made(tmp_path, "number(0, 5) == number(0, 6)"))
    assert attempt(model, {}, proof, form="unbounded").verdict == "proved"
