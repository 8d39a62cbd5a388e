"""Conditions written as text: each means the same as a method, and can only use the state and the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from isrcheck import check
from isrcheck.checker.trace.trace_evaluation import evaluated
from isrcheck.model.language import (
    Model,
    ModelError,
    action,
    broker,
    enum,
    flag,
    implies,
    maximum,
    messages,
    number,
    optional,
    per,
    record,
    sequence,
    set_of,
    setting,
    when,
)
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.text_conditions import (
    LONGEST,
    WRITE,
    ConditionSyntaxError,
    is_condition_text,
    text_condition,
)
from isrcheck.model.semantics.concrete_state import holds, initial_states, leaves_of
from isrcheck.model.semantics.expressions import evaluate
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from tests.cli.running import run

SCHEMA = json.loads((Path(__file__).parents[2] / "checker/schema.json").read_text())


class Everything(Model):
    """A state of every kind of domain, of which any value can be any other."""

    brokers_ = setting(2, counts=broker, at_least=1, at_most=3, meaning="brokers")
    largest = setting(2, at_least=1, at_most=3, meaning="the largest number")

    def variables(self) -> dict[str, Any]:
        return {
            "n": number(0, self.largest),
            "up": flag,
            "role": enum("leader", "follower"),
            "chosen": optional(broker),
            "isr": set_of(broker),
            "log": per(broker, sequence(record(epoch=number(0, 1)), 2)),
            "sent": messages(number(0, 1)),
        }

    @action(b=broker, n=number(0, 1), actor="b")
    def go(self, s: Any, b: Any, n: Any) -> None:
        """Something of everything."""
        up = ~s.up
        s.n = when(s.n < self.largest, s.n + 1, 0)
        s.up = up
        s.role = when(up, "leader", "follower")
        s.chosen = b
        s.isr = when(up, s.isr.including(b), s.isr.excluding(b))
        s.log[b] = when(s.log[b].is_full, [], s.log[b].appended({"epoch": n}))
        s.sent.add(n)

    @property
    def all_numbers(self) -> range:
        return range(self.largest + 1)

    def is_leader(self, s: Any, b: Any) -> Any:
        """Whether a broker is the one that is chosen, and leads."""
        return (s.chosen == b) & (s.role == "leader")


SAME: list[tuple[str, Any]] = [
    ("s.n < 2", lambda m, s: s.n < 2),
    ("n < 2", lambda m, s: s.n < 2),
    ("0 < n <= largest", lambda m, s: (s.n > 0) & (s.n <= m.largest)),
    ("n != 1 or up and not n == 2", lambda m, s: (s.n != 1) | (s.up & ~(s.n == 2))),
    ("n + 3 - 2 * n > 1 - -n", lambda m, s: s.n + 3 - 2 * s.n > s.n + 1),
    ("role == 'leader'", lambda m, s: s.role == "leader"),
    ("'leader' != role", lambda m, s: s.role != "leader"),
    ("chosen is None", lambda m, s: s.chosen == None),  # noqa: E711
    ("chosen is not None and chosen in isr", lambda m, s: (s.chosen != None) & s.isr.has(s.chosen)),  # noqa: E711
    ("brokers[0] not in isr", lambda m, s: ~s.isr.has(m.brokers[0])),
    ("isr <= {brokers[1]}", lambda m, s: s.isr <= {m.brokers[1]}),
    ("isr | {broker(0)} == isr", lambda m, s: (s.isr | {m.broker(0)}) == s.isr),
    ("isr.size >= 1", lambda m, s: s.isr.size >= 1),
    ("every b: log[b].length < 2", lambda m, s: (s.log[m.brokers[0]].length < 2) & (s.log[m.brokers[1]].length < 2)),
    ("some b: s.isr.has(b)", lambda m, s: s.isr.has(m.brokers[0]) | s.isr.has(m.brokers[1])),
    (
        "every b, c: implies(b != c, log[b].length <= log[c].length + 1)",
        lambda m, s: (
            (s.log[m.brokers[0]].length <= s.log[m.brokers[1]].length + 1)
            & (s.log[m.brokers[1]].length <= s.log[m.brokers[0]].length + 1)
        ),
    ),
    ("every x in all_numbers: some b: n != x or b in isr", lambda m, s: ~s.isr.is_empty),
    ("some(b in isr for b in brokers)", lambda m, s: s.isr.has(m.brokers[0]) | s.isr.has(m.brokers[1])),
    ("any(not log[b].is_empty for b in isr)", lambda m, s: s.isr.some(lambda b: ~s.log[b].is_empty)),
    ("all(not log[b].is_empty for b in isr)", lambda m, s: s.isr.every(lambda b: ~s.log[b].is_empty)),
    (
        "every(log[b].is_empty for b in brokers if b != chosen)",
        lambda m, s: (
            ((s.chosen == m.brokers[0]) | s.log[m.brokers[0]].is_empty)
            & ((s.chosen == m.brokers[1]) | s.log[m.brokers[1]].is_empty)
        ),
    ),
    ("some(n == x for x in range(1, largest + 1) if x != 2)", lambda m, s: s.n == 1),
    ("(n if up else 2 - n) == 1", lambda m, s: when(s.up, s.n, 2 - s.n) == 1),
    ("maximum(n, 1) == 2", lambda m, s: maximum(s.n, 1) == 2),
    ("when(up, n, 0) < 1", lambda m, s: when(s.up, s.n, 0) < 1),
    ("implies(n < 2, is_leader(s, chosen))", lambda m, s: implies(s.n < 2, m.is_leader(s, s.chosen))),
    ("self.is_leader(s, brokers[1]) == up", lambda m, s: m.is_leader(s, m.brokers[1]) == s.up),
    ("sent.has(1) or sent.is_empty", lambda m, s: s.sent.has(1) | s.sent.is_empty),
    ("log[chosen].last.epoch == 0", lambda m, s: s.log[s.chosen].last.epoch == 0),
    ("log[brokers[0]].at(n).epoch == 1", lambda m, s: s.log[m.brokers[0]].at(s.n).epoch == 1),
    ("every b in isr: not log[b].is_empty", lambda m, s: s.isr.every(lambda b: ~s.log[b].is_empty)),
    ("some b in isr, x in range(0, 2): n == x", lambda m, s: (s.n < 2) & ~s.isr.is_empty),
    ("largest > 5 and brokers[7] in isr or up", lambda m, s: s.up),
    ("brokers[7] in isr if largest > 5 else up", lambda m, s: s.up),
    ("every(b in isr for b in brokers if largest < 5 if b != brokers[0])", lambda m, s: s.isr.has(m.brokers[1])),
    ("True", lambda m, s: True),
]


def states(model: Model, most: int = 100) -> list[Any]:
    """At most `most` states, in breadth-first order."""
    interpreter = Interpreter(model, {})
    found: dict[Any, None] = dict.fromkeys(initial_states(model))
    queue = [*found]
    for state in queue:
        for _, after in interpreter.steps(state):
            if after not in found and len(found) < most:
                found[after] = None
                queue.append(after)
    return queue


STATES = states(Everything())


@pytest.mark.parametrize(("text", "method"), SAME, ids=[text for text, _ in SAME])
def test_a_text_means_what_a_method_means(text: str, method: Any) -> None:
    model = Everything()

    def same(m: Any, s: Any) -> Any:
        """As the text."""
        return method(m, s)

    asked = trace(model, {"text": text_condition(text), "method": same}).invariants
    one, other = (next(p for p in asked if p.name == name) for name in ("text", "method"))
    values = set()
    for state in STATES:
        found = [_held(model, state, each) for each in (text_condition(text), same)]
        leaves = leaves_of(model, state)
        traced = [evaluate((p.failure, p.holds), leaves) for p in (one, other)]
        plain = "undefined" if traced[0][0] else bool(traced[0][1])
        assert found[0] == found[1] == plain
        assert traced[0][0] == traced[1][0]
        values.add(found[0])
    assert len(values) > 1 or text == "True", "no constant passes for it"


def _held(model: Model, state: Any, predicate: Any) -> bool | str:
    try:
        return bool(holds(model, state, predicate).value)
    except EvaluationError:
        return "undefined"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "column 1: invalid syntax; write a Python expression"),
        ("n ==", "column 1: invalid syntax; write a Python expression"),
        ("every b: n ==", "column 10: invalid syntax; write a Python expression"),
        ("every 3: n == 1", "column 7: '3' is not a name; write every b: ..., or some p in partitions: ..."),
        ("nn == 1", "column 1: there is no 'nn'; did you mean n? "),
        ("n == 1 and s.foo", "column 12: the state has no variable 'foo'; known: "),
        ("every b: log[b].length.x == 1", "column 10: log[b].length has no .x; known: "),
        ("n", "column 1: n is not a condition; compare it with a value"),
        ("3", "column 1: 3 is not a condition; compare it with a value"),
        ("isr <= 3", "column 1: "),
        ("n < 'a'", "column 1: "),
        ("'a' < 3", "column 1: '<' not supported between instances of 'str' and 'int'; use values of the same kind"),
        ("log[brokers[0]].append({})", "column 1: log[brokers[0]] has no .append; did you mean appended?"),
        ("role == 'nobody'", "column 1: 'nobody' is not one of leader, follower; known: follower, leader"),
        ("every b in 3: up", "column 12: 3 cannot be iterated over; use brokers, a set of brokers, or range("),
        ("every b in range(10000000): up", "cannot be iterated over"),
        ("brokers[5] in isr", "column 1: tuple index out of range; use values of the same kind"),
        ("is_leader != True", "column 1: is_leader is not a value; use a name of the state, or call it"),
        ("m == 1", "column 1: m is not a value"),
        ("s != 1", "column 1: s is not a value"),
        ("isr.domain != 3", "column 1: isr has no .domain; known: "),
        ("n.value == 1", "column 1: n has no .value; known: "),
        ("s.require(False) == None", "column 1: the state has no variable 'require'; known: "),
        ("every(x == 0 for x in log[brokers[0]])", "log[brokers[0]] cannot be iterated over"),
        ("every(x == 0 for x in sent)", "sent cannot be iterated over"),
        ("'a' * 30000000000 != 'b'", "column 1: 'a' cannot be combined like this"),
        ("brokers * 99999999 == brokers", "column 1: "),
        ("4611686018427387904 * 2 == n", "column 1: more than fits in 63 bits; use smaller numbers"),
        ("n in 3", "column 1: "),
        ("not brokers", "column 5: brokers is not a condition; compare it with a value"),
        ("self.nosuch == 1", "column 1: the model has no 'nosuch'; known: "),
        ("every(n > y for y in range(0, 3, 0))", ("column 22: range() arg 3 must not be zero; use values of "
            "the same kind")),
        ("1 in largest", "column 1: "),
        ("not None", "column 5: None is not a condition; compare it with a value"),
        ("'a' and up", "column 1: 'a' is not a condition; compare it with a value"),
        ("brokers and up", "column 1: brokers is not a condition; compare it with a value"),
        ("n == 1 or 0", "column 11: 0 is not a condition; compare it with a value"),
        ("every x in range(99999999999999999999999): up", "column 12: "),
        ("brokers == brokers", "column 1: a list cannot be compared; quantify over it: every(... for x in ...)"),
        ("up[0] == 1", "column 1: [...] of a value without elements: up; only per(...) can be indexed"),
        ("n ** 2 == 1", f"column 1: this operator is not supported; {WRITE}, and, or, not"),
        ("every(up)", "column 1: a quantifier needs a variable; write every(... for b in brokers)"),
        ("is_leader(s)", "column 1: "),
        ("up()", "column 1: a state value is called: up; write it without parentheses"),
        ("is_leader(s=s, b=chosen)", "column 1: a call with keyword or starred arguments; use positional arguments"),
        ("not " * 499 + "up", "it is nested too deeply; use fewer parentheses"),
        ("up\nand up", "it has more than one line, or invisible characters; write it on one line"),
        ("up or " * 400 + "up", f"a condition of 2402 characters; the limit is {LONGEST}"),
        pytest.param(
            "every a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u: a == b",
            "more than 200,000 evaluation steps",
            marks=pytest.mark.exhaustive,
        ),
    ],
)  # fmt: skip
def test_what_is_no_condition_is_said_with_its_column(text: str, message: str) -> None:
    with pytest.raises(ModelError) as raised:
        trace(Everything(), {"text": text_condition(text)})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true') == 0",
        "().__class__ == 1",
        "self.__class__ == 1",
        "self._domains == 1",
        "s._model == 1",
        "isr._shown() == 1",
        "'{0.__class__}'.format(s) == 'x'",
        "(lambda: 1)() == 1",
        "[x for x in brokers] == 1",
        "(x := 1) == 1",
        "f'{s}' == 'x'",
        "print(1) == 1",
        "open('x') == 1",
        "getattr(s, 'n') == 1",
        "type(s) == 1",
        "every.__globals__ == 1",
        "implies.__globals__ == 1",
        "is_leader.__func__ == 1",
        "brokers.__len__() == 1",
        "brokers[0].number.real == 0",
        "range.start == 0",
    ],
)
def test_a_text_reaches_nothing_but_the_state_and_the_model(text: str) -> None:
    with pytest.raises(ConditionSyntaxError):
        trace(Everything(), {"text": text_condition(text)})
    with pytest.raises(ConditionSyntaxError):
        holds(Everything(), STATES[0], text_condition(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n", "0"),
        ("up", "false"),
        ("chosen", "none"),
        ("isr", "{}"),
        ("isr | {brokers[1], brokers[0]}", "{0, 1}"),
        ("{brokers[1], brokers[0]}", "{0, 1}"),
        ("log", "<0: [], 1: []>"),
        ("log[brokers[0]]", "[]"),
        ("log[0]", "[]"),
        ("role", "leader"),
        ("every b: log[b].is_empty", "true"),
        ("brokers[1]", "1"),
        ("largest", "2"),
        ("None", "none"),
        ("log[brokers[0]].at(0)", "undefined: offset 0 of a sequence of length 0"),
    ],
)
def test_an_expression_has_a_value_in_a_state(text: str, value: str) -> None:
    assert evaluated(Everything(), [STATES[0]], text) == [value]


@pytest.mark.parametrize(
    "text", ["role == 'leder'", "chosen == 0", "up == 1", "log[2]", "is_leader", "self", "isr.domain"]
)
def test_an_expression_that_can_mean_nothing_is_no_answer(text: str) -> None:
    with pytest.raises(ModelError):
        evaluated(Everything(), STATES[:1], text)


class StateIds(Model):
    """Variables that are called as the words of a text."""

    def variables(self) -> dict[str, Any]:
        return {"m": number(0, 2), "model": record(domain=number(0, 2), value=number(0, 2))}

    @action(actor="x")
    def go(self, s: Any) -> None:
        """Goes."""
        s.m = 2
        s.model.domain = 2


def test_a_variable_goes_before_a_word() -> None:
    # Each is false once the only step is taken.
    for text in ("m != 2", "model.domain != 2", "s.model.domain != 2", "not s.m == 2 or model.value == 1"):
        result = check(StateIds, invariants=[text])
        assert (result.verdict, result.distinct) == ("violated", 2)


def test_a_file_of_others_cannot_ask_what_means_nothing(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    run("check", "kip-101", "-s", "replicas=2", "--invariant", TEXT, "--json", file, "--quiet")
    for text in ("'a' * 30000000000 != 'b'", "quorum.leader == 7", "x in 3"):
        file.write_text(file.read_text().replace(json.dumps(TEXT), json.dumps(text)))
        outcome = run("replay", file)
        assert outcome.code == 150
        assert outcome.err.startswith(f"isrcheck: {text!r}, column ")
        file.write_text(file.read_text().replace(json.dumps(text), json.dumps(TEXT)))


def test_names_are_names() -> None:
    assert not any(map(is_condition_text, ("no-committed-loss", "strong-isr", "x_1")))
    assert all(map(is_condition_text, ("n < 1", "s.up", "every b: up", "up and up")))


TEXT = "every b: s.log[b].length < 2 or s.replica[b].leader_epoch == 0"


@pytest.mark.parametrize("engine", ["local", "reference", "symbolic"])
def test_engines_find_a_violation_of_a_text_at_the_same_length(engine: str) -> None:
    result = check("kip-101", {"replicas": 2}, invariants=[TEXT], engine=engine)
    found = result.invariants[TEXT]
    assert (result.verdict, found.verdict) == ("violated", "violated")
    assert found.trace is not None
    assert found.trace.length == 6  # an election, a request, two records of the second epoch: and no shorter way
    assert found.instance is not None
    assert dict(found.instance.choice) == {"b": 1}


def test_a_trace_of_a_text_is_replayed_and_asked_further(tmp_path: Path) -> None:
    itf, found, reported = tmp_path / "t.itf.json", tmp_path / "check.json", tmp_path / "replay.json"
    outcome = run("check", "kip-101", "-s", "replicas=2", "--invariant", TEXT, "--itf", itf, "--json", found, "--quiet")
    assert (outcome.code, outcome.out) == (12, f"VIOLATED  kip-101: {TEXT} in 6 states\n")
    asked = ("--expression", "log[brokers[1]].length", "--expression", "quorum.leader", "--quiet")
    for file in (itf, found):
        outcome = run("replay", file, *asked, "--json", reported)
        assert outcome.code == 12
        assert outcome.out.splitlines()[1:] == [
            *("", "log[brokers[1]].length", "  1  0", "  5  1", "  6  2"),
            *("", "quorum.leader", "  1  none", "  2  0", "  3  1"),
        ]
        data = json.loads(reported.read_text())
        Draft202012Validator(SCHEMA).validate(data)
        values = data["traces"][0]["expressions"]
        assert values == {"log[brokers[1]].length": [*"000012"], "quorum.leader": ["none", "0", *"1111"]}
    assert run("replay", itf, "--expression", "quorum.leader").out.endswith(
        "\n\nquorum.leader\n  1  none\n  2  0\n  3  1\n"
    )
    outcome = run("replay", itf, "--expression", "quorum.leder")
    assert outcome.code == 150
    assert "quorum has no field 'leder'; did you mean leader?" in outcome.err


def test_a_control_is_asked_the_same_text() -> None:
    outcome = run("check", "kip-101", "-s", "replicas=2", "--invariant", TEXT, "--control", "kip-320")
    assert "The fix (model = kip-320) allows every step, to the violation" in outcome.out


@pytest.mark.parametrize("rest", [("--to", "murphi"), ("--crosscheck",)])
def test_other_checkers_are_not_asked_a_text(rest: tuple[str, ...]) -> None:
    outcome = run("export", "kip-101", "--invariant", "quorum.leader != 3", *rest)
    assert outcome.code == 150
    assert "define it as an @invariant in the model file" in outcome.err


@pytest.mark.parametrize("text", ["quorum.leader", "1 +", "quorum.foo == 1", "'a' < 1"])
def test_a_text_that_is_no_condition_ends_the_command_in_a_line(text: str) -> None:
    outcome = run("check", "kip-101", "--invariant", text)
    assert outcome.code == 150
    assert outcome.err.startswith(f"isrcheck: {text!r}, column 1: ")
    assert len(outcome.err.splitlines()) == 1
