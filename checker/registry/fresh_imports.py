"""Imports of a user's files that are read anew, from their text, however often a process imports them."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from isrcheck.model.semantics.method_calls import SHIPPED, is_a_users_file


@contextmanager
def imports_read_anew() -> Iterator[list[ModuleType]]:
    """While the body of the `with` statement runs, each import of a user's module runs the module's file again.

    The list has the modules that were imported, after the `with` statement.

    Afterwards, the program has the modules that it had before. Two models (or two versions of a model) may each import
    a file of the same name. A program may also have imported such a file itself, and keeps what it imported.
    """
    kept = _taken_out()
    finder = _FreshFinder()
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()  # else a file that was just created beside the model may not be found
    imported: list[ModuleType] = []
    try:
        yield imported
    finally:
        sys.meta_path.remove(finder)
        imported += _taken_out().values()
        sys.modules.update(kept)


def _taken_out() -> dict[str, ModuleType]:
    """Removes the user's modules from `sys.modules`, and returns them."""
    return {name: sys.modules.pop(name) for name, module in list(sys.modules.items()) if _is_users(name, module)}


def _is_users(name: str, module: ModuleType) -> bool:
    """Whether a module comes from a user's Python file, or is a folder of such files. Installed modules do not."""
    if name == "__main__" or f"{name}.".startswith(SHIPPED):
        return False
    file = getattr(module, "__file__", None)
    files = [file] if file else list(getattr(module, "__path__", ()))
    readable = not file or file.endswith(".py")  # a compiled extension may refuse to be loaded twice
    return readable and bool(files) and all(is_a_users_file(name, str(x)) for x in files)


class _FreshFinder:
    """Finds modules as Python does, but a user's file is compiled even if there is cached bytecode."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((found for finder in others if (found := finder.find_spec(name, path, target)) is not None), None)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            file = spec.loader.path
            if not f"{name}.".startswith(SHIPPED) and is_a_users_file(name, file):
                spec.loader, spec.cached = FromSource(name, file), None
        return spec


class FromSource(SourceFileLoader):
    """Compiles a file whenever it is loaded, and writes no bytecode.

    Python's own loader misses a change if the file keeps its length and is saved again within the same second. It would
    use the cached bytecode, and the answer would be about the earlier text of the model.
    """

    def get_code(self, fullname: str) -> CodeType:
        linecache.checkcache(self.path)
        return self.source_to_code(self.get_data(self.path), self.path)
