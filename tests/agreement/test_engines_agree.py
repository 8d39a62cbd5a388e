"""On random models all engines give the same result, and a defect in any one of them is noticed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, UnsatisfiedAssumption

from isrcheck import check
from isrcheck.checker.kernel import bytecode, llvm_expressions, vm
from isrcheck.checker.kernel.llvm_words import ALL
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Result
from isrcheck.model.semantics import concrete_state, concrete_values
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.operators import interned
from isrcheck.model.semantics.symbolic import locations, terms
from isrcheck.model.semantics.tracing import SymbolicState
from tests.agreement.engines import (
    STATES,
    Engine,
    by_a_table,
    by_arrays,
    by_evaluation,
    by_native_code,
    by_reference,
    traced,
)
from tests.agreement.profiles import THOROUGH, attempts, examples
from tests.agreement.random_models import load, models

QUESTIONS = ((False, False), (False, True), (True, True))
"""(keep_going, deadlock)"""


Question = tuple[bool, bool]


def assert_agree(source: str, question: Question, *engines: Engine) -> None:
    interpreter, system = traced(load(source))
    wanted = by_reference(interpreter, system, *question)
    for engine in engines:
        assert engine(interpreter, system, *question) == wanted, engine.__name__


@examples(200)
@given(models(), st.sampled_from(QUESTIONS))
def test_traced_transitions_mean_what_the_methods_do_and_arrays_find_it(source: str, question: Question) -> None:
    assert_agree(source, question, by_evaluation, by_arrays)


@examples(80)
@given(models(), st.sampled_from(QUESTIONS))
def test_native_code_finds_what_the_reference_finds_with_the_same_verdicts_and_traces(
    source: str, question: Question
) -> None:
    assert_agree(source, question, by_native_code, by_a_table)
    cls, (keep_going, deadlock) = load(source), question
    one, other = (
        check(cls, engine=engine, keep_going=keep_going, deadlock=deadlock, limits=Limits(states=STATES))
        for engine in ("reference", "local")
    )
    assert comparable(one) == comparable(other)


def comparable(result: Result) -> dict[str, Any]:
    """A result without the parts that depend on the engine, the machine or the time."""
    data = result.to_json()
    for name in ("engine", "seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers"):
        data.pop(name, None)
    if data.get("forecast"):
        data["forecast"] = {"states": data["forecast"]["states"]}
    return {**data, "evaluation": result.evaluation, "deadlock": result.deadlock, "findings": result.invariants}


# --- broken on purpose ----------------------------------------------------------------------------------------------


def assert_noticed(engine: Engine) -> None:
    """Asserts that some random model shows a difference between the engines."""

    def differs(source: str) -> bool:
        try:
            assert_agree(source, (True, True), engine)
        except UnsatisfiedAssumption:
            raise
        except Exception:
            return True
        return False

    try:
        find(models(), differs, settings=attempts(1500))
    except NoSuchExample:
        pytest.fail("nobody noticed")


def instead(operator: str) -> Any:
    """A method that compiles another operator in place of the real one."""
    return lambda self, node: type(self).binary(
        self, interned(operator, node.arguments, node.kind, node.low, node.high)
    )


def swapped(original: Any) -> Any:
    def write(self: Any, node: e.Expression) -> Any:
        *first, a, b = node.arguments
        return original(self, interned(node.operator, (*first, b, a), node.kind, node.low, node.high))

    return write


BROKEN_CODE = {
    "not": lambda self, node: self.known[node.arguments[0]],
    "and": lambda self, node: self.known[node.arguments[0]],
    "or": lambda self, node: self.known[node.arguments[-1]],
    "eq": lambda self, node: ALL,
    "le": swapped(llvm_expressions.Lanes.le),
    "add": instead("subtract"),
    "subtract": swapped(llvm_expressions.Lanes.binary),
    "multiply": instead("add"),
    "if": swapped(llvm_expressions.Lanes.if_),
    "has": lambda self, node: "zeroinitializer",
    "only": lambda self, node: llvm_expressions.splat(1),
    "union": instead("intersection"),
    "intersection": instead("union"),
    "difference": swapped(llvm_expressions.Lanes.difference),
    "subset": swapped(llvm_expressions.Lanes.subset),
    "size": lambda self, node: llvm_expressions.splat(1),
}
BROKEN_COLUMNS = {
    "not": lambda self, node: self.register(node.arguments[0]),
    "and": lambda self, node: self.register(node.arguments[0]),
    "or": lambda self, node: self.register(node.arguments[-1]),
    "eq": lambda self, node: self.number(1, False),
    "le": swapped(bytecode.Writer.comparison),
    "add": instead("subtract"),
    "subtract": swapped(bytecode.Writer.binary),
    "multiply": instead("add"),
    "if": swapped(bytecode.Writer.if_),
    "has": lambda self, node: self.number(0, False),
    "only": lambda self, node: self.number(1, False),
    "union": instead("intersection"),
    "intersection": instead("union"),
    "difference": swapped(bytecode.Writer.difference),
    "subset": swapped(bytecode.Writer.subset),
    "size": lambda self, node: self.number(1, False),
}
EVERY_RUN = ("not", "and", "or", "eq")
LATER = ("le", "if")
"""Operators whose defects are noticed soon, and less soon. The others are tested only in a thorough run."""


def broken(table: dict[str, Any]) -> list[Any]:
    later = [pytest.param(x, marks=pytest.mark.exhaustive) for x in LATER]
    return [x for x in table if x in EVERY_RUN or (THOROUGH and x not in LATER)] + later


@pytest.mark.parametrize("operator", broken(BROKEN_CODE))
def test_a_wrong_operator_in_the_code_generator_is_noticed(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(llvm_expressions._OPERATORS, operator, BROKEN_CODE[operator])
    assert_noticed(by_native_code)


@pytest.mark.exhaustive
@pytest.mark.parametrize("operator", broken(BROKEN_COLUMNS))
def test_a_wrong_operator_on_columns_is_noticed(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bytecode.OPERATORS, operator, BROKEN_COLUMNS[operator])
    assert_noticed(by_arrays)


def test_a_column_that_is_used_again_too_soon_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = vm._placed
    monkeypatch.setattr(vm, "_placed", lambda *written: [place % 7 for place in placed(*written)])
    assert_noticed(by_arrays)


def test_an_assignment_that_the_tracer_drops_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    write = SymbolicState._write
    monkeypatch.setattr(SymbolicState, "_write", lambda s, leaf, node: None if leaf > 2 else write(s, leaf, node))
    assert_noticed(by_evaluation)


@pytest.mark.exhaustive
def test_a_frame_that_the_tracer_does_not_keep_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations.Place, "_old", lambda place, leaf: e.leaf(place.state._leaves[place.start]))
    assert_noticed(by_evaluation)


@pytest.mark.exhaustive
def test_a_read_of_the_wrong_element_by_the_tracer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        locations.Step, "chosen", lambda step, i: e.eq(step.index, e.constant(step.index.kind, step.first))
    )
    assert_noticed(by_evaluation)


@pytest.mark.exhaustive  # half a minute: few random models have such a condition
def test_a_condition_of_definedness_that_the_tracer_forgets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_kleene", lambda a, b, decides: e.TRUE)
    assert_noticed(by_evaluation)


@pytest.mark.exhaustive  # appending to what is not empty is seldom seen
def test_a_wrong_append_in_the_reference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepend(self: Any, element: Any) -> None:
        x = concrete_values.stored(self._domain.element, element)
        self._change(x, lambda: (x, *self._plain))

    monkeypatch.setattr(concrete_values.PlainSequence, "append", prepend)
    assert_noticed(by_evaluation)


def test_a_wrong_or_in_the_reference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concrete_values.PlainFlag, "__or__", lambda self, other: self)
    assert_noticed(by_evaluation)


def test_an_assignment_that_the_reference_drops_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    after = concrete_state.ConcreteState._after

    def forgetful(s: Any) -> Any:
        s._writes[1:] = []
        return after(s)

    monkeypatch.setattr(concrete_state.ConcreteState, "_after", forgetful)
    assert_noticed(by_evaluation)
