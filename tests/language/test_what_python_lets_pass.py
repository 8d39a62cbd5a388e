"""Code that Python accepts silently works or is refused in one line, as in the table of docs/reference/language.md."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import isrcheck.model.language as language
from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class, model_names
from isrcheck.model.language import ModelError
from isrcheck.model.semantics import method_calls
from isrcheck.model.semantics.operators import signs
from isrcheck.model.semantics.tracing import trace
from tests.language.mistakes import FILE, line_of, made, said_by_running, said_by_tracing, text_of
from tests.marks import EXHAUSTIVE, one_in

BRANCH = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
DECIDES = "a branch depends on the state"
UNUSED = "act computes a value of the state but does not use it"
TAKE = "return it, assign it, or require it"
VARIABLE = "keep it in a variable of the state"
TYPED = "the Python type of a state value is tested"
DOMAIN = "its domain says which values it can have"
COPY = "use it directly: it never changes"
TEXT = "compare it with ==; to inspect it, write print(repr(...))"
NOW = "loop over its possible values, and compare with =="
SET = "write .including(b) and .excluding(b) on sets of brokers, .add(...) on messages, or compare with =="
CHANCE = "differs from run to run; use a parameter of the action, whose values are all explored"
GIVEN = "a parameter is changed; create a new value: {**record, ...}, [*sequence, ...]"
HIDES = "hides the operation from the language; write it out"
OUTSIDE = "reads or writes something outside the model; use a setting or a variable of the state"
NUMBERS = f"compute with {signs('number')}, compare with == != < <= > >="
AT_ALL = "the state is used as a value; write s.name of a variable"

# Bodies of an action; what only tracing can say, the name of the value, stands between braces.
REFUSED = {
    "from beside import words\ns.n = 1": "beside is imported while a method runs; import it at the top of the file",
    "from .beside import words\ns.n = 1": ".beside is imported while a method runs; import it at the top of the file",
    "s.require(s.preferred is not None)": "`is` applied to the state{: preferred}; write .is_none, or == none",
    "s.on = s.preferred is none": "`is` applied to the state{: preferred}; write .is_none, or == none",
    "s.on = s.zk.on is True": "`is` applied to the state{: zk.on}; write ==",
    "s.on = s.leader is b": "`is` applied to the state{: leader}; write ==",
    "s.n = 1 if chosen is None else 2": "an optional parameter is never None; write `is none`, or == none",
    "s.on = 0 < k is b": "`is` in a chained comparison; write one comparison at a time",
    "match s.preferred:\n    case None:\n        s.on = True": (
        "`match` applied to the state{: preferred}; write when(condition, a, b), or an action for each case"
    ),
    "match (b, s.preferred):\n    case (_, None):\n        s.on = True": (
        "`match` applied to the state{: preferred}; write when(condition, a, b), or an action for each case"
    ),
    "s.on = isinstance(s.n, int)": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on = type(s.n) == int": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on == True": f"{UNUSED}{{: on}}; {TAKE}",
    "s.isr.including(b)": f"{UNUSED}{{: isr | {{0}}}}; {TAKE}",
    "s.log.append": "the method append is named but not called; call it",
    "(s.require(x) for x in [s.on])": "a generator that is never run; write a loop",
    "s.on = s.n == 1 & True": "1 & True is evaluated before the comparison; write (...) & (...)",
    "s.n = 1 if ~True else 2": "~ of the Python bool True is -2; write `not` for conditions on parameters only",
    "try:\n    s.n = int(s.n)\nexcept Exception:\n    s.n = 2": (
        f"a state number where Python needs a constant{{: n}}; {NOW}"
    ),
    "try:\n    s.on = s.log.push(1)\nexcept AttributeError:\n    s.on = True": (
        "there is no .push{: log}; known: append, appended, at, first, has, index, is_empty, is_full, is_prefix_of, "
        "last, length, remove_first, truncate, truncated, without, without_first"
    ),
    "s.on = hasattr(s.isr, 'add')": (
        "there is no .add{: isr}; known: every, excluding, has, including, is_empty, size, some"
    ),
    "s.on = 0 <= s.n < 3": f"{DECIDES}{{: true}}; {BRANCH}",
    "assert s.on\ns.n = 1": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.on = [s.n, 1] == [2, 1]": f"{DECIDES}{{: n == 2}}; {BRANCH}",
    "s.on = {1: s.n} == {1: 2}": f"{DECIDES}{{: n == 2}}; {BRANCH}",
    "s.on = s.n in [1, 2]": f"{DECIDES}{{: n == 1}}; {BRANCH}",
    "s.n = sorted([s.n, s.zk.version])[0]": f"{DECIDES}{{: n > zk.version}}; {BRANCH}",
    "s.n = {'a': 1}.get(s.role, 2)": f"a state value in a Python set or dict{{: role}}; {SET}",
    "s.n = hash(s.n)": f"a state value in a Python set or dict{{: n}}; {SET}",
    "s.n = {'leader': 1}.get(str(s.role), 2)": f"a state value in a string{{: role}}; {TEXT}",
    "s.on = f'{s.role}' == 'leader'": f"a state value in a string{{: role}}; {TEXT}",
    "s.n = float(s.n)": f"a state number where Python needs a constant{{: n}}; {NOW}",
    "s.n = round(s.n)": f"a state number where Python needs a constant{{: n}}; {NOW}",
    "del s.on": "del s.on; assign another value",
    "del s.end[b]": "del of a state value{: end}; assign another value",
    "import copy\nzk = copy.copy(s.zk)\ns.on = True": f"a copy of a state value{{: zk}}; {COPY}",
    "import copy\nt = copy.copy(s)\ns.on = True": AT_ALL,
    "s.n = 1 if s else 2": AT_ALL,
    "for x in s:\n    s.on = True": AT_ALL,
    "s.on = s == 1": AT_ALL,
    "s.n = s['n']": AT_ALL,
    "s.on = True\nreturn False": "action act returns False, which is not used; write s.require(...) for what "
    "must hold, and `return` "
    "without a value",
    "global calls\ncalls = 1\ns.on = True": f"global calls survives the step; {VARIABLE}",
    "self.seen = b": f"self.seen is assigned, and would survive the step; {VARIABLE}",
    "self.brokers_ = 3": (
        "self.brokers_ is a setting and cannot be assigned; write `name = value` in the class to fix it"
    ),
    "b.number = 0": "number of broker 0 is assigned; parameters cannot be changed; assign a variable of the state",
    "words.append(1)": GIVEN,
    "fields['on'] = True": GIVEN,
    "s.on = random.random() < 0.5": f"random {CHANCE}",
    "s.on = time.time() > 0": f"time {CHANCE}",
    "s.on = os.urandom(1) == b'0'": f"urandom {CHANCE}",
    "import numpy\ns.on = numpy.random.rand() < 0.5": f"rand {CHANCE}",
    "import random as r\ns.on = r.random() < 0.5": f"random {CHANCE}",
    "s.n = id(b)": "id(...) may differ from run to run; compare with ==",
    "s.n = hash('a')": "hash(...) may differ from run to run; compare with ==",
    "s.on = next(COUNTER) == 1": (
        "COUNTER is an iterator, whose position survives the step; create it in the function that uses it"
    ),
    "s.on = os.environ.get('LEADER') == '1'": f"environ {OUTSIDE}",
    "s.on = open('leader').read() == '1'": f"open {OUTSIDE}",
    "threading.Thread(target=lambda: s.require(s.on)).start()": (
        "Thread runs outside the step; write a separate action, or call it here"
    ),
    "s.on = globals()['hidden'](s.preferred)": f"globals {HIDES}",
    "s.on = eval('s.preferred is None')": f"eval {HIDES}",
    "exec('s.on = True')": f"exec {HIDES}",
    "s.on = operator.is_(s.preferred, None)": "operator.is_ compares by `is`; write ==",
    "s.on = TABLE['is'](s.preferred, None)": "operator.is_ compares by `is`; write ==",
    "s.on = all(map(operator.is_not, [s.preferred], [None]))": "operator.is_not compares by `is`; write ==",
    "s.on = repr(s.n) == '0'": f"a state value in a string{{: n}}; {TEXT}",
    "s.on = '%r' % [s.n] == '[0]'": f"a state value in a string{{: n}}; {TEXT}",
    "s.on = f'{s.n!r}' == '0'": f"a state value in a string{{: n}}; {TEXT}",
    "s.on = s.n.__class__ == int": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on = getattr(s.n, '__class__') == int": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on = operator.attrgetter('__class__')(s.n) == int": "attrgetter of __class__ is not checked; write it out",
    "s.on = list(map(type, [s.n])) == [int]": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on = functools.partial(isinstance, s.n)(int)": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on = by_type(s.n)": "by_type dispatches on the Python type of its argument; write one function for each case",
    "s.on = BY_TYPE.of(s.n)": "of dispatches on the Python type of its argument; write one function for each case",
    "s.__dict__['on'] = True": f"{TYPED}; {DOMAIN}",
    "object.__setattr__(s, 'on', True)": "object.__setattr__ bypasses the language; write s.name = value",
    "s._updates = {}": "s._updates is not a variable of the model; read and assign variables",
    "s.on = remember.cache_info().misses < 2": f"cache_info survives the step; {VARIABLE}",
    "s.on = CONTEXT.get() == 1": f"CONTEXT survives the step; {VARIABLE}",
    "s.on == True, s.n == 1": f"{UNUSED}{{: on}}; {TAKE}",
    "on = True": "on is assigned but never read; to change the state write s.on = ...",
    "n = 0\nn += 1": "n is assigned but never read; to change the state write s.n = ...",
    "if self.broker:\n    s.on = True": "the method broker is used as a condition but not called; call it",
    "s.n = 1 if (x for x in words) else 2": (
        "a generator is used as a condition, and is always true; write any(...) or all(...)"
    ),
    "match {'a': s.preferred}:\n    case {'a': None}:\n        s.on = True": (
        "`match` applied to the state{: preferred}; write when(condition, a, b), or an action for each case"
    ),
    "match Pair(1, s.preferred):\n    case Pair(second=None):\n        s.on = True": (
        "`match` applied to the state{: preferred}; write when(condition, a, b), or an action for each case"
    ),
    "try:\n    s.n = s.n @ 1\nexcept TypeError:\n    s.n = 2": f"this operator is not supported{{: n}}; {NUMBERS}",
    "try:\n    s.n = s.n(1)\nexcept TypeError:\n    s.n = 2": (
        "a state value is called{: n}; write it without parentheses"
    ),
    "try:\n    s.n = s.n[0]\nexcept TypeError:\n    s.n = 2": (
        "[...] of a value without elements{: n}; only per(...) can be indexed"
    ),
    "with s.zk:\n    s.on = True": "`with` applied to the state{: zk}; use it directly",
}
ASSERTED = ("assert (s.on, 'it is on')",)
SORTED = ("s.require([*MANY][1:] == list('abcde') == [x for x in MANY][1:] == list(MANY)[1:])\ns.on = True",)
MANY = "{'e', 'd', 'c', 'b', 'a', none}"
FOUND_BY_TRACING = {
    "s.n.value = 1": "n.value is assigned; assign n as a whole, through s",
    "s.log.length = 1": "log.length is assigned; assign log as a whole, through s",
}
OUTLIVES = {
    "SEEN.append(b)\ns.on = True": "SEEN",
    "Mistake.calls = 1\ns.on = True": "Mistake.calls",
    "self.settings['brokers_'] = 3\ns.on = True": "self.settings",
    "remembered(b)\ns.on = True": "a default of remembered",
    "hidden.calls = 1\ns.on = True": "hidden",
    "SPACE.calls += 1000\ns.on = True": "SPACE",
    "SLOTS.calls += 1000\ns.on = True": "SLOTS",
    "NESTED[0][0][0][0][0].append(b)\ns.on = True": "NESTED",
    "BYTES[0] = b.number + 1\ns.on = True": "BYTES",
    "counted()\ns.on = True": "calls",
    "SPACE.more()\ns.on = True": "SEEN",
    "Helper.calls += 1000\ns.on = True": "Helper",
    "TOGETHER.add(b)\ns.on = True": "TOGETHER",
    "WEAK[MARKED] = b\ns.on = True": "WEAK",
    "MODULE.calls += 1000\ns.on = True": "MODULE",
    "next(SPACE.generated)\ns.on = True": "SPACE",
    "ARRAY[0] += 1\ns.on = True": "ARRAY",
}
RIGHT = {
    "s.n = y if (y := minimum(s.n, 1)) is not None else 0": "n",
    "s.n = minimum(sum(s.end[x] for x in self.brokers), 3)": "a sum of numbers",
    "s.n += 0": "n",
    "s.zk.version, s.n = s.n, s.zk.version": "both are read first",
    "s.n = len([s.n, s.n])": "the length of a list",
    "s.on = every(s.end[x] <= 3 for x in self.brokers)": "a comprehension over brokers",
    "try:\n    s.n = 1\nfinally:\n    s.on = True": "both",
    "s.require(started(self, s))\ns.on = True": "an argument that is not given is None",
    "if not chosen:\n    s.on = True": "none is nobody",
    "s.n = 1 if chosen is none else 2": "a parameter that is none",
    "s.n = 1 if chosen == None else 2": "none equals None",
    "s.n = factorial(2)": "recursion that parameters decide",
    "assert b is not None\ns.on = True": "a parameter",
    "x = s.n\nx += 1\ns.n = minimum(x, 3)": "another value",
    "print(repr(s.n), f'{s.zk!r}', file=sys.stderr)\ns.on = True": "a look",
    "s.n = given(s.n)": "a mark of one's own is not a value of the state",
    "s.n = Pair(s.n, 1).first": "an object made in the step",
    "s.n = minimum(s.n, Frozen(1).first)": "a frozen one",
    "s.n = minimum(s.n, remember(1))": "a cached function of parameters",
    "s.on = functools.reduce(lambda x, y: x & y, [s.on, s.n < 2])": "a fold",
    "x, y = s.n, 1\ns.n = x": "one of two is not read",
    "s.require(getattr(s, 'n') < 3)\nsetattr(s, 'n', 3)": "names as texts",
    "for x in self.brokers:\n    ask = lambda: s.isr.has(x)\n    s.end[x] = when(ask(), 1, 0)": "asked at once",
}
AROUND = """\
import array, contextvars, dataclasses, functools, itertools, operator, os, random, sys, threading, time, types, weakref
SEEN = []
calls = 0
NESTED = [[[[[[]]]]]]
BYTES = bytearray(2)
COUNTER = itertools.count()
SPACE = types.SimpleNamespace(calls=1000)
TABLE = {'is': operator.is_}
MARK = object()
class Slots:
    __slots__ = ('calls',)
    def __init__(self):
        self.calls = 1000
SLOTS = Slots()
Pair = dataclasses.make_dataclass('Pair', ['first', 'second'])
Frozen = dataclasses.make_dataclass('Frozen', ['first'], frozen=True)
class Helper:
    calls = 1000
CONTEXT = contextvars.ContextVar('context', default=1)
MARKED = Helper()
WEAK = weakref.WeakKeyDictionary()
MODULE = types.ModuleType('kept')
MODULE.calls = 1000
ARRAY = array.array('i', [1000, 2000])
SPACE.generated = (x for x in range(1000))
@functools.cache
def remember(x):
    return x
TOGETHER = set()
def more():
    SEEN.append(1)
SPACE.more = more
del more
def hidden(x):
    return x is None
def given(x=MARK):
    return 1 if x is MARK else x
def counting():
    calls = 0
    def counted():
        nonlocal calls
        calls += 1
    return counted
counted = counting()
@functools.singledispatch
def by_type(x):
    return False
class ByType:
    @functools.singledispatchmethod
    def of(self, x):
        return False
BY_TYPE = ByType()
def remembered(b, seen=[]):
    seen.append(b)
def started(m, s, start=None):
    return s.n <= 3 if start is None else s.n <= start
def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)
"""


def whole(body: str = "s.on = True", invariant: str = "return s.on | ~s.on") -> str:
    text = AROUND + text_of(body, invariant)
    more = "chosen=optional(broker), words=sequence(flag, 1), fields=record(on=flag)"
    return text.replace("k=number(0, 3)", f"k=number(0, 3), {more}").replace("b, k)", "b, k, chosen, words, fields)")


def worded(message: str, traced: bool) -> str:
    """The message with the name of the value, which is in the outermost braces, or without this name."""
    before, brace, rest = message.partition("{: ")
    if not brace or rest.count("}") < 1:
        return message
    inside, _, after = rest.rpartition("};") if "};" in rest else rest.rpartition("}")
    end = ";" if "};" in rest else ""
    return f"{before}: {inside}{end}{after}" if traced else f"{before}{end}{after}"


def first_line(text: str) -> int:
    """The line of the action's decorator."""
    return 1 + next(i for i, line in enumerate(text.splitlines()) if "@action" in line)


def line(text: str, body: str) -> int:
    """The number of the refused line of a body: the first line that does not begin with `import`, `try` or `global`."""
    lines = body.splitlines()
    wrong = next(x for x in lines if not x.startswith(("import", "try", "global")) or len(lines) == 1)
    if body.startswith("global"):
        wrong = lines[0]
    return line_of(text, wrong)


@pytest.mark.parametrize("body", REFUSED)
def test_both_interpretations_refuse(body: str) -> None:
    text = whole(body)
    where = first_line(text) if "return False" in body else line(text, body)
    for said, traced in ((said_by_tracing(text), True), (said_by_running(text), False)):
        expected = f"mistake.py:{where}: {worded(REFUSED[body], traced)}"
        assert said == (expected if traced else expected.replace("action act", "act"))


@pytest.mark.parametrize("body", FOUND_BY_TRACING)
def test_tracing_refuses(body: str) -> None:
    text = whole(body)
    assert said_by_tracing(text) == f"mistake.py:{line(text, body)}: {FOUND_BY_TRACING[body]}"


@pytest.mark.parametrize("body", OUTLIVES)
def test_what_outlives_the_step_may_not_change(body: str) -> None:
    message = f"action act changes {OUTLIVES[body]}, which survives the step; {VARIABLE}"
    assert said_by_tracing(whole(body)).endswith(f": {message}")


@pytest.mark.parametrize("body", RIGHT)
def test_what_means_what_it_says_is_left_alone(body: str) -> None:
    model = made(whole(body))
    assert check(model).verdict == check(model, engine="reference").verdict == "holds"


def test_a_requirement_that_is_false_stays_so_though_its_exception_is_caught() -> None:
    body = "try:\n    s.require(s.on)\nexcept Exception:\n    pass\ns.n = 1"
    model = made(whole(body))
    assert [check(model, engine=e).distinct for e in ("local", "reference")] == [1, 1]


HELPERS = {
    "a method": ("self.known(s.preferred)", "    def known(self, x):\n        return x is not None\n"),
    "a property": (
        "self.knows(s.preferred)",
        "    @property\n    def knows(self):\n        return lambda x: x is not None\n",
    ),
    "a function": ("known(s.preferred)", "def known(x):\n    return x is not None\n"),
    "a function by another": (
        "one(s.preferred)",
        "def one(x):\n    return two(x)\ndef two(x):\n    return x is not None\n",
    ),
    "a table": ("TABLE['a'](s.preferred)", "TABLE = {'a': lambda x: x is not None}\n"),
    "a class": (
        "Helper.known(s.preferred)",
        "class Helper:\n    @staticmethod\n    def known(x):\n        return x is not None\n",
    ),
    "an object": (
        "HELPER.known(s.preferred)",
        "class Helper:\n    def known(self, x):\n        return x is not None\nHELPER = Helper()\n",
    ),
    "a method by a text": (
        "getattr(self, 'kno' + 'wn')(s.preferred)",
        "    def known(self, x):\n        return x is not None\n",
    ),
    "a method of methods": (
        "self.known(s.preferred)",
        "    def _known(self, y, x):\n        return x is not None\n"
        "    import functools\n    known = functools.partialmethod(_known, 1)\n",
    ),
    "a cached function": (
        "known(s)",
        "import functools\n@functools.cache\ndef known(s):\n    return s.preferred is not None\n",
    ),
    "an operator": (
        "HELPER >> s.preferred",
        "class Helper:\n    def __rshift__(self, x):\n        return x is not None\nHELPER = Helper()\n",
    ),
    "an index": (
        "Helper[s.preferred]",
        "class Helper:\n    def __class_getitem__(cls, x):\n        return x is not None\n",
    ),
    "a class of classes": (
        "Helper(s.preferred)",
        "class Made(type):\n    def __call__(cls, x):\n        return x is not None\n"
        "class Helper(metaclass=Made):\n    pass\n",
    ),
    "a descriptor": (
        "Helper().known(s.preferred)",
        "class Given:\n    def __get__(self, of, cls):\n        return lambda x: x is not None\n"
        "class Helper:\n    known = Given()\n",
    ),
    "a context": (
        "known(s.preferred).__enter__()",
        "import contextlib\n@contextlib.contextmanager\ndef known(x):\n    yield x is not None\n",
    ),
    "what is enclosed": (
        "known(s.preferred)",
        "def made():\n    def known(x):\n        return x is not None\n    return known\nknown = made()\n",
    ),
}


@pytest.mark.parametrize("where", HELPERS)
def test_what_a_method_calls_is_refused_at_its_own_line(where: str) -> None:
    call, helper = HELPERS[where]
    text = text_of(f"s.on = {call}") + "\n" + helper
    place = f"mistake.py:{1 + next(i for i, x in enumerate(text.splitlines()) if 'is not None' in x)}: "
    assert said_by_tracing(text) == f"{place}`is` applied to the state: preferred; write .is_none, or == none"
    assert said_by_running(text) == f"{place}`is` applied to the state; write .is_none, or == none"


@pytest.mark.parametrize("body", ["s.on = s.preferred is None", "s.n = 1 if s.preferred is None else 2"])
def test_what_has_no_source_is_refused_where_it_compares_by_is(body: str) -> None:
    text = text_of(body)
    cls = made(text)
    del linecache.cache[FILE]
    with pytest.raises(ModelError) as caught:
        trace(cls())
    assert str(caught.value) == (
        f"mistake.py:{first_line(text)}: `is` in a function whose source cannot be read; keep the model in a file"
    )


OTHERWISE = "that differs from its source file; pytest rewrites functions with `assert`; move it to another file"
CHANGED = {
    "assert b\ns.on = s.preferred is None": f"`is` in a function {OTHERWISE}",
    "assert b\nmatch s.n:\n    case int():\n        s.on = True": f"`match` in a function {OTHERWISE}",
    "assert b\ns.on = isinstance(s.n, int)": f"isinstance in a function {OTHERWISE}",
}


class WithoutAsserts(ast.NodeTransformer):
    """Rewrites `assert` to other code, as pytest does in test files."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return ast.copy_location(ast.If(node.test, [ast.copy_location(ast.Pass(), node)], []), node)


@pytest.mark.parametrize("body", [*CHANGED, "assert b\ns.on = s.preferred == none"])
def test_what_is_not_as_its_file_says_is_refused_where_it_asks_nobody(body: str) -> None:
    text = text_of(body)
    names: dict[str, Any] = {**vars(language), "__name__": "mistake"}
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    tree = ast.fix_missing_locations(WithoutAsserts().visit(ast.parse(text)))
    exec(compile(tree, FILE, "exec"), names)
    if body in CHANGED:
        with pytest.raises(ModelError) as caught:
            trace(names["Mistake"]())
        assert str(caught.value) == f"mistake.py:{first_line(text)}: {CHANGED[body]}"
    else:
        assert trace(names["Mistake"]()).transitions


THEIRS = f"""\
from isrcheck import *

{text_of("s.on = s.preferred is None")}
SEEN = []


class Counting(Mistake):
    @action(b=broker, k=number(0, 3), actor="controller")
    def act(self, s, b, k):
        "It acts."
        SEEN.append(b)
        s.on = True


class Helper:
    def __rshift__(self, x):
        return x is None


def gone(x):
    return _gone(x)


def _gone(x):
    return None is x
"""
INSTALLED = {
    "a model": ("class Mine(theirs.Mistake):\n    pass\n", "s.on = s.preferred is None"),
    "a model that keeps something": (
        "class Mine(theirs.Counting):\n    pass\n",
        '@action(b=broker, k=number(0, 3), actor="controller")',
    ),
    "a function": (text_of("s.on = theirs.gone(s.preferred)"), "return None is x"),
    "a function that is handed on": (text_of("s.on = all(map(theirs.gone, [s.preferred]))"), "return None is x"),
    "an operator": (text_of("s.on = theirs.Helper() >> s.preferred"), "return x is None"),
}


@pytest.mark.parametrize("what", INSTALLED)
def test_what_is_installed_is_refused_at_its_own_line(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, line = INSTALLED[what]
    packages = tmp_path / "site-packages"
    packages.mkdir()
    name = "theirs_" + what.replace(" ", "_")  # what one model is built upon is heeded from then on
    (packages / f"{name}.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(packages)
    with pytest.raises(ModelError) as caught:
        trace(made(f"import {name} as theirs\n" + mine.replace("class Mistake", "class Mine"), "Mine")())
    del sys.modules[name]
    message = "`is` applied to the state: preferred; write .is_none, or == none"
    lines = THEIRS.splitlines()
    where = [n for n, x in enumerate(lines, 1) if x.strip() == line][-1]
    if "keeps" in what:
        message = f"action act changes SEEN, which survives the step; {VARIABLE}"
    assert str(caught.value) == f"{name}.py:{where}: {message}"


def test_an_assert_of_a_tuple_is_refused() -> None:
    body = ASSERTED[0]
    with pytest.warns(SyntaxWarning, match="assertion is always true"):
        said = said_by_tracing(text_of(body))
    assert (
        said == f"mistake.py:{line_of(text_of(body), body)}: an assert of a tuple is always true; remove the "
        "parentheses"
    )


def test_a_set_of_texts_has_one_order_in_every_process() -> None:
    assert trace(made(text_of(SORTED[0].replace("MANY", MANY)))()).transitions


def test_an_initial_state_keeps_nothing() -> None:
    text = whole() + "\n    def initial(self, s):\n        SEEN.append(1)\n"
    where = line_of(text, "def initial(self, s):")
    message = f"mistake.py:{where}: initial changes SEEN, which survives the step; {VARIABLE}"
    assert (said_by_tracing(text), said_by_running(text)) == (message, message)


def test_what_is_no_method_of_a_model_is_what_it_was() -> None:
    text = (
        "import time\n"
        + text_of()
        + "\ndef aside(x):\n    n = 3\n    ~True\n    x.__class__\n    return time.time() > id(x) < 0\n"
    )
    cls = made(text)
    assert trace(cls()).transitions
    aside = cls.act.__globals__["aside"]
    assert "@called" in aside.__code__.co_names
    assert aside(1) is False


def test_what_a_model_is_built_upon_is_refused_at_its_own_line() -> None:
    base = text_of("s.on = s.preferred is none")
    act = "    @action(b=broker, k=number(0, 3), actor='x')\n    def act(self, s, b, k):\n        'It acts.'\n"
    text = f"{base}\n\nclass Mine(Mistake):\n{act}        super().act(s, b, k)\n"
    with pytest.raises(ModelError) as caught:
        trace(made(text, "Mine")())
    where = line_of(text, "s.on = s.preferred is none")
    assert str(caught.value) == (
        f"mistake.py:{where}: `is` applied to the state: preferred; write .is_none, or == none"
    )


# --- predicates -----------------------------------------------------------------------------------------------------

ANSWERS = {
    "s.on | ~s.on": "true computes a value of the state but does not use it",
    "return s.preferred is None": "`is` applied to the state",
    "pass": "invariant true returns nothing; return a condition",
    "return s.n": "invariant true must return a condition: {n|0} is not a condition; compare it with a value",
    "return [s.on]": "is not a condition; compare it with a value",
    "return (s.on for _ in [1])": (
        "invariant true must return a condition: a generator is not a condition; wrap it in every(...) or some(...)"
    ),
    "return self.brokers.index": (
        "invariant true must return a condition: the method index is not a condition; call it"
    ),
}


@pytest.mark.parametrize("body", ANSWERS)
def test_a_predicate_gives_a_condition_back(body: str) -> None:
    text, message = whole(invariant=body), ANSWERS[body]
    mark = line_of(text, "@invariant")
    where = mark if "returns" in message or "must" in message or "[" in body else mark + 3
    for said, form in ((said_by_tracing(text), r"\1"), (said_by_running(text), r"\2")):
        assert re.sub(r"\{(\w+)\|(\w+)\}", form, message) in said
        assert said.startswith(f"mistake.py:{where}: ")


# --- functions that do not run, marks that do not mark --------------------------------------------------------------

YIELD = "has a yield and would never run; remove the yield"
ASYNC = "is async and would never run; write def"
MARKS = {
    "@action(actor='x')\n    def go(self, s):\n        'Go.'\n        yield s.on": f"action go {YIELD}",
    "@action(actor='x')\n    async def go(self, s):\n        'Go.'\n        s.on = True": f"action go {ASYNC}",
    "@action(actor='x')\n    async def go(self, s):\n        'Go.'\n        yield s.on": f"action go {ASYNC}",
    "@invariant\n    def good(self, s):\n        'Good.'\n        yield s.on": f"invariant good {YIELD}",
    "@goal\n    async def good(self, s):\n        'Good.'\n        return s.on": f"goal good {ASYNC}",
    "@constraint\n    def good(self, s):\n        'Good.'\n        yield s.on": f"constraint good {YIELD}",
    "def initial(self, s):\n        yield s.on": f"initial {YIELD}",
    "def variables(self):\n        yield flag": f"variables {YIELD}",
    "def check_settings(self):\n        yield 1": f"check_settings {YIELD}",
    "@goal\n    @invariant\n    def good(self, s):\n        'Good.'\n        return s.on": (
        "good is decorated twice; decorate it once"
    ),
    "@action(actor='x')\n    @property\n    def go(self, s):\n        'Go.'": (
        "@action decorates a property; decorate a plain function, without other decorators in between"
    ),
    "@staticmethod\n    @invariant\n    def good(m, s):\n        'Good.'\n        return s.on": (
        "the decorator of good is hidden by another one; put this decorator first"
    ),
    "@property\n    @invariant\n    def good(self, s):\n        'Good.'\n        return s.on": (
        "the decorator of good is hidden by another one; put this decorator first"
    ),
    "@quietly\n    @invariant\n    def good(self, s):\n        'Good.'\n        return s.on": (
        "the decorator of good is hidden by another one; put this decorator first"
    ),
    "@invariant\n    def true(self, s):\n        'True.'\n        return s.on": (
        "true is defined twice in one class; use different names"
    ),
}


@pytest.mark.parametrize("member", MARKS)
def test_a_method_that_would_not_run_or_not_be_seen_is_refused_at_once(member: str) -> None:
    text = "def quietly(f):\n    return lambda *x: f(*x)\n" + text_of() + f"\n    {member}\n"
    message = MARKS[member]
    with pytest.raises(ModelError) as caught:
        made(text)()
    assert str(caught.value).startswith("mistake.py:")
    assert str(caught.value).endswith(f": {message}")


def test_a_predicate_is_replaced_with_its_decorator_only() -> None:
    text = text_of() + "\n\nclass Variant(Mistake):\n    def true(self, s):\n        return s.on\n"
    with pytest.raises(ModelError) as caught:
        made(text, "Variant")
    at = len(text.splitlines()) - 1
    assert str(caught.value) == f"mistake.py:{at}: true replaces an invariant of Mistake; decorate it with @invariant"


VARIABLES = {
    "pass": "variables returns None; return a dict of names and domains",
    "return {'on': 3}": "variable 'on' is 3; use a domain, such as number(0, 3)",
    "return {'on': True}": "variable 'on' is True; use a domain, such as number(0, 3)",
}


@pytest.mark.parametrize("body", VARIABLES)
def test_variables_are_domains_by_name(body: str) -> None:
    text = text_of() + f"\n    def variables(self):\n        {body}\n"
    with pytest.raises(ModelError) as caught:
        made(text)()
    assert str(caught.value) == f"mistake.py:{len(text.splitlines()) - 1}: {VARIABLES[body]}"


def test_names_of_invariants_are_a_tuple() -> None:
    with pytest.raises(ModelError) as caught:
        made(text_of().replace('invariants = ("true",)', 'invariants = ("true")'))
    assert str(caught.value) == ("mistake.py:1: Mistake.invariants is a string, not a tuple of names; write ('true',)")


# --- initial states -------------------------------------------------------------------------------------------------

NO_START = "initial requires something false, so there is no initial state; assign values instead"


@pytest.mark.parametrize("body", ["s.require(s.n == 3)", "s.n = 3\n        s.require(False)"])
def test_a_model_without_an_initial_state_is_refused_at_what_it_requires(body: str) -> None:
    text = text_of() + f"\n    def initial(self, s):\n        {body}\n"
    for said in (said_by_tracing(text), said_by_running(text)):
        assert said == f"mistake.py:{len(text.splitlines())}: {NO_START}"


def test_a_requirement_without_a_meaning_in_an_initial_state_is_a_mistake() -> None:
    text = text_of() + "\n    def initial(self, s):\n        s.require(s.log.first == 0)\n"
    message = "initial: offset 0 of a sequence of length 0; keep it in its domain"
    for said in (said_by_tracing(text), said_by_running(text)):
        assert said == f"mistake.py:{len(text.splitlines())}: {message}"


def test_initial_states_of_which_none_is_counted_are_refused() -> None:
    text = text_of() + "\n    @constraint\n    def small(self, s):\n        'Small.'\n        return s.n > 0\n"
    where = line_of(text, "@constraint")
    assert said_by_tracing(text) == (
        f"mistake.py:{where}: no initial state satisfies constraint small, so nothing would be explored; "
        "weaken the constraint"
    )


# --- models that ship, and the page ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", one_in(3, model_names(), EXHAUSTIVE))
def test_models_that_ship_do_nothing_of_this(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_calls, "SHIPPED", ("isrcheck.model.language", "isrcheck.model.semantics"))
    for kept in ("_reached", "_walked", "_settled"):
        monkeypatch.setattr(method_calls, kept, {})
    before, ask = [], method_calls._ask

    def remembered(function: FunctionType) -> bool:
        before.append((function, function.__code__))
        return ask(function)

    monkeypatch.setattr(method_calls, "_ask", remembered)
    method_calls.is_a_modellers.cache_clear()
    try:
        loaded = load_model_class(name)
        assert trace(loaded.cls(), loaded.chosen(None)).transitions
        assert any("@run" in method.__code__.co_names for method in loaded.cls.actions().values())
    finally:
        method_calls.is_a_modellers.cache_clear()
        for function, code in reversed(before):
            function.__code__ = code


def test_the_page_lists_what_is_tried_here() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/language.md").read_text()
    (table,) = re.findall(r"^## Python pitfalls\n.*?(^\|.*?)^$", page, re.S | re.M)
    written = [code for row in table.splitlines()[2:] for code in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    tried = [
        *REFUSED,
        *ASSERTED,
        SORTED[0].replace("MANY", MANY),
        *FOUND_BY_TRACING,
        *OUTLIVES,
        *RIGHT,
        *ANSWERS,
        *MARKS,
        *VARIABLES,
    ]
    unheard = [code for code in written if not any(code in x.replace("\n", " ") for x in tried)]
    assert (unheard, len(written) > 30) == ([], True)
