"""Every rule for the use of the language, with the message about its violation."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.model.language import Model, ModelError, UnknownName, action, flag, number, record, sequence, setting
from isrcheck.model.semantics.operators import SIGNS, signs
from isrcheck.model.semantics.tracing import trace
from tests.language.mistakes import line_of, made, said_by_running, said_by_tracing, text_of

BRANCH = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
DECIDES = "a branch depends on the state"
LOOP = "loop over self.brokers or a range, and test .has(...) or offset < .length"
LEN = "write .length of a sequence, .size of a set of brokers"
HAS = "write .has(...), or some(...) of comparisons"
SET = "write .including(b) and .excluding(b) on sets of brokers, .add(...) on messages, or compare with =="
NOW = "loop over its possible values, and compare with =="
READ = "reads refer to the state before the action; read it into a local name first"
TWICE = "assign it once, with when(condition, a, b) where the value depends on the state"
BROKERS = "compare brokers with == and !=, or keep their order in a separate number"
VARIABLES = "known: beliefs, end, inbox, isr, leader, log, n, on, preferred, role, zk"
COMPUTE = f"compute with {signs('number')}, compare with == != < <= > >="
COMBINE = f"combine sets with {signs('set')}, compare them with == != <= >="
SEQUENCE_HAS = (
    "known: append, appended, at, first, has, index, is_empty, is_full, is_prefix_of, "
    "last, length, remove_first, truncate, truncated, without, without_first"
)

# What decides in Python: the words about which value it is, which only tracing knows, stand between braces.
DECIDED_BY_THE_STATE = {
    "if s.on:\n    s.n = 1": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.n = 1 if s.n > 2 else 2": f"{DECIDES}{{: n > 2}}; {BRANCH}",
    "while s.n < 2:\n    s.n = 2": f"{DECIDES}{{: n <= 1}}; {BRANCH}",
    "s.on = s.on and s.zk.on": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.on = s.on or s.zk.on": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.on = not s.on": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.n = min(s.n, s.zk.version)": f"{DECIDES}{{: n > zk.version}}; {BRANCH}",
    "s.n = max(s.n, 2)": f"{DECIDES}{{: n <= 1}}; {BRANCH}",
    "s.on = all([s.on, s.zk.on])": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.on = any([s.on, s.zk.on])": f"{DECIDES}{{: on}}; {BRANCH}",
    "s.on = 0 < s.n < 2": f"{DECIDES}{{: n > 0}}; {BRANCH}",
    "assert s.zk == s.zk": f"{DECIDES}{{: true}}; {BRANCH}",
    "assert s.log": f"{DECIDES}{{: log}}; {BRANCH}",
    "s.on = b in s.isr": f"`in` applied to the state{{: isr}}; {HAS}",
    "s.on = 1 in s.log": f"`in` applied to the state{{: log}}; {HAS}",
    "s.on = s.n in (1, 2)": f"{DECIDES}{{: n == 1}}; {BRANCH}",
    "s.n = len(s.log)": f"len() of the state{{: log}}; {LEN}",
    "s.n = len(s.isr)": f"len() of the state{{: isr}}; {LEN}",
    "s.n = sum(x for x in s.log)": f"a loop over the state{{: log}}; {LOOP}",
    "s.n = sum(1 for x in s.isr)": f"a loop over the state{{: isr}}; {LOOP}",
    "s.n = sum(x for x in s.end)": f"a loop over the state{{: end}}; {LOOP}",
    "s.isr = {s.leader}": f"a state value in a Python set or dict{{: leader}}; {SET}",
    "s.n = {s.zk: 1}[s.zk]": f"a state value in a Python set or dict{{: zk}}; {SET}",
    "s.n = range(4)[s.n]": f"a state number where Python needs a constant{{: n}}; {NOW}",
    "s.n = int(s.n)": f"a state number where Python needs a constant{{: n}}; {NOW}",
    "s.on = s.leader < b": f"brokers have no order and no arithmetic{{: leader}}; {BROKERS}",
    "s.on = s.leader + 1 == b": f"brokers have no order and no arithmetic{{: leader}}; {BROKERS}",
    "s.on = s.on + 1": "this operator is not supported{: on}; combine flags with & | ~, compare them with == and !=",
    "s.on = s.role < 'leader'": "this operator is not supported{: role}; compare named values with == and !=",
    "s.on = s.isr < s.isr": f"this operator is not supported{{: isr}}; {COMBINE}",
    **{
        f"s.n = s.n {sign} 2": f"this operator is not supported{{: n}}; {COMPUTE}"
        for sign in (*SIGNS, "**")
        if sign not in signs("number").split()
    },
    "s.n = abs(s.n)": f"this operator is not supported{{: n}}; {COMPUTE}",
    "s.on = s.log < s.log": "this operator is not supported{: log}; use the operators of its elements",
    "s.log.push(1)": f"there is no .push{{: log}}; {SEQUENCE_HAS}",
    "s.isr.add(b)": "there is no .add{: isr}; known: every, excluding, has, including, is_empty, size, some",
    "s.n = s.log[0]": "{log}[0] indexes a sequence; write .at(offset), .first or .last",
    "s.n = s.zk.versio": "{zk has|there is} no field 'versio'; did you mean version? known: on, version",
    "s.zk.versio = 1": "{zk has|there is} no field 'versio'; did you mean version? known: on, version",
}

SAID_ALIKE = {
    "s.zk.version = 1\ns.n = s.zk.version": f"{{zk.version|zk}} is read after it was assigned; {READ}",
    "s.zk.version = 1\ns.on = s.zk == s.zk": f"{{zk.version|zk}} is read after it was assigned; {READ}",
    "s.zk = {'version': 1, 'on': True}\ns.n = s.zk.version": f"{{zk.version|zk}} is read after it was assigned; {READ}",
    "s.end[b] = 1\ns.n = s.end[b]": f"{{end[0]|end}} is read after it was assigned; {READ}",
    "s.end[s.leader] = 1\ns.n = s.end[b]": f"{{end[0]|end}} is read after it was assigned; {READ}",
    "s.end[b] = 1\ns.n = s.end[s.leader]": f"{{end[0]|end}} is read after it was assigned; {READ}",
    "s.end[self.broker(1)] = 1\ns.n = s.end[s.leader]": f"{{end[1]|end}} is read after it was assigned; {READ}",
    "s.beliefs[s.leader].epoch = 1\ns.n = s.beliefs[b].epoch": (
        f"{{beliefs[0].epoch|beliefs}} is read after it was assigned; {READ}"
    ),
    "s.log.append(1)\ns.n = s.log.length": f"{{log.length|log}} is read after it was assigned; {READ}",
    "s.on = True\ns.on = False": f"on is assigned twice; {TWICE}",
    "s.end[s.leader] = 1\ns.end[b] = 2": f"{{end[0]|end}} is assigned twice; {TWICE}",
    "s.zk.version = 1\ns.zk = {'version': 1, 'on': True}": f"{{zk.version|zk}} is assigned twice; {TWICE}",
    "s.n = s.nn": f"the state has no variable 'nn'; did you mean n? {VARIABLES}",
    "s.nn = 1": f"the state has no variable 'nn'; did you mean n? {VARIABLES}",
    "s.on = b < self.broker(1)": f"brokers have no order and no arithmetic: broker 0; {BROKERS}",
    "s.on = b + 1 == b": f"brokers have no order and no arithmetic: broker 0; {BROKERS}",
    "s.on = b == 1": "broker 0 == 1 compares a broker with a value; write self.broker(number)",
    "s.on = self.broker(7) == b": "there is no broker 7; brokers are 0 to 1",
    "s.require(1)": "1 is not a condition; compare it with a value",
    "s.require(~True)": "~ of the Python bool True is -2; write `not` for conditions on parameters only",
    "s.on = when(s.n, s.on, s.zk.on)": "{n|0} is not a condition; compare it with a value",
    "self.n = 3": "self.n is assigned, but is not part of the state; write s.n",
}

FOUND_BY_TRACING = {
    "s.on = s.role == 'leder'": "'leder' is not one of leader, follower; did you mean leader? known: follower, leader",
    "s.role = 'leder'": "'leder' is not one of leader, follower; did you mean leader? known: follower, leader",
    "s.zk = {'version': 1}": "missing field 'on'; write exactly: version, on",
    "s.zk = {'version': 1, 'on': True, 'of': 1}": "unknown field 'of'; write exactly: version, on",
    "s.n = 4": "4 can be outside its domain; keep it a number from 0 to 3",
    "s.n = s.n + 4": "n + 4 can be outside its domain; keep it a number from 0 to 3",
    "s.log.append(7)": "7 can be outside its domain; keep it a number from 0 to 3",
    "s.inbox.add(3)": "3 can be outside its domain; keep it a number from 0 to 2",
    "s.leader = none": "none can be outside its domain; keep it a broker from 0 to 1",
    "s.on = 5": "5 is not a flag; store one",
    "s.n = True": "True is not a number from 0 to 3; store one",
    "s.isr = {none}": "{none} is not a set of brokers from 0 to 1; store one",
    "s.n = s.inbox": "inbox is a set over a number from 0 to 2; store a number from 0 to 3 there",
    "s.n = s.on": "on is a flag; store a number from 0 to 3",
    "s.log = [1, 2, 3]": "[1, 2, 3] is not a sequence of at most 2 elements; store a value of that domain",
    "s.end = [1]": "[1] is not a list of 2, each a number from 0 to 3; store a value of that domain",
    "s.zk = s.log": "log is a sequence of at most 2 elements; store a record of version, on there",
    "s.on = s.n == s.role": "n is combined with role; use a number from 0 to 3",
    "s.on = s.leader == 1": "leader is combined with 1; use a broker from 0 to 1",
    "s.n = s.end[5]": "5 is not a broker from 0 to 1; index by one",
    "s.n = s.end[s.n]": "n is a number from 0 to 3; index by a broker from 0 to 1",
    "s.n = s.end[none]": "the index none is out of range; index by a broker from 0 to 1",
    "s.n = s.log.at(2)": "offset 2 of log is out of range; use an offset from 0 to 1",
    "s.n = s.log.at(-1)": "offset -1 of log is out of range; use an offset from 0 to 1",
    "s.require(s.n)": "n is not a condition; compare it with a value",
    "s.on = s.enabled(self.act)": "act tests whether it is itself enabled; use another action",
    "s.on = s.enabled(1)": "1 is not an action; write s.enabled(self.name_of_an_action)",
    "s.on = when(s.on, b, none).is_none": (
        "when(on, broker 0, none) has no .is_none: neither value is a state value; write when(condition, "
        "a.is_none, b.is_none)"
    ),
}


def worded(message: str, traced: bool) -> str:
    """The message of one interpretation: `{a|b}` is a when traced and b when run; `{a}` is a only when traced."""
    out = ""
    while "{" in message and "}" in message:
        before, _, rest = message.partition("{")
        inside, _, message = rest.partition("}")
        one, _, other = inside.partition("|")
        out += before + (one if traced else other)
    return out + message


@pytest.mark.parametrize("body", [*DECIDED_BY_THE_STATE, *SAID_ALIKE])
def test_both_interpretations_refuse(body: str) -> None:
    text, message = text_of(body), (DECIDED_BY_THE_STATE | SAID_ALIKE)[body]
    lines = body.splitlines()
    wrong = lines[0] if lines[0].startswith(("if", "while")) else body
    place = f"mistake.py:{line_of(text, wrong)}: "
    assert said_by_tracing(text) == place + worded(message, traced=True)
    assert said_by_running(text) == place + worded(message, traced=False)


@pytest.mark.parametrize("body", FOUND_BY_TRACING)
def test_tracing_refuses(body: str) -> None:
    text = text_of(body)
    assert said_by_tracing(text) == f"mistake.py:{line_of(text, body)}: {FOUND_BY_TRACING[body]}"


@pytest.mark.parametrize("body", ["s.on = True\nreturn s.on", "s.log.append(1)\nreturn True"])
def test_a_predicate_may_not_assign(body: str) -> None:
    text = text_of("s.n = 1", invariant=body)
    line = line_of(text, body.splitlines()[0])
    message = f"mistake.py:{line}: an assignment in a predicate; predicates only read the state"
    assert (said_by_tracing(text), said_by_running(text)) == (message, message)


def test_a_value_of_its_own_cannot_be_changed() -> None:
    changed = "s.beliefs[b] = s.beliefs[b]\nfound = when(s.on, s.zk, {'version': 1, 'on': True})\nfound.version = 1"
    text = text_of(changed)
    place = f"mistake.py:{line_of(text, changed)}: "
    assert said_by_tracing(text) == (f"{place}an assignment to a value outside the state; assign it through s")


# --- around the methods ---------------------------------------------------------------------------------------------


def refused(text: str) -> str:
    with pytest.raises(ModelError) as caught:
        trace(made(text)())
    return str(caught.value)


def test_an_action_without_effect_is_refused_at_its_own_line() -> None:
    text = text_of("s.require(s.on)")
    line = line_of(text, '@action(b=broker, k=number(0, 3), actor="controller")')
    assert refused(text) == f"mistake.py:{line}: action act has no effect; assign something, or remove it"


def test_an_action_that_returns_for_all_of_its_parameters_is_reported_as_one_without_an_instance() -> None:
    result = check(made(text_of("return")), engine="reference")
    assert (result.verdict, result.actions_without_instance) == ("holds", ["act"])


def test_an_action_needs_a_docstring() -> None:
    text = text_of().replace('        """It acts."""\n', "")
    line = line_of(text, '@action(b=broker, k=number(0, 3), actor="controller")')
    assert refused(text) == (f"mistake.py:{line}: action act has no docstring; describe in one sentence what happens")


def test_an_invariant_needs_a_docstring() -> None:
    text = text_of().replace('        """True."""\n', "")
    assert refused(text) == (
        f"mistake.py:{line_of(text, '@invariant')}: invariant true has no docstring; describe its "
        "meaning in one sentence"
    )


def test_an_action_declares_just_the_parameters_that_its_method_takes() -> None:
    text = text_of().replace("def act(self, s, b, k):", "def act(self, s, b, epoch):")
    line = line_of(text, '@action(b=broker, k=number(0, 3), actor="controller")')
    assert refused(text) == f"mistake.py:{line}: action act takes (b, epoch); declare exactly these parameters"


def test_an_action_is_replaced_with_its_decorator_only() -> None:
    text = text_of() + "\n\nclass Variant(Mistake):\n    def act(self, s, b, k):\n        s.on = True\n"
    with pytest.raises(ModelError) as caught:
        made(text, "Variant")
    line = len(text.splitlines()) - 1
    assert str(caught.value) == f"mistake.py:{line}: act replaces an action of Mistake; decorate it with @action"


def test_a_model_needs_an_action() -> None:
    text = text_of().replace('    @action(b=broker, k=number(0, 3), actor="controller")\n', "")
    assert refused(text) == "model mistake has no action; decorate a method with @action"


def test_brokers_must_be_counted_by_a_setting() -> None:
    text = text_of().replace(", counts=broker", "")
    assert (
        refused(text)
        == "mistake.py:1: model mistake has brokers but no setting that counts them; add counts=broker to a "
        "setting"
    )


def test_a_variable_may_not_take_a_name_of_the_state() -> None:
    text = text_of().replace('"on": flag', '"require": flag')
    assert refused(text) == (
        f"mistake.py:{line_of(text, 'def variables(self):')}: variable 'require': this name is reserved; "
        "choose another one"
    )


def test_an_initial_value_outside_its_domain_is_refused() -> None:
    text = text_of() + "\n    def initial(self, s):\n        s.n = 9\n"
    line = len(text.splitlines())
    assert (
        refused(text)
        == f"mistake.py:{line}: initial: n: the value 9 is not a number from 0 to 3; keep it in its domain"
    )


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("number(3, 0)", "number(3, 0) has no values; write the lower bound first"),
        ("enum()", "enum() is empty or repeats a name; name each value once"),
        ("enum('a', 'a')", "enum('a', 'a') is empty or repeats a name; name each value once"),
        ("sequence(flag, 0)", "a sequence of capacity 0 cannot hold anything; give it a capacity of at least 1"),
        ("record()", "a record without fields; add fields, such as record(epoch=number(0, 3))"),
        (
            "optional(flag)",
            "optional(a flag) is not supported; only brokers and members of other scalarsets can be optional",
        ),
        (
            "set_of(flag)",
            "set_of(a flag) is not supported; write set_of(broker), or messages(domain) for other elements",
        ),
        (
            "per(set_of(broker), flag)",
            "per(a set of brokers, ...) is not supported; index by a broker, number, enum or flag",
        ),
    ],
)
def test_a_domain_that_makes_no_sense_is_refused_where_it_is_written(domain: str, message: str) -> None:
    text = text_of().replace('"on": flag,', f'"on": {domain},')
    assert (
        refused(text) == f"mistake.py:{1 + next(i for i, x in enumerate(text.splitlines()) if domain in x)}: {message}"
    )


def test_a_setting_takes_values_of_its_kind_and_range_only() -> None:
    cls = made(
        "class Mistake(Model):\n"
        "    size = setting(2, at_least=1, at_most=4, meaning='size')\n"
        "    open = setting(2, at_least=1, meaning='no upper end')\n"
        "    fast = setting(False, meaning='fast')\n"
        "    mode = setting('zk', choices=('zk', 'kraft'), meaning='mode')\n"
        "    def variables(self):\n        return {'on': flag}\n"
    )
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"size": 5}, "setting size must be an integer from 1 to 4, not 5"),
        ({"size": "2"}, "setting size must be an integer from 1 to 4, not '2'"),
        ({"size": True}, "setting size must be an integer from 1 to 4, not True"),
        ({"open": 0}, "setting open must be an integer from 1 up, not 0"),
        ({"fast": 1}, "setting fast must be true or false, not 1"),
        ({"mode": "raft"}, "setting mode must be one of zk, kraft, not 'raft'"),
        ({"sise": 2}, "model mistake has no setting 'sise'; did you mean size? known: fast, mode, open, size"),
    ]
    for settings, message in wrong:
        with pytest.raises(UnknownName) as caught:
            cls(**settings)
        assert str(caught.value) == message


# --- what only some states show -------------------------------------------------------------------------------------

IN_SOME_STATE = {
    "s.n = s.n + 1": (4, "n: the value 4 is not a number from 0 to 3"),
    "s.require(s.n < 4)\ns.n = s.n + 2": (2, "n: the value 4 is not a number from 0 to 3"),
    "s.leader = s.preferred": (1, "leader: the value none is not a broker from 0 to 1"),
    "s.log.append(1)": (3, "log: append to a full sequence of 2 elements"),
    "s.log.remove_first()": (1, "log: removal of the first element of an empty sequence"),
    "s.log.truncate(1)": (1, "log: truncation to 1 of a sequence of length 0"),
    "s.n = s.log.last": (1, "n: offset -1 of a sequence of length 0"),
    "s.n = s.log.at(s.n)": (1, "n: offset 0 of a sequence of length 0"),
    "s.n = s.end[s.preferred]": (1, "n: the index none is not a broker from 0 to 1"),
    "s.end[s.preferred] = 1": (1, "end[0]: the index none is not a broker from 0 to 1"),
    "s.beliefs[s.preferred].epoch = 1": (1, "beliefs[0].epoch: the index none is not a broker from 0 to 1"),
    "zk = {'version': s.n - 1, 'on': s.on}\ns.n = when(s.on, s.zk, zk).version": (
        1,
        "n: the value -1 is not a number from 0 to 3",
    ),
    "s.require(s.log.first == 1)\ns.on = True": (1, "offset 0 of a sequence of length 0"),
    "next = when(s.n < 3, s.n + 1, s.n)\ns.on, s.n = s.inbox.has(s.n + 1), next": (
        3,
        "on: the value 3 is not a number from 0 to 2",
    ),
}


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("body", IN_SOME_STATE)
def test_what_means_nothing_in_some_state_is_an_error_of_evaluation_there(body: str, engine: str) -> None:
    text, (length, what) = text_of(body), IN_SOME_STATE[body]
    result = check(made(text), engine=engine)
    assert result.evaluation is not None
    wrong = body.splitlines()[0] if "require(s.log" in body else body
    assert (result.exit_code, result.evaluation.what) == (75, what)
    assert result.evaluation.where == f"mistake.py:{line_of(text, wrong)}"
    assert str(result.evaluation.label) == "act(b=0, k=0)"
    assert result.evaluation.trace.length == length


class Copies(Model):
    """A log of records, one of which is to be copied."""

    def variables(self) -> dict[str, Any]:
        return {"log": sequence(record(id=number(0, 1), epoch=number(0, 1)), 2), "on": flag}

    @action(actor="b")
    def copy(self, s: Any) -> None:
        """The log with its first record once more would be longer."""
        s.require(s.log.appended(s.log.at(0)).length > 1)
        s.on = True


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_sequence_with_a_record_that_is_not_there_means_nothing(engine: str) -> None:
    result = check(Copies, engine=engine)
    assert result.evaluation is not None
    assert (result.exit_code, result.evaluation.what) == (75, "offset 0 of a sequence of length 0")


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_an_invariant_that_means_nothing_in_some_state_is_an_error_of_evaluation_too(engine: str) -> None:
    text = text_of(invariant="return s.on | (s.log.first == 1)")
    result = check(made(text), engine=engine)
    assert result.evaluation is not None
    assert (result.exit_code, result.evaluation.what) == (75, "offset 0 of a sequence of length 0")
    assert (result.evaluation.label, result.evaluation.trace.length) == (None, 1)


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_what_decides_nothing_is_no_error(engine: str) -> None:
    text = text_of("s.on = True", invariant="return s.log.is_empty | (s.log.first == 1)")
    assert check(made(text), engine=engine).verdict == "holds"


def test_a_model_that_builds_on_another_may_fix_a_setting_or_declare_it_anew() -> None:
    class General(Model):
        size = setting(2, meaning="size")
        speed = setting(1, meaning="speed")

        def variables(self) -> dict[str, Any]:
            return {"n": number(0, self.size)}

    class Fixed(General):
        size: Any = 5

    class Free(Fixed):
        size = setting(3, at_least=3, meaning="size again")

    assert list(Fixed.declared_settings()) == ["speed"]
    assert Fixed().domains["n"] == number(0, 5)
    with pytest.raises(UnknownName, match="has no setting 'size'"):
        Fixed(size=1)
    assert Free(size=4).domains["n"] == number(0, 4)
    assert set(Free.declared_settings()) == {"size", "speed"}
