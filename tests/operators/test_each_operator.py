"""Each operation of the language on each engine, one by one, so that a failing test names both.

The meaning of each operation is written in plain Python, so that no engine is compared only with another. Whole and
random models are compared elsewhere (`tests/agreement`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import z3

from isrcheck.checker.engines.symbolic.z3_terms import BITS, INTEGERS, OPERATORS, Numbers, Terms
from isrcheck.checker.export import promela, tla
from isrcheck.checker.kernel import column_operators, llvm_expressions
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.exchanges import CONSTRUCTORS
from isrcheck.checker.kernel.programs import Columns
from isrcheck.checker.kernel.verdict_bits import Verdicts
from isrcheck.model.language import EvaluationError
from isrcheck.model.language.decorators import Action
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.concrete_state import holds, run
from isrcheck.model.semantics.expressions import Expression
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
    "columns": "checker/kernel/column_operators.py, layout.py",
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


TABLES = {
    "checker/kernel/column_operators.py": column_operators.OPERATORS.keys(),
    "checker/kernel/llvm_expressions.py": llvm_expressions._OPERATORS.keys(),
    "checker/engines/symbolic/z3_terms.py": OPERATORS.keys(),
    "checker/kernel/exchanges.py": {*CONSTRUCTORS, "only"},
    "checker/export/tla.py": tla._FORMS.keys(),
    "checker/export/promela.py": {*promela._FORMS, "has", "only", "size"},
}


@pytest.mark.parametrize("file", TABLES)
def test_every_operator_of_expressions_is_in_each_table(file: str) -> None:
    assert not (missing := e.SEMANTICS.keys() - TABLES[file]), f"{file} has nothing for {missing}"
    assert not (more := TABLES[file] - e.SEMANTICS.keys()), f"{file}: SEMANTICS of expressions.py lacks {more}"


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
        terms = Terms(numbers)
        symbols = terms.state(SHEET.leaves, "s")
        folded = terms.fold(traced(operation), symbols)

        def value(state: tuple[Any, ...], term: Any) -> int:
            pairs = [
                (symbol, terms.constant(leaf.kind, x, (leaf.low, leaf.high)))
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
