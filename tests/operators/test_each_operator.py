"""Each operation of the language on each engine, one by one, so that a failing test names both.

The meaning of each operation is written in plain Python, so that no engine is compared only with another. Whole and
random models are compared elsewhere (`tests/agreement`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import z3

from isrcheck.checker.engines.symbolic import z3_terms
from isrcheck.checker.engines.symbolic.z3_terms import BITS, INTEGERS, Numbers, Terms, interval
from isrcheck.checker.export import murphi, promela, tla
from isrcheck.checker.kernel import bytecode, llvm_expressions
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.programs import Columns
from isrcheck.checker.kernel.verdict_bits import Verdicts
from isrcheck.checker.proofs.unbounded import scalars
from isrcheck.model.language import EvaluationError, state_types
from isrcheck.model.language.decorators import Action
from isrcheck.model.language.errors import OfTheState
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.concrete_state import holds, run
from isrcheck.model.semantics.concrete_values import PlainNumber, PlainSet
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.operators import OPERATORS, SIGNS, Kind, Operator, complete
from isrcheck.model.semantics.symbolic.terms import TracedNumber, TracedSet
from isrcheck.model.semantics.tracing import SymbolicState, _Sheet, flag_of, layout
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem
from tests.operators.everything import READ, WRITE, Everything, meant, plain, states

MODEL = Everything()
STATES = states()
FEW = STATES[:16]
"""Fewer states for z3, which is slow."""
SHEET = _Sheet(MODEL, *layout(MODEL))
Answer = list[Any]
WRITTEN_IN = {
    "reference": "model/semantics/concrete_values.py",
    "semantics": "model/semantics/symbolic, expressions.py",
    "columns": "checker/kernel/bytecode.py, layout.py",
    "compiled": "checker/kernel/llvm_expressions.py, layout.py",
    "z3-bit-vectors": "checker/engines/symbolic/z3_terms.py",
    "z3-integers": "checker/engines/symbolic/z3_terms.py",
}
"""The files to look at if only one engine is wrong. If all except the first are wrong, look at those of `semantics`."""


@cache
def traced(operation: str) -> tuple[Expression, Expression]:
    """The expressions of where an operation is true and where it is undefined."""
    state = SymbolicState(MODEL, SHEET.variables, SHEET.leaves, writable=False)
    found = flag_of(READ[operation][0](MODEL, state))
    return e.and_(found.node, found.defined), e.not_(found.defined)


@cache
def assignment(operation: str) -> Transition:
    state = SymbolicState(MODEL, SHEET.variables, SHEET.leaves, writable=True)
    WRITE[operation][0](MODEL, state)
    return SHEET.transition(operation, Action({}, "client", False), [], state)


def system(writes: Sequence[str]) -> TransitionSystem:
    found = tuple(map(assignment, writes))
    return TransitionSystem(
        "everything", {}, SHEET.variables, SHEET.leaves, (), tuple(writes), found, (), (), (), ()
    )  # fmt: skip


EMPTY = system([])
ENCODED = {state: EMPTY.encode(state) for state in STATES}


# --- nothing is left out --------------------------------------------------------------------------------------------


BACK_ENDS = {
    "the bytecode (checker/kernel/bytecode.py)": bytecode,
    "the LLVM text (checker/kernel/llvm_expressions.py)": llvm_expressions,
    "z3 (checker/engines/symbolic/z3_terms.py)": z3_terms,
    "Promela (checker/export/promela.py)": promela,
    "Murphi (checker/export/murphi.py)": murphi,
    "TLA+ (checker/export/tla.py)": tla,
}
NUMBERS: tuple[Kind, Kind] = ("number", "number")
SETS: tuple[Kind, Kind] = ("set", "set")


def unknown(takes: tuple[Kind, Kind]) -> Operator:
    """An operator that no back-end knows, and whose meaning is defined only on integers."""
    return Operator(
        name="later", takes=takes, gives=takes[0], sign="%", meaning=lambda a, b: [0, 1][a],
        promela=None, murphi=None, tla=None,
    )  # fmt: skip


def imported_again(module: ModuleType) -> dict[str, Any]:
    """The names of a module after its text has run once more. The module itself stays as it is."""
    found = {"__name__": module.__name__}
    exec(compile(Path(str(module.__file__)).read_text(), str(module.__file__), "exec"), found)
    return found


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_back_end_that_lacks_an_operator_says_so(back_end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imported_again(BACK_ENDS[back_end])
    monkeypatch.setitem(OPERATORS, "later", unknown(NUMBERS))
    with pytest.raises(NotImplementedError, match=re.escape(f"{back_end} lacks the operator later; add it to the ")):
        imported_again(BACK_ENDS[back_end])


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_back_end_with_a_row_for_no_operator_says_so(back_end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OPERATORS, "size")
    with pytest.raises(
        NotImplementedError, match=re.escape(f"{back_end} has size, which is not an operator; remove it")
    ):
        complete(back_end, dict.fromkeys(e.SEMANTICS))


@pytest.mark.parametrize(("module", "takes"), [(scalars, NUMBERS), (scalars, SETS)])
def test_proofs_without_bounds_need_meanings_on_terms(
    module: ModuleType, takes: tuple[Kind, Kind], monkeypatch: pytest.MonkeyPatch
) -> None:
    imported_again(module)
    monkeypatch.setitem(OPERATORS, "later", unknown(takes))
    said = "proofs without bounds (checker/proofs/unbounded) lack the operator later"
    with pytest.raises(NotImplementedError, match=re.escape(said)):
        imported_again(module)


FORMS: dict[str, Any] = {"meaning": max, "promela": None, "murphi": None, "tla": None}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sign": "**"}, "operator 'later': '**' is not one of + - * // % | & ^"),
        (
            {"sign": "%", "gives": "set"},
            "operator 'later' has a sign, but takes ('number', 'number') and gives 'set'",
        ),
        ({}, "operator 'later' has neither a text nor a sign"),
    ],
)
def test_a_declaration_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Operator(**{"name": "later", "takes": NUMBERS, "gives": "number", **FORMS, **given})


@pytest.mark.parametrize("name", FORMS)
def test_a_declaration_says_how_each_export_writes_the_operator(name: str) -> None:
    with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
        Operator(name="later", takes=NUMBERS, gives="number", **{x: y for x, y in FORMS.items() if x != name})


def test_an_operator_is_declared_once() -> None:
    with pytest.raises(ValueError, match="operator 'add' is declared twice"):
        OPERATORS["add"](e.add)


VALUES: dict[str, list[type]] = {
    "number": [PlainNumber, TracedNumber, scalars.UnboundedNumber, state_types.Number],
    "set": [PlainSet, TracedSet, scalars.UnboundedSet, state_types.Brokers],
}
"""The classes of values of a kind: what a model computes with, and what editors know."""


@pytest.mark.parametrize("operator", OPERATORS)
def test_values_have_the_operators_that_models_write(operator: str) -> None:
    of = OPERATORS[operator]
    names = re.findall(r"\{0\}\.(\w+)", of.text) + ([f"__{SIGNS[of.sign]}__"] if of.sign else [])
    for cls in VALUES.get(of.takes[0], ()):
        own = {name: x for each in cls.__mro__[:-1] if each is not OfTheState for name, x in vars(each).items()}
        assert own.keys() >= set(names), f"{cls.__module__}.{cls.__name__} needs {names}"


def test_every_operator_of_expressions_is_in_some_operation() -> None:
    roots = [root for operation in READ for root in traced(operation)]
    updates = [update for operation in WRITE for update in assignment(operation).updates.values()]
    seen = {node.operator for node in e.topological([*roots, *updates])}
    assert not (missing := e.SEMANTICS.keys() - seen), f"tests/operators/everything.py has no operation with {missing}"


def test_every_operation_is_true_and_false_somewhere() -> None:
    for operation, (_, meaning) in READ.items():
        found = {meant(meaning, state) for state in STATES}
        assert {bool(x) for x in found if x is not None} == {True, False}, operation


# --- what is read ---------------------------------------------------------------------------------------------------


def by_reference(operation: str) -> Answer:
    def answer(state: tuple[Any, ...]) -> Any:
        try:
            return holds(MODEL, state, READ[operation][0]).value
        except EvaluationError:
            return None

    return [answer(state) for state in STATES]


def by_semantics(operation: str) -> Answer:
    return [answered(*e.evaluate(traced(operation), ENCODED[state])) for state in STATES]


def answered(true: int, undefined: int) -> Any:
    return None if undefined else bool(true)


def evaluated(kernel: Kernel, first: int) -> Answer:
    bits = kernel.evaluate(kernel.layout.pack([ENCODED[state] for state in STATES]))

    def bit(number: int) -> Any:
        return bits[:, number // 64] >> np.uint64(number % 64) & np.uint64(1)

    return [answered(*pair) for pair in zip(bit(first).tolist(), bit(first + 1).tolist(), strict=True)]


def kernel_of(bits: Sequence[Expression], writes: Sequence[str]) -> Kernel:
    kernel = Kernel(system(writes))
    kernel.verdicts = Verdicts(tuple(bits), {}, {}, {})
    kernel._functions = Columns(kernel.system, kernel.layout, bits)
    return kernel


def by_columns(operation: str) -> Answer:
    return evaluated(kernel_of(traced(operation), []), 0)


@cache
def compiled() -> Kernel:
    """A compiled kernel with all operations in one text, because each start of the compiler takes time."""
    kernel = kernel_of([bit for operation in READ for bit in traced(operation)], list(WRITE))
    assert kernel.code.addresses["evaluate"]
    return kernel


def by_compiled_code(operation: str) -> Answer:
    return evaluated(compiled(), 2 * list(READ).index(operation))


def by_z3(numbers: Numbers) -> Callable[[str], Answer]:
    def answer(operation: str) -> Answer:
        writer = Terms(numbers)
        symbols = writer.state(SHEET.leaves, "s")
        folded = writer.fold(traced(operation), symbols)

        def value(state: tuple[Any, ...], term: Any) -> int:
            pairs = [
                (symbol, writer.constant(leaf.kind, x, (leaf.low, leaf.high)))
                for leaf, symbol, x in zip(SHEET.leaves, symbols, ENCODED[state], strict=True)
            ]
            return int(z3.is_true(z3.simplify(z3.substitute(term, *pairs))))

        return [answered(*(value(state, term) for term in folded)) for state in FEW]

    return answer


READERS: dict[str, Callable[[str], Answer]] = {
    "reference": by_reference,
    "semantics": by_semantics,
    "columns": by_columns,
    "compiled": by_compiled_code,
    "z3-bit-vectors": by_z3(BITS),
    "z3-integers": by_z3(INTEGERS),
}


@pytest.mark.parametrize("operation", READ)
def test_what_is_read(operation: str) -> None:
    for engine, answers in READERS.items():
        for state, answer in zip(STATES, answers(operation), strict=False):
            meaning = meant(READ[operation][1], state)
            wanted = None if meaning is None else bool(meaning)
            assert answer == wanted, (
                f"{operation} on {engine} ({WRITTEN_IN[engine]}): {answer}, not {wanted}, in {plain(state)}"
            )


def with_operator(operator: str) -> list[str]:
    """The operations whose expressions have this operator."""
    return [x for x in READ if operator in {node.operator for node in e.topological(traced(x))}]


def is_wrong(answers: Callable[[str], Answer], operation: str) -> bool:
    given = zip(STATES, answers(operation), strict=False)
    return any(answer != meant(READ[operation][1], state) for state, answer in given)


def alone(operation: str) -> Answer:
    """The answer of compiled code that has only this operation."""
    kernel = kernel_of(traced(operation), [])
    assert kernel.code.addresses["evaluate"]
    return evaluated(kernel, 0)


def least_lanes(self: llvm_expressions.Lanes, node: Expression) -> str:
    return llvm_expressions.splat(node.low, llvm_expressions.width_of(node))


WRONG: dict[str, tuple[dict[str, Any], Any, Callable[[str], Answer]]] = {
    "bytecode": (bytecode.OPERATORS, lambda self, node: self.number(node.low, 0), by_columns),
    "LLVM": (llvm_expressions._OPERATORS, least_lanes, alone),
    "z3": (z3_terms.OPERATORS, lambda self, node, _: self.constant(node.kind, node.low, interval(node)), by_z3(BITS)),
}
"""Back-ends with their tables, with a row that always gives the least value, and with their answers."""


@pytest.mark.parametrize("back_end", WRONG)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_wrong_row_is_noticed(operator: str, back_end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, least, answers = WRONG[back_end]
    monkeypatch.setitem(rows, operator, least)
    assert any(is_wrong(answers, operation) for operation in with_operator(operator))


# --- what is assigned -----------------------------------------------------------------------------------------------


def written_by_reference(operation: str) -> Answer:
    def after(state: tuple[Any, ...]) -> Any:
        try:
            return run(MODEL, state, WRITE[operation][0], [])
        except EvaluationError:
            return None

    return [after(state) for state in STATES]


def written_by_semantics(operation: str) -> Answer:
    transition, found = assignment(operation), []
    for state in STATES:
        leaves = ENCODED[state]
        (failing,) = e.evaluate([transition.failure], leaves)
        values = e.evaluate(list(transition.updates.values()), leaves)
        after = dict(enumerate(leaves)) | dict(zip(transition.updates, values, strict=True))
        found.append(None if failing else EMPTY.decode(after.values()))
    return found


def expanded(kernel: Kernel, number: int) -> Answer:
    packed = kernel.layout.pack([ENCODED[state] for state in STATES])
    after, sources, transitions, _ = kernel.expand(packed)
    mine = np.flatnonzero(transitions == number)
    leaves = kernel.layout.unpack(after[mine])
    found = {int(sources[i]): EMPTY.decode(map(int, row)) for i, row in zip(mine, leaves, strict=True)}
    return [found.get(i) for i in range(len(STATES))]


def written_by_columns(operation: str) -> Answer:
    return expanded(kernel_of([], [operation]), 0)


WRITERS: dict[str, Callable[[str], Answer]] = {
    "reference": written_by_reference,
    "semantics": written_by_semantics,
    "columns": written_by_columns,
    "compiled": lambda operation: expanded(compiled(), list(WRITE).index(operation)),
}


@pytest.mark.parametrize("engine", WRITERS)
@pytest.mark.parametrize("operation", WRITE)
def test_what_is_assigned(operation: str, engine: str) -> None:
    for state, after in zip(STATES, WRITERS[engine](operation), strict=True):
        wanted = meant(WRITE[operation][1], state)
        wanted = None if wanted is None else tuple(wanted.values())
        assert after == wanted, (
            f"assigning {operation} on {engine} ({WRITTEN_IN[engine]}): {after}, not {wanted}, from {state}"
        )
