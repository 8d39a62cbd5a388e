"""Functions and modules that a model's methods must not use.

Their results are random, or their effects are hidden or outside the model.
"""

from __future__ import annotations

import builtins
import operator
import sys
from functools import singledispatchmethod
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, Final

CHANCE: Final = "{} differs from run to run; use a parameter of the action, whose values are all explored"
OUTSIDE: Final = "{} reads or writes something outside the model; use a setting or a variable of the state"
BESIDE: Final = "{} runs outside the step; write a separate action, or call it here"
HIDDEN: Final = "{} hides the operation from the language; write it out"
BY_TYPE: Final = "{} dispatches on the Python type of its argument; write one function for each case"
CONTEXT: Final = "{} survives the step; keep it in a variable of the state"
ITERATOR: Final = "{} is an iterator, whose position survives the step; create it in the function that uses it"

MODULES: Final = {
    **dict.fromkeys(("random", "_random", "numpy.random", "secrets", "time", "uuid", "datetime"), CHANCE),
    **dict.fromkeys(("os", "posix", "nt", "io", "_io", "pathlib", "tempfile", "glob", "shutil", "socket"), OUTSIDE),
    **dict.fromkeys(("subprocess", "_posixsubprocess", "_socket", "urllib", "http"), OUTSIDE),
    **dict.fromkeys(("threading", "_thread", "multiprocessing", "concurrent", "asyncio", "_asyncio"), BESIDE),
    "importlib": HIDDEN,
    **dict.fromkeys(("contextvars", "_contextvars", "shelve", "sqlite3", "queue"), CONTEXT),
}
"""For each module, the error text for a call of one of its functions."""
VALUES: Final = frozenset({"datetime", "pathlib", "uuid", "urllib", "http"})
"""A method may name objects of these modules, such as a constant date, but not call their functions or methods."""
POSIX: Final = frozenset({"urandom", "getrandom", "times", "getpid"})

_NAMED: Final = [
    *((getattr(builtins, n), HIDDEN) for n in ("eval", "exec", "compile", "globals", "locals", "vars", "__import__")),
    *((getattr(builtins, n), OUTSIDE) for n in ("open", "input")),
]
_NAMED.append((sys.modules, HIDDEN))
_IS: Final = [getattr(operator, n) for n in ("is_", "is_not", "is_none", "is_not_none") if hasattr(operator, n)]
_BY_IDENTITY: Final = {
    **{id(x): said for x, said in _NAMED},
    **{id(x): "operator.{} compares by `is`; write ==" for x in _IS},
}


def wrong_with(value: Any, name: str) -> str | None:
    """The error text and remedy for a value that a method names; None if the method may use the value."""
    said = _BY_IDENTITY.get(id(value))
    if said is not None:
        return said.format(getattr(value, "__name__", name))
    if _is_written_to(value):
        return None
    if isinstance(value, ModuleType):
        return CHANCE.format(name) if _of(value.__name__) is CHANCE else None
    if isinstance(value, FunctionType | type | BuiltinMethodType | MethodType):
        return wrong_to_call(value, name)
    if isinstance(value, singledispatchmethod):
        return BY_TYPE.format(value.func.__name__)
    if hasattr(type(value), "__next__"):
        return ITERATOR.format(name)
    said = _of(type(value).__module__)
    return said.format(name) if said and type(value).__module__ not in VALUES else None


def wrong_to_call(function: Any, name: str = "") -> str | None:
    """The error text and remedy for a call of a function, a method or a class; None if the call is allowed."""
    if _is_written_to(getattr(function, "__self__", None)):
        return None
    said = _BY_IDENTITY.get(id(function)) or _of(_module(function))
    if type(getattr(function, "__self__", None)).__module__ == "functools":
        said = CONTEXT  # such as `cache_info`, which tells how often a cache was asked
    name = name or getattr(function, "__name__", "a function")
    if said is OUTSIDE and name in POSIX:
        said = CHANCE
    if isinstance(function, FunctionType) and {"dispatch", "registry"} <= vars(function).keys():
        said = BY_TYPE
    return said and said.format(getattr(function, "__name__", name) if said is HIDDEN else name)


def _is_written_to(value: Any) -> bool:
    """True for standard output and standard error: a method may write to them, because nothing comes back."""
    return value is not None and any(value is x for x in (sys.stdout, sys.stderr))


def _module(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        return getattr(function, "__module__", None) or ""
    return owner.__module__ if isinstance(owner, type) else type(owner).__module__


def _of(module: str) -> str | None:
    """The error text in `MODULES` for a module, or for the nearest package that contains the module; else None."""
    while module:
        if module in MODULES:
            return MODULES[module]
        module = module.rpartition(".")[0]
    return None
