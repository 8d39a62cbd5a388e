"""Runs methods of a model with checks for mistakes that Python alone would accept.

Before a modeller's function first runs, *questions* are inserted into its code: checks of values (see `instrumented`).
From then on the function *asks*. If a file has a method of a model, or something that such a method names, all
functions of the file ask. Any other function, even of an installed package, asks from the first time that a method
calls it. Python's own library never asks. Shipped models do not ask either, because questions take time. Instead, a
test checks shipped models in the same way.

Redirects a model file's prints to standard error, so that standard output has only isrcheck's own output.
"""

from __future__ import annotations

import dis
import linecache
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from isrcheck.model.language.errors import ModelError, OfTheState, caller, mistake_in, running
from isrcheck.model.semantics.forbidden_calls import wrong_to_call, wrong_with
from isrcheck.model.semantics.instrumentation import GUARDED, QUESTIONS, instrumented


def print_to_stderr(*values: object, file: Any = None, **options: Any) -> None:
    """Python's `print`, with standard error as the default `file`."""
    print(*values, file=sys.stderr if file is None else file, **options)


SHIPPED: Final = "isrcheck."
"""Prefix of the names of shipped modules."""
DATACLASS: Final = "__create_fn__"
"""Prefix of the qualified names of functions that `dataclass` writes."""
FUNCTIONS: Final = (FunctionType, staticmethod, classmethod, property)

_reached: dict[tuple[FunctionType, type], list[FunctionType]] = {}
"""For a method and a model's class: the method itself, and the modeller's functions that the method runs or names."""
_settled: dict[int, CodeType] = {}
"""By address: code objects that have their questions already, and code objects that never get questions."""
_names: dict[int, tuple[CodeType, list[tuple[str, str, bool]]]] = {}
"""The names in a function's code, by the address of the code."""
_walked: dict[int, Any] = {}
"""By address: the globals of each file, and each class, whose functions have all got their questions."""
_built_upon: set[str] = set()
"""Installed packages that define classes of a model."""


def heeded(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The result of a method of a model. Raises the method's first mistake even if the method itself caught it."""
    functions_of(method, getattr(method, "__self__", arguments[0]))
    made: list[ModelError] = []
    outer, looks, running.made, running.looks = running.made, running.looks, made, 0
    try:
        answer = method(*arguments, **named)
        if made:
            raise made[0]
        return answer
    finally:
        running.made, running.looks = outer, looks
        if made and outer is not None:
            outer.extend(made)


# --- which functions ------------------------------------------------------------------------------------------------


def functions_of(method: Callable[..., Any], model: Any) -> list[FunctionType]:
    """The modeller's functions that a method runs or names. The first call adds questions to all of their files."""
    key: tuple[Any, type] = getattr(method, "__func__", method), type(model)
    if key not in _reached:
        _build_upon([*(cls.__module__ for cls in key[1].__mro__), getattr(key[0], "__module__", None) or ""])
        found: dict[FunctionType, None] = {}
        _reach(key[0], key[1], found)
        for function in found:
            _settle(function)
        for function in found:
            _walk(function.__globals__)
        _reached[key] = list(found)
    return _reached[key]


def _reach(
    value: Any, model: type, found: dict[FunctionType, None], depth: int = 4, named: tuple[str, str] | None = None
) -> None:
    """Adds to `found` each modeller's function that is the value, is inside the value, or is named by such a function.

    `depth` limits how deep containers are searched. If a function names the value, `named` has the `file:line` and the
    name.
    """
    what = wrong_with(value, named[1]) if named else None
    if named and what:
        raise ModelError(f"{named[0]}: {what}")
    match value:
        case FunctionType():
            if not is_a_modellers(value.__globals__.get("__name__", ""), value.__code__.co_filename):
                _settle(value)
            elif value not in found:
                found[value] = None
                for where, name, x in _named(value, model):
                    _reach(x, model, found, named=(where, name))
        case MethodType() | staticmethod() | classmethod():
            _reach(value.__func__, model, found, named=named)
        case property():
            for one in (value.fget, value.fset):
                _reach(one, model, found, named=named)
        case list() | tuple() | set() | frozenset() if depth > 0:
            for x in value:
                _reach(x, model, found, depth - 1, named)
        case dict():
            _reach(list(value.values()), model, found, depth, named)
        case type():
            _reach([x for x in _members(value) if x not in found], model, found, named=named)
        case _ if inside(value) is not value:
            _reach([inside(value), *getattr(value, "args", ())], model, found, depth - 1, named)
        case _ if is_a_modellers(type(value).__module__):
            _reach(type(value), model, found, named=named)


def inside(value: Any) -> Any:
    """The function inside a partial function, a cached function or a cached property; any other value unchanged."""
    if getattr(type(value), "__module__", None) != "functools":
        return value
    return getattr(value, "func", getattr(value, "__wrapped__", value))


def _members(cls: type) -> list[Any]:
    """The functions of a modeller's class and its bases. Models are skipped, because `_named` finds their functions."""
    classes = [c for c in cls.__mro__ if is_a_modellers(c.__module__) and not hasattr(c, "declared_settings")]
    return [x for c in classes for x in vars(c).values() if isinstance(x, FUNCTIONS) or inside(x) is not x]


def _build_upon(modules: list[str]) -> None:
    packages = {module.partition(".")[0] for module in modules if not module.startswith(SHIPPED)}
    if not packages <= _built_upon:
        _built_upon.update(packages)
        is_a_modellers.cache_clear()


@cache
def _paths(*names: str) -> tuple[str, ...]:
    return tuple(sysconfig.get_path(name) for name in names)


@cache
def is_a_modellers(module: str, file: str = "") -> bool:
    """True for a modeller's own module, or for an installed package that defines classes of a model."""
    if module.startswith(SHIPPED) or module in sys.builtin_module_names:
        return False
    if not file:
        file = getattr(sys.modules.get(module), "__file__", None) or ""  # empty for a module run from a user's file
    if _is_installed(file):
        return module.partition(".")[0] in _built_upon
    return not file.startswith((*_paths("stdlib", "platstdlib"), "<frozen "))


def is_a_users_file(module: str, file: str) -> bool:
    """True for a file that is neither installed nor part of isrcheck or of Python."""
    return not _is_installed(file) and is_a_modellers(module, file)


def _is_installed(file: str) -> bool:
    return "/site-packages/" in file or "/dist-packages/" in file or file.startswith(_paths("purelib", "platlib"))


def _is_pythons(module: str, file: str) -> bool:
    """True if a function is part of isrcheck or Python's own. Such a function gets no questions."""
    return module.startswith(SHIPPED) or not (_is_installed(file) or is_a_modellers(module, file))


def _named(function: FunctionType, model: type) -> Iterator[tuple[str, str, Any]]:
    """The values that a function's code names: globals, members of modules and of the model, free variables, defaults.

    Each value comes with its `file:line` and its name.
    """
    globals_, first = function.__globals__, function.__code__
    builtins = _builtins(globals_)
    modules: list[ModuleType] = []
    attributes: dict[str, str] = {}
    for name, where, is_global in _names_in(first):
        attributes.setdefault(name, where)
        if is_global and (name in globals_ or name in builtins):
            value = globals_[name] if name in globals_ else builtins[name]
            yield where, name, value
            if isinstance(value, ModuleType):
                modules.append(value)
    for name in sorted(attributes):
        for held in (*model.__mro__, *modules):
            if name in vars(held) and (isinstance(held, ModuleType) or not held.__module__.startswith(SHIPPED)):
                yield attributes[name], name, vars(held)[name]
    where = f"{Path(first.co_filename).name}:{first.co_firstlineno}"
    for name, value in zip(first.co_freevars, enclosed(function), strict=True):
        yield where, name, value
    yield where, "a default", [function.__defaults__, function.__kwdefaults__]


def _names_in(code: CodeType) -> list[tuple[str, str, bool]]:
    """The names in a function's code, each with its `file:line`, and with a flag that is true for a global name."""
    if id(code) not in _names:
        found: dict[tuple[str, bool], str] = {}
        file = Path(code.co_filename).name
        for one in codes(code):
            for x in dis.get_instructions(one):
                if x.opcode in dis.hasname and x.argval[0] != "@":  # a question, or a name that pytest gives
                    line = x.positions.lineno if x.positions else one.co_firstlineno
                    found.setdefault((x.argval, x.opname == "LOAD_GLOBAL"), f"{file}:{line}")
        _names[id(code)] = code, [(name, where, is_global) for (name, is_global), where in found.items()]
    return _names[id(code)][1]


def _builtins(globals_: dict[str, Any]) -> dict[str, Any]:
    held = globals_.get("__builtins__", {})
    return vars(held) if isinstance(held, ModuleType) else held


def enclosed(function: FunctionType) -> list[Any]:
    """The values of a function's free variables; None for a variable that has no value yet."""
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(None)
    return found


# --- their code -----------------------------------------------------------------------------------------------------


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


def called(function: Any) -> Any:
    """Checks a function that is about to be called, and inserts questions if the function still needs them.

    Returns the function, or its replacement in `GUARDED`. Raises `ModelError` if methods must not call the function.
    """
    if running.made is None:
        return function
    plain: Any = function.__func__ if type(function) is MethodType else function
    kind = type(plain)
    if kind is FunctionType:
        if id(plain.__code__) not in _settled:
            what = wrong_to_call(function)
            if what:
                raise ModelError(f"{caller()}: {what}")
            _settle(plain)
        if running.watched is not None:
            running.watched.meet(plain)
        return function
    if id(plain) in GUARDED:
        return GUARDED[id(plain)]
    if isinstance(plain, OfTheState):
        return function
    what = wrong_to_call(plain)
    if what:
        raise ModelError(f"{caller()}: {what}")
    if inside(plain) is not plain:
        called(inside(plain))
    elif kind is not BuiltinFunctionType:
        _settle_class(plain if isinstance(plain, type) else kind)
    return function


def _settle_class(cls: type) -> None:
    """Inserts questions into the functions of a class, because operators and properties run without a visible call."""
    if id(cls) not in _walked:
        _walked[id(cls)] = cls
        found: dict[FunctionType, None] = {}
        _reach(_members(cls), object, found, named=(caller(), cls.__name__))
        for function in (*found, *_installed_members(cls)):
            _settle(function)


def _installed_members(cls: type) -> list[FunctionType]:
    """The operators and properties of an installed class, which run without a visible call."""
    classes = [c for c in cls.__mro__ if _is_installed(getattr(sys.modules.get(c.__module__), "__file__", None) or "")]
    found = [_unwrapped(x) for c in classes for n, x in vars(c).items() if n[:2] == "__" or isinstance(x, property)]
    return [x for x in found if isinstance(x, FunctionType)]


def _walk(globals_: dict[str, Any]) -> None:
    """Inserts questions into every function of a file, because a method may run a function that it does not name."""
    if id(globals_) in _walked:
        return
    _walked[id(globals_)] = globals_
    for value in list(globals_.values()):
        held = list(vars(value).values()) if isinstance(value, type) and is_a_modellers(value.__module__) else [value]
        for x in held:
            one = _unwrapped(x)
            if isinstance(one, FunctionType) and one.__globals__ is globals_:
                _ask(one)


def _unwrapped(value: Any) -> Any:
    """The function inside a static method, class method, property or cached function; any other value unchanged."""
    for name in ("__func__", "fget", "__wrapped__"):
        held = getattr(value, name, None) if isinstance(value, FUNCTIONS) or inside(value) is not value else None
        if isinstance(held, FunctionType):
            return held
    return value


def _settle(function: FunctionType) -> None:
    """Inserts questions into a function; raises `ModelError` if a modeller's function needs but cannot get them."""
    code = function.__code__
    if id(code) in _settled:
        return
    module = function.__globals__.get("__name__", "")
    if not _is_pythons(module, code.co_filename) and not _ask(function):
        what = _unasked(code)
        if what and is_a_modellers(module, code.co_filename):
            raise mistake_in(function, *what)
    _settled.setdefault(id(function.__code__), function.__code__)


def _unasked(code: CodeType) -> tuple[str, str] | None:
    """The error text and remedy for code that needs questions but cannot get them; None for other code."""
    if code.co_qualname.startswith(DATACLASS):
        return None
    why, remedy = "whose source cannot be read", "keep the model in a file"
    if linecache.getlines(code.co_filename):
        why, remedy = (
            "that differs from its source file",
            ("pytest rewrites functions with `assert`; move it to another file"),
        )
    for instruction in (x for one in codes(code) for x in dis.get_instructions(one)):
        if instruction.opname == "IS_OP" or instruction.opname.endswith(("IF_NONE", "IF_NOT_NONE")):
            return f"`is` in a function {why}", remedy
        if instruction.opname.startswith("MATCH_"):
            return f"`match` in a function {why}", remedy
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in ("isinstance", "type", "callable"):
            return f"{instruction.argval} in a function {why}", remedy
    return None


def _ask(function: FunctionType) -> bool:
    """Replaces a function's code by code with questions; returns False if the code is not what its file says."""
    old = function.__code__
    if id(old) in _settled:
        return True
    text = "".join(linecache.getlines(old.co_filename, function.__globals__))
    for one, other in _compiled(text, old.co_filename).get((old.co_qualname, old.co_firstlineno), ()):
        if _is_the_same(one, old) and other.co_freevars == old.co_freevars:
            function.__globals__.update(ASKED)
            function.__code__ = other
            _settled.update((id(x), x) for x in codes(other))
            return True
    return False


def _is_the_same(a: Any, b: Any) -> bool:
    """Whether two code objects, or two constants of code objects, are the same. (`==` takes 1, 1.0 and True as equal.)

    Flags are not compared: a file may be compiled with the `from __future__` of another file.
    """
    match a, b:
        case CodeType(), CodeType():
            same = a.co_code == b.co_code and a.co_names == b.co_names and a.co_varnames == b.co_varnames
            return same and _is_the_same(a.co_consts, b.co_consts) and [*a.co_positions()] == [*b.co_positions()]
        case tuple(), tuple():
            return len(a) == len(b) and all(map(_is_the_same, a, b))
        case frozenset(), frozenset():
            return sorted(map(repr, a)) == sorted(map(repr, b))
    return type(a) is type(b) and repr(a) == repr(b)


@lru_cache(maxsize=16)
def _compiled(text: str, file: str) -> dict[tuple[str, int], list[tuple[CodeType, CodeType]]]:
    """For each function of a file (name and first line), pairs of its code as written and its code with questions."""
    try:
        with warnings.catch_warnings():  # the import of the file gave them already
            warnings.simplefilter("ignore")
            plain = compile(text, file, "exec", dont_inherit=True)
            other = compile(instrumented(text), file, "exec", dont_inherit=True)
    except SyntaxError:
        return {}
    found: dict[tuple[str, int], list[tuple[CodeType, CodeType]]] = {}
    for one, asks in zip(codes(plain), codes(other), strict=True):
        found.setdefault((one.co_qualname, one.co_firstlineno), []).append((one, asks))
    return found


ASKED: Final = {**QUESTIONS, "@called": called}
