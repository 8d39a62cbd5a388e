"""Figures of the house: how many modules, rooms and imports there are, and how long the longest chain of imports is.

    python -m benchmarks.house

`tests/test_architecture.py` holds each figure to its bound (`BOUNDS`).
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("model", "invariants", "checker", "isrcheck")
BOUNDS: Final = {
    "modules": 380,
    "modules under 60 lines": 15,
    "modules directly in checker": 5,
    "folders directly in checker": 16,
    "rooms": 25,
    "imports among rooms": 120,
    "longest chain of imports": 20,
    "base names that stand more than once": 15,
    "functions with more than 8 parameters": 15,
    "pages": 20,
    "commands": 17,
}
"""The most that each figure may be. A room is a folder in `checker` or `model`, or `invariants`, or `isrcheck`."""


def modules() -> dict[str, Path]:
    """The file of each module of the package, by dotted name. A package counts as the module in its `__init__.py`."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT)
            if not any((ROOT / each).is_symlink() for each in [inside, *inside.parents]):
                name = ".".join(part for part in inside.with_suffix("").parts if part != "isrcheck")
                found[f"isrcheck.{name}".removesuffix(".__init__")] = path
    return found


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports() -> dict[str, set[str]]:
    """The modules that each module imports, anywhere in its file and also only for types."""
    files = modules()

    def module_of(name: str) -> str:
        while name not in files:
            name = name.rpartition(".")[0]
        return name

    found = defaultdict(set)
    for name, path in files.items():
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                named = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            found[name] |= {module_of(each) for each in named if each.partition(".")[0] == "isrcheck"} - {name}
    return found


def room_of(name: str) -> str:
    """The room of a module, such as `checker.trace`, `model.designs`, `invariants`, or `isrcheck` for its own files."""
    steps = name.split(".")[1:]
    if not steps or steps[0] not in FOLDERS:
        return "isrcheck"
    return ".".join(steps[:2]) if steps[0] in ("checker", "model") else steps[0]


def longest_chain(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """A longest chain of modules in which each imports the next one."""

    @cache
    def chain(name: str) -> tuple[str, ...]:
        return (name, *max((chain(other) for other in sorted(graph.get(name, ()))), key=len, default=()))

    return max((chain(name) for name in sorted(graph)), key=len)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    return len(given.posonlyargs + given.args + given.kwonlyargs)


def commands() -> int:
    from isrcheck.checker.cli import COMMANDS

    return len(COMMANDS)


@cache
def figures() -> dict[str, int]:
    """Each figure of `BOUNDS`, measured."""
    files, graph = modules(), imports()
    named = {name: path for name, path in files.items() if path.name != "__init__.py"}
    names = Counter(path.stem for path in named.values() if path.name != "__main__.py")
    nodes = [node for path in files.values() for node in ast.walk(syntax(path))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    pages = [p for p in (ROOT / "docs").rglob("*.md") if "findings" not in p.relative_to(ROOT).parts]
    rooms = {(room_of(name), room_of(other)) for name, others in graph.items() for other in others}
    return {
        "modules": len(named),
        "modules under 60 lines": sum(len(path.read_text().splitlines()) < 60 for path in named.values()),
        "modules directly in checker": sum(path.parent == ROOT / "checker" for path in named.values()),
        "folders directly in checker": sum((p / "__init__.py").exists() for p in (ROOT / "checker").iterdir()),
        "rooms": len({room_of(name) for name in named}),
        "imports among rooms": sum(here != there for here, there in rooms),
        "longest chain of imports": len(longest_chain(graph)),
        "base names that stand more than once": sum(count > 1 for count in names.values()),
        "functions with more than 8 parameters": sum(parameters(each) > 8 for each in functions),
        "pages": len(pages),
        "commands": commands(),
    }


def main() -> None:
    measured = figures()
    for name, most in BOUNDS.items():
        print(f"{name:40} {measured[name]:4} of at most {most:4}{'' if measured[name] <= most else '  TOO MANY'}")
    print("\na longest chain of imports:")
    print("\n".join(f"  {name}" for name in longest_chain(imports())))


if __name__ == "__main__":
    main()
