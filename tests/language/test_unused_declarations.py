"""What a decorator marks is used, or refused with its line: every decorator, place and clash."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import isrcheck.model.language.decorators as decorators
from isrcheck.checker.proofs.prove import load
from isrcheck.checker.registry.loader import LoadedModel, load_model_class
from isrcheck.model.language.errors import ModelError

PREDICATES = (
    *("invariant", "goal", "constraint", "eventually", "leads_to", "always_eventually", "eventually_always", "stable"),
)
MARKS = {
    "action": '@action(actor="x")',
    "initial": "@initial()",
    **{name: f"@{name}" for name in PREDICATES},
    "eventually_never": '@eventually_never("up")',
    "needs": '@needs("n")',
    "refinement": '@refinement(of="mine")',
    "lemma": "@lemma()",
    "candidate": "@candidate()",
    "target": "@target()",
    "records": '@records("up")',
}
OF_A_MODEL = {*PREDICATES, "action", "initial", "eventually_never"}
OF_A_PROOF = {"lemma", "candidate", "target", "records"}
OF_A_FILE = {*PREDICATES, "eventually_never", "refinement"} - {"goal", "constraint"}

HEAD = """
from isrcheck.model.language import *
from isrcheck.model.language.decorators import *
from isrcheck.model.language.parts import Part
from isrcheck.model.language.proofs import *
from isrcheck.model.language.properties import *
from isrcheck.model.language.refinements import refinement
"""
BODY = '''
    def variables(self):
        return {"n": number(0, 3)}

    @action(actor="x")
    def up(self, s):
        """Up."""
        s.require(s.n < 3)
        s.n += 1
'''
PLACES = {
    "the model": ("mine.py", "class Mine(Model):\n" + BODY + "IN_CLASS", OF_A_MODEL),
    "a base in the file": (
        "mine.py",
        "class Base(Model):\n    abstract = True\nIN_CLASS\nclass Mine(Base):\n" + BODY,
        OF_A_MODEL,
    ),
    "a base in another file": ("other.py", "class Base(Model):\n    abstract = True\nIN_CLASS", OF_A_MODEL),
    "a part": (
        "mine.py",
        "class Owned(Part):\n    abstract = True\n    def holds(self):\n        return {}\nIN_CLASS\n"
        "class Mine(Owned):\n" + BODY.replace("variables", "holds"),
        OF_A_MODEL,
    ),
    "a class beneath the model": (
        "mine.py",
        "class Beneath:\n    pass\nIN_CLASS\nclass Mine(Beneath, Model):\n" + BODY,
        OF_A_MODEL,
    ),
    "a class without a model": ("mine.py", "class Alone:\n    pass\nIN_CLASS\nclass Mine(Model):\n" + BODY, set()),
    "the file": ("mine.py", "IN_FILE\nclass Mine(Model):\n" + BODY, OF_A_FILE),
    "the file of a base": (
        "other.py",
        "IN_FILE\nclass Base(Model):\n    abstract = True\n",
        OF_A_FILE,
    ),
    "a file whose name is imported": ("other.py", "IN_FILE", set()),
    "a proof": ("mine.py", "class Mine(Model):\n" + BODY + "class Shown(Proof):\n    of = Mine\nIN_CLASS", OF_A_PROOF),
}
IMPORTS = {
    "a base in another file": "from other import Base\nclass Mine(Base):\n" + BODY,
    "the file of a base": "from other import Base\nclass Mine(Base):\n" + BODY,
    "a file whose name is imported": "from other import said\nclass Mine(Model):\n" + BODY,
}
SECOND = {
    "nothing": "",
    "a function": "\ndef NAME(self, s):\n    return True\n",
    "a value": "\nNAME = None\n",
    "the same": "\nMARK\ndef NAME(self, s):\n    '''Another.'''\n    return True\n",
}


def text_of(mark: str, second: str) -> str:
    name = "initial" if mark == "initial" else "said"
    returned = "s.n < 3, s.n < 2" if mark == "leads_to" else "{}" if mark in ("records", "refinement") else "s.n < 4"
    body = "s.n = 0" if mark in ("action", "initial") else f"return {returned}"
    more = SECOND[second].replace("MARK", MARKS[mark]).replace("NAME", name)
    return f'{MARKS[mark]}  # here\ndef {name}(self, s):\n    """Said."""\n    {body}\n{more}'


def written(folder: Path, mark: str, place: str, second: str) -> None:
    file, text, _ = PLACES[place]
    here = text_of(mark, second)
    text = text.replace("IN_CLASS", textwrap.indent(here, "    ")).replace("IN_FILE", here)
    if place in IMPORTS:
        imported = IMPORTS[place].replace("import said", f"import {'initial' if mark == 'initial' else 'said'}")
        (folder / "mine.py").write_text(HEAD + imported)
    (folder / file).write_text(HEAD + text)


def used(loaded: LoadedModel, mark: str, folder: Path, place: str) -> bool:
    """Whether the language has what was said under its name."""
    if place == "a proof":
        shown = load(str(folder / "mine.py"))
        return "said" in shown.statements(mark) or bool(shown.recorders("up"))  # type: ignore[arg-type]
    if mark == "initial":
        return hasattr(loaded.cls.initial, "__initial__")
    own = loaded.cls.actions() if mark == "action" else loaded.cls.predicates(mark)
    asked = {"invariant": loaded.invariants, "refinement": loaded.mappings}.get(mark, loaded.properties)
    return "said" in (asked if mark in OF_A_FILE else own)


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mark", MARKS)
def test_what_is_marked_is_used_or_refused(mark: str, place: str, second: str, tmp_path: Path) -> None:
    written(tmp_path, mark, place, second)
    file, _, allowed = PLACES[place]
    if mark in allowed and second == "nothing":
        assert used(load_model_class(str(tmp_path / "mine.py")), mark, tmp_path, place)
        return
    with pytest.raises(ModelError) as found:
        load_model_class(str(tmp_path / "mine.py"))
    lines = (tmp_path / file).read_text().splitlines()
    here = 1 + next(i for i, line in enumerate(lines) if "# here" in line)
    where = re.match(r"(\w+\.py):(\d+): .*; ", str(found.value))
    assert where, str(found.value)
    again = next((1 + i for i, line in enumerate(lines) if i >= here and MARKS[mark] in line), here)
    if mark == "initial" and second in ("a value", "the same"):
        return  # refused as well, in another line: `initial` is also the name of the decorator, and of every model
    assert (where[1], int(where[2])) in ((file, here), (file, again)), str(found.value)


CLASHES = {"the class": "mine.py", "a base in another file": "base.py", "the file of a base": "base.py"}


@pytest.mark.parametrize("mark", [m for m in MARKS if m in OF_A_FILE - {"refinement"}])
@pytest.mark.parametrize("other", CLASHES)
def test_a_function_of_a_file_that_clashes_is_refused(mark: str, other: str, tmp_path: Path) -> None:
    here = text_of(mark, "nothing")
    there, within = here.replace("# here", ""), textwrap.indent(here.replace("# here", ""), "    ")
    base = "class Base(Model):\n    abstract = True\n"
    base = base + within if other == "a base in another file" else base + there if "file of" in other else base
    (tmp_path / "base.py").write_text(HEAD + base)
    own = within if other == "the class" else ""
    text = f"{HEAD}from base import Base\n{here}\nclass Mine(Base):\n{BODY}{own}"
    (tmp_path / "mine.py").write_text(text)
    line = 1 + next(i for i, x in enumerate(text.splitlines()) if "# here" in x)
    with pytest.raises(ModelError, match=rf"^mine\.py:{line}: said has the name of another one, at {CLASHES[other]}:"):
        load_model_class(str(tmp_path / "mine.py"))


UNDECORATED = {
    "begins of Mine is not used, because Mine is no Part; call it initial": (
        "class Mine(Model):\n" + BODY + "    def begins(self, s):  # here\n        s.n = 1\n"
    ),
    "initial of Mine replaces begins of Owned; call super().initial, or write begins": (
        "class Owned(Part):\n    abstract = True\n    def begins(self, s):\n        s.n = 1\n"
        "class Mine(Owned):\n"
        + BODY.replace("variables", "holds")
        + "    def initial(self, s):  # here\n        s.n = 2\n"
    ),
    "variables of Mine replaces holds of Owned; call super().variables, or write holds": (
        "class Owned(Part):\n    abstract = True\n    def holds(self):\n        return {'m': flag}\n"
        "class Mine(Owned):\n" + BODY.replace("(self):\n", "(self):  # here\n", 1)
    ),
    "begins of Beneath is not used, because Beneath is no Part; derive it from Part": (
        "class Beneath:\n    def begins(self, s):  # here\n        s.n = 1\n"
        "class Mine(Beneath, Part):\n" + BODY.replace("variables", "holds")
    ),
    "@initial marks start, where nothing uses it; call it initial": (
        "class Mine(Model):\n" + BODY + "    @initial()  # here\n    def start(self, s):\n        s.n = 1\n"
    ),
    "class Mine is not used: another class has its name; give each a name of its own": (
        "class Mine(Model):  # here\n" + BODY + "class Mine(Model):\n" + BODY
    ),
}


@pytest.mark.parametrize("message", UNDECORATED)
def test_a_method_or_class_without_use_is_refused(message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text := HEAD + UNDECORATED[message])
    line = 1 + next(i for i, x in enumerate(text.splitlines()) if "# here" in x)
    with pytest.raises(ModelError) as found:
        load_model_class(str(tmp_path / "mine.py"))
    assert str(found.value) == f"mine.py:{line}: {message}"


def test_an_initial_that_calls_those_of_the_parts_is_right(tmp_path: Path) -> None:
    text = UNDECORATED["initial of Mine replaces begins of Owned; call super().initial, or write begins"]
    (tmp_path / "mine.py").write_text(HEAD + text.replace("s.n = 2", "super().initial(s)"))
    assert load_model_class(str(tmp_path / "mine.py")).name == "mine"


def test_every_mark_is_tried_here() -> None:
    found = {name.strip("_") for name in decorators.MARKS}
    assert found == {"action", "predicate", "initial", "refinement", "statement", "records", "needs"}
