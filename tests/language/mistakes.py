"""Small models with one mistake each, and the messages about it from tracing and from running the method."""

from __future__ import annotations

import linecache
from typing import Any, Final

import isrcheck.model.language as language
from isrcheck.checker.engines import reference
from isrcheck.model.language import Model, ModelError
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace

FILE: Final = "mistake.py"
MODEL: Final = '''\
class Mistake(Model):
    brokers_ = setting(2, counts=broker, meaning="brokers")
    invariants = ("true",)

    def variables(self):
        return {
            "on": flag, "n": number(0, 3), "role": enum("leader", "follower"), "leader": broker,
            "preferred": optional(broker), "isr": set_of(broker), "zk": record(version=number(0, 3), on=flag),
            "log": sequence(number(0, 3), 2), "inbox": messages(number(0, 2)), "end": per(broker, number(0, 3)),
            "beliefs": per(broker, record(epoch=number(0, 3), leader=optional(broker))),
        }

    @action(b=broker, k=number(0, 3), actor="controller")
    def act(self, s, b, k):
        """It acts."""
        BODY

    @invariant
    def true(self, s):
        """True."""
        INVARIANT
'''


def made(text: str, name: str = "Mistake") -> type[Model]:
    """The class that a text defines, in the file `mistake.py`."""
    names: dict[str, Any] = {**{n: getattr(language, n) for n in language.__all__}, "__name__": "mistake"}
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    exec(compile(text, FILE, "exec"), names)
    cls: type[Model] = names[name]
    return cls


def text_of(body: str = "s.on = True", invariant: str = "return s.on | ~s.on") -> str:
    body, invariant = ("\n        ".join(lines.splitlines()) for lines in (body, invariant))
    return MODEL.replace("BODY", body).replace("INVARIANT", invariant)


def line_of(text: str, lines: str) -> int:
    """The number of the last line of `lines` in a text."""
    last = lines.splitlines()[-1].strip()
    return 1 + next(i for i, line in enumerate(text.splitlines()) if line.strip() == last)


def said_by_tracing(text: str) -> str:
    """The message of tracing about the mistake."""
    return _said(lambda model: trace(model, model.predicates("invariant")), text)


def said_by_running(text: str) -> str:
    """The message about the mistake when the methods run on concrete states."""

    def run(model: Model) -> None:
        reference.search(Interpreter(model, model.predicates("invariant")))

    return _said(run, text)


def _said(what: Any, text: str) -> str:
    try:
        what(made(text)())
    except ModelError as error:
        return str(error)
    raise AssertionError("nothing is refused")
