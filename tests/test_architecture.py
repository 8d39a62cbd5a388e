"""The allowed imports (`model` <- `invariants` <- `checker` with its layers), and packages imported when needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from benchmarks.house import BOUNDS, figures
from isrcheck.checker import LAYERS

ROOT = Path(__file__).parent.parent
MODULES = sorted(p for package in ("model", "invariants", "checker") for p in (ROOT / package).rglob("*.py"))
MODULES += sorted((ROOT / "isrcheck").glob("*.py"))
MAY_IMPORT = {
    "model": {"isrcheck.model"},
    "invariants": {"isrcheck.model", "isrcheck.invariants"},
    "checker": {"isrcheck.model", "isrcheck.invariants", "isrcheck.checker"},
    "isrcheck": {"isrcheck"},
}
HOMES = {
    "numba": ("checker/kernel",),
    "llvmlite": ("checker/kernel",),
    "pyspark": ("checker/engines/spark",),
    "py4j": ("checker/engines/spark",),
    "pyarrow": ("checker/engines/spark", "checker/datasets", "checker/analysis/sweep"),
    "z3": ("checker/engines/symbolic", "checker/proofs"),
    "cvc5": ("checker/proofs",),
    "networkx": ("checker/export",),
    "PIL": ("checker/results",),
    "rich": ("checker/cli",),
    "click": ("checker/cli",),
    "jinja2": ("checker/report/pages",),
    "markdown_it": ("checker/report/pages",),
    "markupsafe": ("checker/report/pages",),
}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The imports and calls in a file's syntax tree."""
    kinds = (ast.Import, ast.ImportFrom, ast.Call)
    return tuple(node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


@cache
def imported(path: Path) -> set[str]:
    """The dotted names that a file imports, anywhere in the file."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def under(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def dotted(path: Path) -> str:
    """The name by which a file is imported."""
    parts = [part for part in path.relative_to(ROOT).with_suffix("").parts if part != "isrcheck"]
    return ".".join(["isrcheck", *parts]).removesuffix(".__init__")


NAMES = {dotted(path): path for path in MODULES}
LAYER_OF = {part: layer for layer, (_, parts) in LAYERS.items() for part in parts}
HEIGHT = {layer: height for height, layer in enumerate(LAYERS)}


def module_of(name: str) -> str:
    """The module that an imported name denotes or belongs to."""
    while name not in NAMES:
        name = name.rpartition(".")[0]
    return name


@cache
def arrows(name: str) -> set[str]:
    """The modules that a module imports, anywhere in the file and also only for types."""
    return {module_of(other) for other in imported(NAMES[name]) if under(other, "isrcheck")} - {name}


def part_of(name: str) -> str | None:
    """The part of the checker to which a module belongs; None for the package itself and for modules elsewhere."""
    steps = name.split(".")
    if steps[:2] != ["isrcheck", "checker"] or len(steps) == 2:
        return None
    return ".".join(steps[2:4]) if steps[2] == "engines" else steps[2]


def a_way_back(graph: Mapping[str, set[str]]) -> str:
    """The text of a cycle of imports, or "" if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def test_no_module_imports_itself_in_the_end() -> None:
    assert not a_way_back({name: arrows(name) for name in NAMES})


def test_no_part_of_the_checker_imports_itself_in_the_end() -> None:
    parts: dict[str, set[str]] = {}
    for name in NAMES:
        if (part := part_of(name)) is not None:
            parts.setdefault(part, set()).update({p for o in arrows(name) if (p := part_of(o)) is not None} - {part})
    assert not a_way_back(parts)


def test_a_layer_imports_what_is_below() -> None:
    for name in NAMES:
        own = part_of(name)
        for other in sorted(arrows(name)) if own else ():
            if own and (part := part_of(other)) is not None:
                here, there = (LAYER_OF[each.partition(".")[0]] for each in (own, part))
                assert HEIGHT[there] <= HEIGHT[here], f"{name} ({here}) must not import {other} ({there}); see LAYERS"


def test_the_layers_name_each_part_once() -> None:
    parts = [part for _, parts in LAYERS.values() for part in parts]
    there = {p.stem for p in (ROOT / "checker").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert sorted(parts) == sorted(there - {"__init__"})


def test_imports_point_one_way() -> None:
    for path, name in ((p, name) for p in MODULES for name in sorted(imported(p))):
        package, top = path.relative_to(ROOT).parts[0], name.partition(".")[0]
        may = any(under(name, each) for each in MAY_IMPORT[package])
        assert top != "isrcheck" or may, f"{path}: {package} must not import {name}"
        assert top == "isrcheck" or top not in MAY_IMPORT, (
            f"{path} must import {name} as isrcheck.{name}: it is one module"
        )
        homes = HOMES.get(top, (".",))
        assert any(path.is_relative_to(ROOT / home) for home in homes), f"{path}: {name} belongs into {homes}"


LANGUAGE = ("language", "semantics")
ENGINES = ("explicit", "spark", "symbolic", "reference", "simulation")


def test_the_language_knows_no_protocol_and_engines_do_not_know_each_other() -> None:
    for path in MODULES:
        relative, names = path.relative_to(ROOT), imported(path)
        if any(relative.is_relative_to(f"model/{each}") for each in LANGUAGE):
            ours = [n for n in names if n.startswith("isrcheck.")]
            beyond = [n for n in ours if not any(under(n, f"isrcheck.model.{each}") for each in LANGUAGE)]
            assert not beyond, f"{path} must not import {beyond}"
        for engine in (e for e in ENGINES if f"engines/{e}" in str(relative)):
            others = [f"isrcheck.checker.engines.{other}" for other in ENGINES if other != engine]
            shut = [*others, "isrcheck.model.published", "isrcheck.invariants"]
            wrong = [n for n in names for each in shut if under(n, each)]
            assert not wrong, f"{path} must not import {wrong}"


def test_the_concrete_semantics_shares_no_code_with_the_traced_one() -> None:
    names = imported(ROOT / "model/semantics/concrete_state.py") | imported(ROOT / "model/semantics/concrete_values.py")
    traced = "symbolic", "expressions", "tracing"
    assert all(
        (ROOT / f"model/semantics/{each}").exists() or (ROOT / f"model/semantics/{each}.py").exists() for each in traced
    )
    assert not [n for n in names for other in traced if under(n, f"isrcheck.model.semantics.{other}")]
    registry = "isrcheck.model.semantics.operators."
    taken = {n.removeprefix(registry) for n in names if n.startswith(registry)}
    assert taken <= {"Operator", "python_operators"}, "only the signs of operators, never nodes"


SENT_FROM_SPARK = ("state_files", "executor_kernels", "executor_queries", "row_order", "step_files", "tasks")
SENT_ALONE = ("checker/datasets/places.py", "checker/kernel/llvm_compiler.py")
SENT = (*SENT_ALONE, *(f"checker/engines/spark/{name}.py" for name in SENT_FROM_SPARK))
EXECUTORS_HAVE = {*sys.stdlib_module_names, "llvmlite", "numpy", "pyarrow", "pyspark"}


@pytest.mark.parametrize("path", SENT)
def test_what_executors_run_needs_nothing_of_this_project_but_what_is_sent(path: str) -> None:
    sent = {"isrcheck." + name.removesuffix(".py").replace("/", ".") for name in SENT}
    for name in imported(ROOT / path):
        ours = any(under(name, module) for module in sent)
        assert ours or name.partition(".")[0] in EXECUTORS_HAVE, f"{path} must not import {name}"


def test_no_module_evaluates_or_unpickles_data() -> None:
    # Guard mutation compiles the source of the model that it edits, and what runs a model's methods that of the
    # functions that it asks: source that was imported already, and nothing that comes from a file of data.
    compiles = ROOT / "checker/changes/mutation/edits.py", ROOT / "model/semantics/method_calls.py"
    for path in MODULES:
        calls = {n.func.id for n in nodes(path) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        allowed = {"compile"} if path in compiles else set()
        assert not (calls & {"eval", "exec", "compile"}) - allowed, path
        assert not {n.partition(".")[0] for n in imported(path)} & {"pickle", "marshal", "shelve"}, path


def test_help_and_lists_load_no_engine() -> None:
    heavy = "numba", "llvmlite", "pyspark", "pyarrow", "z3", "numpy", "rich", "jinja2"
    code = f"""
import sys
from isrcheck.checker.cli import main
try:
    main(["models"])
except SystemExit:
    pass
print(sorted(set({heavy}) & set(sys.modules)))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert out.splitlines()[-1] == "[]"
    assert any(line.startswith("kip-320 ") for line in out.splitlines())


@pytest.mark.parametrize(
    "module",
    [
        "isrcheck",
        "isrcheck.testing",
        "isrcheck.model.language",
        "isrcheck.invariants.isr",
        "isrcheck.checker.analysis.check",
        "isrcheck.checker.registry.loader",
    ],
)
def test_every_entry_point_imports_in_a_fresh_process(module: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", f"import {module}"], cwd=ROOT, check=True)


@pytest.mark.parametrize("figure", BOUNDS)
def test_the_house_keeps_its_figures(figure: str) -> None:
    assert figures()[figure] <= BOUNDS[figure], "python -m benchmarks.house prints every figure"
