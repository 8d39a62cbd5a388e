"""What Python would let pass in silence is right, or refused in one line, as the table in docs/language.md says."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

from isrcheck import check
from isrcheck.checker.library import load_model_class, model_names
from isrcheck.model.language import ModelError, running
from isrcheck.model.language.tracing import trace
from tests.language.mistakes import FILE, line_of, made, said_by_running, said_by_tracing, text_of

BRANCH = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
DECIDES = "a condition on the state decides a branch"
UNUSED = "act computes a value of the state and does not use it"
TAKE = "return it, assign it, or require it"
VARIABLE = "keep it in a variable of the state"
TYPED = "the Python type of a value of the state"
DOMAIN = "its domain says what it can be"
COPY = "use it as it is: it does not change"
TEXT = "compare it with ==; to look at it, write print(repr(...))"
NOW = "loop over all that it can be, and compare with =="
SET = "write .including(b) and .excluding(b) on sets of brokers, .add(...) on messages, or compare with =="
CHANCE = "gives something else each time; let a parameter of the action choose: all are explored"
GIVEN = "a parameter is changed; make another value of it: {**record, ...}, [*sequence, ...]"
AT_ALL = "the state is used as a value; write s.name of a variable"

# Bodies of an action; what only tracing can say, the name of the value, stands between braces.
REFUSED = {
    "s.require(s.preferred is not None)": "`is` on the state{: preferred}; write .is_none, or == none",
    "s.on = s.preferred is none": "`is` on the state{: preferred}; write .is_none, or == none",
    "s.on = s.zk.on is True": "`is` on the state{: zk.on}; write ==",
    "s.on = s.leader is b": "`is` on the state{: leader}; write ==",
    "s.n = 1 if chosen is None else 2": "an optional parameter is never None; write `is none`, or == none",
    "s.on = 0 < k is b": "`is` in a chain of comparisons; write one comparison at a time",
    "match s.preferred:\n    case None:\n        s.on = True": (
        "`match` on the state{: preferred}; write when(condition, a, b), or an action for each case"
    ),
    "match (b, s.preferred):\n    case (_, None):\n        s.on = True": (
        "`match` on the state{: preferred}; write when(condition, a, b), or an action for each case"
    ),
    "s.on = isinstance(s.n, int)": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on = type(s.n) == int": f"{TYPED}{{: n}}; {DOMAIN}",
    "s.on == True": f"{UNUSED}{{: on}}; {TAKE}",
    "s.isr.including(b)": f"{UNUSED}{{: isr | {{0}}}}; {TAKE}",
    "s.log.append": "the method append is named and not called; call it",
    "(s.require(x) for x in [s.on])": "a generator that nobody runs; write a loop",
    "s.on = s.n == 1 & True": "1 & True is computed before it is compared; write (...) & (...)",
    "s.n = 1 if ~True else 2": "~ of the Python bool True is -2; write `not` for what parameters decide",
    "try:\n    s.n = int(s.n)\nexcept Exception:\n    s.n = 2": (
        f"a number of the state where Python needs one now{{: n}}; {NOW}"
    ),
    "try:\n    s.on = s.log.push(1)\nexcept AttributeError:\n    s.on = True": (
        "there is no .push{: log}; known: append, appended, at, first, is_empty, is_full, last, length, remove_first, "
        "truncate, truncated, without_first"
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
    "s.n = {'a': 1}.get(s.role, 2)": f"a value of the state in a Python set or dict{{: role}}; {SET}",
    "s.n = hash(s.n)": f"a value of the state in a Python set or dict{{: n}}; {SET}",
    "s.n = {'leader': 1}.get(str(s.role), 2)": f"a value of the state in a text{{: role}}; {TEXT}",
    "s.on = f'{s.role}' == 'leader'": f"a value of the state in a text{{: role}}; {TEXT}",
    "s.n = float(s.n)": f"a number of the state where Python needs one now{{: n}}; {NOW}",
    "s.n = round(s.n)": f"a number of the state where Python needs one now{{: n}}; {NOW}",
    "del s.on": "del s.on; assign another value",
    "del s.end[b]": "del of a value of the state{: end}; assign another value",
    "import copy\nzk = copy.copy(s.zk)\ns.on = True": f"a copy of a value of the state{{: zk}}; {COPY}",
    "import copy\nt = copy.copy(s)\ns.on = True": AT_ALL,
    "s.n = 1 if s else 2": AT_ALL,
    "for x in s:\n    s.on = True": AT_ALL,
    "s.on = s == 1": AT_ALL,
    "s.n = s['n']": AT_ALL,
    "s.on = True\nreturn False": "action act gives back False, which is not heeded; "
    "write s.require(...) for what must hold, and `return` alone",
    "global calls\ncalls = 1\ns.on = True": f"global calls outlives the step; {VARIABLE}",
    "self.seen = b": f"self.seen is assigned, which outlives the step; {VARIABLE}",
    "self.brokers_ = 3": "self.brokers_ is assigned, which is a setting; write `name = value` in the class to fix it",
    "b.number = 0": "broker 0 gets another number; parameters are not changed: assign a variable of the state",
    "words.append(1)": GIVEN,
    "fields['on'] = True": GIVEN,
    "s.on = random.random() < 0.5": f"random {CHANCE}",
    "s.on = time.time() > 0": f"time {CHANCE}",
}
FOUND_BY_TRACING = {
    "s.n.value = 1": "n.value is assigned; assign n as a whole, through s",
    "s.log.length = 1": "log.length is assigned; assign log as a whole, through s",
}
OUTLIVES = {
    "SEEN.append(b)\ns.on = True": "SEEN",
    "Mistake.calls = 1\ns.on = True": "Mistake.calls",
    "self.settings['brokers_'] = 3\ns.on = True": "self.settings",
    "remembered(b)\ns.on = True": "a default of remembered",
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
    "print(repr(s.n))\ns.on = True": "a look",
    "for x in self.brokers:\n    ask = lambda: s.isr.has(x)\n    s.end[x] = when(ask(), 1, 0)": "asked at once",
}
AROUND = """\
import random
import time
SEEN = []
calls = 0
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
    """With the name of the value, which stands in the outermost braces, or without."""
    before, brace, rest = message.partition("{: ")
    if not brace or rest.count("}") < 1:
        return message
    inside, _, after = rest.rpartition("};") if "};" in rest else rest.rpartition("}")
    end = ";" if "};" in rest else ""
    return f"{before}: {inside}{end}{after}" if traced else f"{before}{end}{after}"


def first_line(text: str) -> int:
    """The line of the mark of the action."""
    return 1 + next(i for i, line in enumerate(text.splitlines()) if "@action" in line)


def line(text: str, body: str) -> int:
    """The line of a body that is refused: the first that has more than `import`, `try`, `for` before it."""
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
    message = f"action act changes {OUTLIVES[body]}, which outlives the step; {VARIABLE}"
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
    assert said_by_tracing(text) == f"{place}`is` on the state: preferred; write .is_none, or == none"
    assert said_by_running(text) == f"{place}`is` on the state; write .is_none, or == none"


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


def test_what_a_model_is_built_upon_is_refused_at_its_own_line() -> None:
    base = text_of("s.on = s.preferred is none")
    act = "    @action(b=broker, k=number(0, 3), actor='x')\n    def act(self, s, b, k):\n        'It acts.'\n"
    text = f"{base}\n\nclass Mine(Mistake):\n{act}        super().act(s, b, k)\n"
    with pytest.raises(ModelError) as caught:
        trace(made(text, "Mine")())
    where = line_of(text, "s.on = s.preferred is none")
    assert str(caught.value) == f"mistake.py:{where}: `is` on the state: preferred; write .is_none, or == none"


# --- predicates -----------------------------------------------------------------------------------------------------

ANSWERS = {
    "s.on | ~s.on": "true computes a value of the state and does not use it",
    "return s.preferred is None": "`is` on the state",
    "pass": "invariant true gives nothing back; return a condition",
    "return s.n": "invariant true gives back what is no condition: {n|0} is not a condition; compare it with something",
    "return [s.on]": "is not a condition; compare it with something",
    "return (s.on for _ in [1])": (
        "invariant true gives back what is no condition: a generator is not a condition; "
        "write every(...) or some(...) around it"
    ),
    "return self.brokers.index": (
        "invariant true gives back what is no condition: the method index is not a condition; call it"
    ),
}


@pytest.mark.parametrize("body", ANSWERS)
def test_a_predicate_gives_a_condition_back(body: str) -> None:
    text, message = whole(invariant=body), ANSWERS[body]
    mark = line_of(text, "@invariant")
    where = mark if "gives" in message or "[" in body else mark + 3
    for said, form in ((said_by_tracing(text), r"\1"), (said_by_running(text), r"\2")):
        assert re.sub(r"\{(\w+)\|(\w+)\}", form, message) in said
        assert said.startswith(f"mistake.py:{where}: ")


# --- functions that do not run, marks that do not mark --------------------------------------------------------------

YIELD = "has a yield and would never run; take the yield away"
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
        "good is marked twice; mark it once"
    ),
    "@action(actor='x')\n    @property\n    def go(self, s):\n        'Go.'": (
        "@action marks a property; mark a plain function, and put nothing around it"
    ),
    "@staticmethod\n    @invariant\n    def good(m, s):\n        'Good.'\n        return s.on": (
        "the mark of good is hidden by what is around it; put the mark first"
    ),
    "@property\n    @invariant\n    def good(self, s):\n        'Good.'\n        return s.on": (
        "the mark of good is hidden by what is around it; put the mark first"
    ),
    "@quietly\n    @invariant\n    def good(self, s):\n        'Good.'\n        return s.on": (
        "the mark of good is hidden by what is around it; put the mark first"
    ),
    "@invariant\n    def true(self, s):\n        'True.'\n        return s.on": (
        "true is there twice in one class; give each a name of its own"
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
    "pass": "variables gives back None; return a dict of names and domains",
    "return {'on': 3}": "variable 'on' is 3; give it a domain, such as number(0, 3)",
    "return {'on': True}": "variable 'on' is True; give it a domain, such as number(0, 3)",
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
    assert str(caught.value) == "Mistake.invariants is a text, not a tuple of names; write ('true',)"


# --- initial states -------------------------------------------------------------------------------------------------

NO_START = "initial requires what is false, so there is no initial state; assign what must hold"


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
        f"mistake.py:{where}: no initial state is within constraint small, so nothing would be explored; let one in"
    )


# --- models that ship, and the page ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", model_names())
def test_models_that_ship_do_nothing_of_this(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SHIPPED", "isrcheck.model.language")
    monkeypatch.setattr(running, "_reached", {})
    running.is_a_modellers.cache_clear()
    try:
        loaded = load_model_class(name)
        assert trace(loaded.cls(), loaded.chosen(None)).transitions
        assert any("@run" in method.__code__.co_names for method in loaded.cls.actions().values())
    finally:
        running.is_a_modellers.cache_clear()


def test_the_page_lists_what_is_tried_here() -> None:
    page = (Path(__file__).parents[2] / "docs/language.md").read_text()
    (table,) = re.findall(r"^## What Python would let pass\n.*?(^\|.*?)^$", page, re.S | re.M)
    written = [code for row in table.splitlines()[2:] for code in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    tried = [*REFUSED, *FOUND_BY_TRACING, *OUTLIVES, *RIGHT, *ANSWERS, *MARKS, *VARIABLES]
    unheard = [code for code in written if not any(code in x.replace("\n", " ") for x in tried)]
    assert (unheard, len(written) > 30) == ([], True)
