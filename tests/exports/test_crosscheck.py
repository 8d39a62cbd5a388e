"""Spin and Rumur find the same states in an exported model as isrcheck finds in the model."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, reject

from isrcheck.checker.analysis.check import check
from isrcheck.checker.cli import main
from isrcheck.checker.engines.explicit.small_search import SmallSearch, TooLarge
from isrcheck.checker.export import outside_check
from isrcheck.checker.export.murphi import murphi
from isrcheck.checker.export.outside_check import TOOLS, ToolResult
from isrcheck.checker.export.promela import promela
from isrcheck.checker.kernel import bytecode, llvm_expressions, llvm_module, programs
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import Model, ModelError, UnknownName
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models

KIP_101 = {"replicas": 2, "log_size": 1, "max_records": 1}
V3 = {"truncation": "kip-320", "crashes": 1, "max_version": 2}
spin = pytest.param("spin", marks=pytest.mark.needs("spin"))
rumur = pytest.param("rumur", marks=pytest.mark.needs("rumur"))


def by_tool(tool: str, system: TransitionSystem) -> ToolResult:
    with tempfile.TemporaryDirectory() as folder:
        return TOOLS[tool](system, Path(folder), 100, 1 << 32, 0)


def comparable(found: ToolResult) -> tuple[int, int, bool]:
    return found.distinct, found.generated, found.violated


def by_isrcheck(cls: type[Model] | str, settings: dict[str, Any] | None = None) -> tuple[int, int, bool] | None:
    """The result of isrcheck's own search; None if the search does not finish."""
    result = check(cls, settings, profile="bare", keep_going=True, limits=Limits(states=3_000))
    if result.verdict == "incomplete" or result.evaluation is not None:
        return None
    return result.distinct, result.generated_total, result.verdict == "violated"


def system_of(name: str, **settings: Any) -> TransitionSystem:
    loaded = load_model_class(name)
    return trace(loaded.cls(**settings), loaded.chosen(None))


TOY = '''
from isrcheck.model.language import *


class Toy(Model):
    """Two counters and a set, with a bound on what is counted."""

    replicas = setting(2, at_least=1, counts=broker, meaning="brokers")
    invariants = ("little",)

    def variables(self):
        by = per(broker, number(-1, 2))
        return {"state": number(-2, 5), "by": by, "in": set_of(broker), "last": optional(broker)}

    @initial(b=broker)
    def initial(self, s, b):
        s.last = b

    @action(b=broker, actor="b")
    def up(self, s, b):
        """A broker counts."""
        s.require(s.state < 5, s.by[b] < 2)
        s.state += 1
        s.by[b] += 1
        setattr(s, "in", getattr(s, "in") | {b})
        s.last = b

    @action(actor="client")
    def forget(self, s):
        """The set loses who came last."""
        s.require(~s.last.is_none, getattr(s, "in").size == 2)
        setattr(s, "in", when(getattr(s, "in").has(s.last), getattr(s, "in") - {self.broker(0)}, {self.broker(1)}))
        s.last = none

    @constraint
    def few(self, s):
        """The count is small."""
        return s.state <= 2

    @invariant
    def little(self, s):
        """The count stays at what is counted."""
        return s.state <= 2
'''
"""A model that is difficult to export: reserved names, negative numbers, initial states, sets, a constraint."""


def toy(folder: Path, **replaced: str) -> type[Model]:
    text = TOY
    for old, new in replaced.items():
        text = text.replace(old, new)
    (folder / "toy.py").write_text(text)
    return load_model_class(str(folder / "toy.py")).cls


@pytest.mark.parametrize("tool", [spin, rumur])
def test_a_model_with_everything_that_is_special_about_exports(tool: str, tmp_path: Path) -> None:
    cls = toy(tmp_path)
    model = cls()
    found = by_tool(tool, trace(model, model.predicates("invariant")))
    assert comparable(found) == by_isrcheck(cls)
    assert found.violated  # only by states beyond the constraint


BEGINNING = """\
from isrcheck.model.language import *


class Beginning(Model):
    def variables(self):
        return {"n": number(0, 5)}

    @initial(b=flag)
    def initial(self, s, b):
        s.n = when(b, 5, 0)

    @action(actor="client")
    def up(self, s):
        \"\"\"One more.\"\"\"
        s.require(s.n < 5)
        s.n += 1

    @constraint
    def few(self, s):
        \"\"\"Few.\"\"\"
        return s.n <= 2

    @invariant
    def little(self, s):
        \"\"\"It is at most MOST.\"\"\"
        return s.n <= MOST
"""
"""A model with an initial state outside its constraint."""


@pytest.mark.parametrize("tool", [spin, rumur])
@pytest.mark.parametrize("most", [4, 5])
def test_an_initial_state_outside_the_constraints_is_judged(tool: str, most: int, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(BEGINNING.replace("MOST", str(most)))
    cls = load_model_class(str(tmp_path / "model.py")).cls
    model = cls()
    found = by_tool(tool, trace(model, model.predicates("invariant")))
    assert comparable(found) == by_isrcheck(cls)
    assert (found.distinct, found.generated, found.violated) == (3, 5, most < 5)


@pytest.mark.parametrize("write", [promela, murphi])
def test_constraints_that_are_undefined_in_all_initial_states_are_a_message(write: Any, tmp_path: Path) -> None:
    text = BEGINNING.replace("MOST", "4")
    text = text.replace('"n": number(0, 5)', '"n": number(0, 5), "log": sequence(number(0, 3), 2)')
    (tmp_path / "model.py").write_text(text.replace("return s.n <= 2", "return s.log.first >= 2"))
    model = load_model_class(str(tmp_path / "model.py")).cls()
    with pytest.raises(UnknownName, match="no initial state satisfies the constraints"):
        write(trace(model, model.predicates("invariant")))


@pytest.mark.exhaustive
@pytest.mark.parametrize("tool", [spin, rumur])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("kip-101", KIP_101),
        ("async-isr", {"replicas": 2}),
        pytest.param("v3", V3, marks=pytest.mark.exhaustive),
    ],
)
def test_models_have_the_states_that_other_model_checkers_find(tool: str, name: str, settings: dict[str, Any]) -> None:
    assert comparable(by_tool(tool, system_of(name, **settings))) == by_isrcheck(name, settings)


@pytest.mark.exhaustive
@pytest.mark.needs("spin")
def test_spin_looks_further_where_its_path_was_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_check, "PATH", 10)
    assert comparable(by_tool("spin", system_of("kip-101", **KIP_101))) == by_isrcheck("kip-101", KIP_101)


@pytest.mark.exhaustive
@pytest.mark.needs("spin")
@examples(6, shrink=False)
@given(models())
def test_spin_finds_what_native_code_finds_on_random_models(source: str) -> None:
    assert_agree_on_random("spin", source)


@pytest.mark.exhaustive
@pytest.mark.needs("rumur")
@examples(4, shrink=False)
@given(models())
def test_rumur_finds_what_native_code_finds_on_random_models(source: str) -> None:
    assert_agree_on_random("rumur", source)


def assert_agree_on_random(tool: str, source: str) -> None:
    cls = load(source)
    _, system = traced(cls)
    ours = by_isrcheck(cls)
    if ours is None or ours[0] < 5:
        reject()
    assert comparable(by_tool(tool, system)) == ours


# --- what is wrong is noticed ---------------------------------------------------------------------------------------


WRITERS = {"spin": ("promela", promela), "rumur": ("murphi", murphi)}


def with_one_guard_weaker(system: TransitionSystem) -> TransitionSystem:
    """The system with a weaker guard: a leader may remove a follower that is not behind from its ISR."""
    first = next(t for t in system.transitions if t.label.action == "leader-shrink-isr")
    weaker = replace(first, guard=e.and_(*(a for a in first.guard.arguments if "log[" not in e.render(a))))
    assert weaker.guard is not first.guard
    return replace(system, transitions=tuple(weaker if t is first else t for t in system.transitions))


def crosschecked(tool: str) -> tuple[int, str]:
    settings = [x for name, value in KIP_101.items() for x in ("-s", f"{name}={value}")]
    done = CliRunner().invoke(main, ["export", "--crosscheck", "kip-101", *settings, "--with", tool])
    return done.exit_code, done.output


@pytest.mark.parametrize("tool", [spin, pytest.param(*rumur.values, marks=[*rumur.marks, pytest.mark.exhaustive])])
def test_crosscheck_catches_an_export_with_one_wrong_guard(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert crosschecked(tool)[0] == 0
    name, written = WRITERS[tool]
    wrong = lambda system, *with_checks: written(with_one_guard_weaker(system), *with_checks)  # noqa: E731
    monkeypatch.setattr(f"isrcheck.checker.export.outside_check.{name}", wrong)
    code, output = crosschecked(tool)
    assert code == 10
    assert "DIFFERS" in output


@pytest.fixture(params=["columns", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the kernel of a search runs: with programs over columns, or compiled, because the small search gives up."""

    def give_up(self: SmallSearch, *how: object) -> None:
        raise TooLarge

    if request.param == "compiled":
        monkeypatch.setattr(SmallSearch, "explore", give_up)
    return str(request.param)


@pytest.mark.exhaustive
@pytest.mark.needs("spin")
def test_crosscheck_catches_a_kernel_with_one_wrong_guard(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"columns": (programs, "expansion"), "compiled": (llvm_module, "kernel_text")}
    right = getattr(*written[way])
    monkeypatch.setattr(*written[way], lambda system, *more: right(with_one_guard_weaker(system), *more))
    code, output = crosschecked("spin")
    assert code == 10
    assert "DIFFERS" in output


@pytest.mark.needs("spin")
def test_crosscheck_catches_a_kernel_with_one_wrong_operator(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: llvm_expressions.Lanes, node: e.Expression, holds: bool = True) -> str:
        return self._compared(node, "slt" if holds else "sge")

    def equal(self: bytecode.Writer, node: e.Expression) -> int:
        a, b, _ = self._operands(node, 0)
        return self._do(bytecode.EQUAL, a, b, 0)

    if way == "columns":
        monkeypatch.setitem(bytecode.OPERATORS, "le", equal)
    else:
        monkeypatch.setitem(llvm_expressions._OPERATORS, "le", wrong)
        monkeypatch.setitem(llvm_expressions._RELATIONS, "le", wrong)
    assert crosschecked("spin")[0] == 10


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.needs("spin")
def test_the_command_shows_counts_side_by_side() -> None:
    done = CliRunner().invoke(main, ["export", "--crosscheck", "kip-101", "-s", "replicas=2", "--with", "spin"])
    assert done.exit_code == 0
    assert "isrcheck    9,045     21,447     violated" in done.output
    assert done.output.rstrip().endswith("agrees")


def test_a_tool_that_is_missing_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = CliRunner().invoke(main, ["export", "--crosscheck", "kip-101", "--with", "spin"])
    assert done.exit_code == 153
    assert "spin not found; install it and a C compiler" in done.output


def test_a_difference_ends_with_exit_code_10(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*_: object) -> ToolResult:
        return ToolResult("spin", "0", 9_044, 21_447, True)

    monkeypatch.setitem(TOOLS, "spin", other)
    monkeypatch.setattr("isrcheck.checker.export.outside_check.installed", lambda: ("spin",))
    done = CliRunner().invoke(main, ["export", "--crosscheck", "kip-101", "-s", "replicas=2"])
    assert done.exit_code == 10
    assert "DIFFERS" in done.output


def test_a_search_that_ends_in_an_error_is_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(tmp_path, **{"s.state < 5, s.by[b] < 2": "s.state < 5"})
    monkeypatch.setattr("isrcheck.checker.export.outside_check.installed", lambda: ("spin",))
    done = CliRunner().invoke(main, ["export", "--crosscheck", str(tmp_path / "toy.py")])
    assert done.exit_code == 75
    assert not isinstance(done.exception, ModelError)
