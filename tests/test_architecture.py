"""Who may import whom: `model` <- `invariants` <- `checker`, and what is imported only where it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(p for package in ("model", "invariants", "checker") for p in (ROOT / package).rglob("*.py"))
MAY_IMPORT = {
    "model": {"isrcheck.model"},
    "invariants": {"isrcheck.model", "isrcheck.invariants"},
    "checker": {"isrcheck.model", "isrcheck.invariants", "isrcheck.checker"},
}
HOMES = {
    "numba": ("checker/engines/local", "checker/engines/simulation"),
    "llvmlite": ("checker/kernel", "checker/engines/local", "checker/engines/simulation"),
    "pyspark": ("checker/engines/spark",),
    "py4j": ("checker/engines/spark",),
    "pyarrow": ("checker/engines/spark", "checker/datasets"),
    "z3": ("checker/engines/symbolic", "checker/proofs"),
    "cvc5": ("checker/proofs",),
    "networkx": ("checker/graphs",),
    "rich": ("checker/cli",),
    "click": ("checker/cli",),
    "jinja2": ("checker/pages",),
    "markupsafe": ("checker/pages",),
}


def imported(path: Path) -> set[str]:
    """The dotted names that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def under(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    for name in imported(path):
        top = name.partition(".")[0]
        may = any(under(name, each) for each in MAY_IMPORT[package]) or path.is_relative_to(ROOT / "checker/public")
        assert top != "isrcheck" or may, f"{package} must not import {name}"
        assert not under(name, "isrcheck.checker.public"), f"{path} must import {name} as isrcheck: it is one module"
        homes = HOMES.get(top, (".",))
        assert any(path.is_relative_to(ROOT / home) for home in homes), f"{name} belongs into {homes}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_language_knows_no_protocol_and_engines_do_not_know_each_other(path: Path) -> None:
    relative = path.relative_to(ROOT)
    names = imported(path)
    if relative.is_relative_to("model/language"):
        assert not [n for n in names if n.startswith("isrcheck.") and not under(n, "isrcheck.model.language")]
    engines = [e for e in ("local", "spark", "symbolic", "reference", "simulation") if f"engines/{e}" in str(relative)]
    for engine in engines:
        others = {"local", "spark", "symbolic", "reference", "simulation"} - {engine}
        assert not [n for n in names for other in others if under(n, f"isrcheck.checker.engines.{other}")]
        assert not [n for n in names if under(n, "isrcheck.model.published") or under(n, "isrcheck.invariants")]


def test_the_concrete_semantics_shares_no_code_with_the_traced_one() -> None:
    names = imported(ROOT / "model/language/concrete.py") | imported(ROOT / "model/language/plain.py")
    assert not [
        n
        for n in names
        if under(n, "isrcheck.model.language.symbolic") or under(n, "isrcheck.model.language.expressions")
    ]


SENT_FROM_SPARK = ("files", "kernels", "queries", "rows", "steps", "tasks")
SENT = ("checker/kernel/native.py", *(f"checker/engines/spark/{name}.py" for name in SENT_FROM_SPARK))
EXECUTORS_HAVE = {*sys.stdlib_module_names, "llvmlite", "numpy", "pyarrow", "pyspark"}


@pytest.mark.parametrize("path", SENT)
def test_what_executors_run_needs_nothing_of_this_project_but_what_is_sent(path: str) -> None:
    sent = {"isrcheck." + name.removesuffix(".py").replace("/", ".") for name in SENT}
    for name in imported(ROOT / path):
        ours = any(under(name, module) for module in sent)
        assert ours or name.partition(".")[0] in EXECUTORS_HAVE, f"{path} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_evaluates_or_unpickles_data(path: Path) -> None:
    calls = {
        n.func.id
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    # Guard mutation compiles the source of the model that it edits, and what runs a model's methods that of the
    # functions that it asks: source that was imported already, and nothing that comes from a file of data.
    compiles = ROOT / "checker/mutation/edits.py", ROOT / "model/language/running.py"
    allowed = {"compile"} if path in compiles else set()
    assert not (calls & {"eval", "exec", "compile"}) - allowed
    assert not {n.partition(".")[0] for n in imported(path)} & {"pickle", "marshal", "shelve"}


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
        "isrcheck.checker.checking",
        "isrcheck.checker.library",
    ],
)
def test_every_entry_point_imports_in_a_fresh_process(module: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", f"import {module}"], cwd=ROOT, check=True)
