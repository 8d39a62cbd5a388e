"""How a method of a model is run, and what Python would let pass in it.

Python asks no value before it compares by `is`, matches a pattern or throws a result away. So the functions of a
modeller get other code before they first run: the same, but that these questions are put to the language. Found are
they by name, from the method that runs: what its code names is looked at, too. Models that ship are left as they are,
for speed; a test puts them through the same.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from isrcheck.model.language.brokers import NoBroker
from isrcheck.model.language.errors import ModelError, OfTheState, mistake, mistake_in, modellers_frame, running

SHIPPED: Final = "isrcheck."
"""How the names of modules begin that ship."""
BY_CHANCE: Final = frozenset({"random", "secrets", "time", "uuid", "datetime"})
"""Modules by which a method would do something else each time."""
VALUES: Final = frozenset(
    {"including", "excluding", "has", "at", "appended", "truncated", "without_first", "every", "some", "count"}
    | {"implies", "when", "for_all", "minimum", "maximum"}
)
"""What gives a value and does nothing else."""
OUTLIVES: Final = "keep it in a variable of the state"

FUNCTIONS: Final = (FunctionType, staticmethod, classmethod, property)

_reached: dict[tuple[FunctionType, type], list[FunctionType]] = {}
"""The functions of a modeller that a method of a model runs or names, itself among them."""


def heeded(method: Callable[..., Any], *arguments: Any) -> Any:
    """What a method of a model gives; a mistake made in it is raised even if the method has caught it."""
    _functions(method, getattr(method, "__self__", arguments[0]))
    made: list[ModelError] = []
    outer, running.made = running.made, made
    try:
        answer = method(*arguments)
        if made:
            raise made[0]
        return answer
    finally:
        running.made = outer
        if made and outer is not None:
            outer.extend(made)


# --- what outlives a step -------------------------------------------------------------------------------------------


def outliving(method: Callable[..., Any], model: Any) -> dict[str, Any]:
    """The shape of what a method can change besides the state: attributes of the model, globals, what it encloses."""
    found: dict[str, Any] = {}
    for one in _functions(method, model):
        names = {name for code in _codes(one.__code__) for name in code.co_names}
        found |= {name: _shape(one.__globals__[name]) for name in sorted(names & one.__globals__.keys())}
        found |= {name: _shape(x) for name, x in zip(one.__code__.co_freevars, _enclosed(one), strict=True)}
        found[f"a default of {one.__name__}"] = _shape([one.__defaults__, one.__kwdefaults__])
    for cls in type(model).__mro__:
        if is_a_modellers(cls.__module__, ""):
            found |= {f"{cls.__name__}.{name}": _shape(x) for name, x in vars(cls).items()}
    own = {n: x for n, x in vars(model).items() if not hasattr(getattr(type(model), n, None), "func")}
    return found | {f"self.{name}": _shape(x) for name, x in own.items()}


def require_unchanged(method: Callable[..., Any], what: str, before: dict[str, Any], model: Any) -> None:
    """Raises `ModelError` where a method has changed something besides the state."""
    after = outliving(method, model)
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            raise mistake_in(method, f"{what} changes {name}, which outlives the step", OUTLIVES)


def _shape(value: Any, depth: int = 4) -> Any:
    """What differs after a change of a container, or of an object of a modeller's class."""
    match value:
        case _ if depth == 0:
            return id(value)
        case list() | tuple() | deque():
            return [_shape(x, depth - 1) for x in value]
        case dict():
            return [(id(key), _shape(x, depth - 1)) for key, x in value.items()]
        case set():
            return sorted(map(id, value))
        case FunctionType() | type() | ModuleType():
            return id(value)
        case _ if hasattr(value, "__dict__") and is_a_modellers(type(value).__module__):
            return _shape(vars(value), depth - 1)
    return id(value)


# --- which functions ------------------------------------------------------------------------------------------------


def _functions(method: Callable[..., Any], model: Any) -> list[FunctionType]:
    """A modeller's functions that a method runs or names; when they are first found, they are given code that asks."""
    key: tuple[Any, type] = getattr(method, "__func__", method), type(model)
    if key not in _reached:
        found: dict[FunctionType, None] = {}
        _reach(key[0], key[1], found)
        for function in found:
            _rewrite(function)
        _reached[key] = list(found)
    return _reached[key]


def _reach(value: Any, model: type, found: dict[FunctionType, None], depth: int = 4) -> None:
    """Adds the functions that a value is, holds or names; `depth` is how far containers are looked into."""
    match value:
        case FunctionType():
            if value not in found and is_a_modellers(value.__globals__.get("__name__", ""), value.__code__.co_filename):
                found[value] = None
                for named in _named(value, model):
                    _reach(named, model, found)
        case MethodType() | staticmethod() | classmethod():
            _reach(value.__func__, model, found)
        case property():
            _reach(value.fget, model, found)
        case list() | tuple() if depth > 0:
            for x in value:
                _reach(x, model, found, depth - 1)
        case dict():
            _reach(list(value.values()), model, found, depth)
        case type():
            classes = [c for c in value.__mro__ if is_a_modellers(c.__module__) and not hasattr(c, "declared_settings")]
            members = [x for c in classes for x in vars(c).values() if isinstance(x, FUNCTIONS)]
            _reach([x for x in members if x not in found], model, found)
        case _ if isinstance(getattr(value, "func", None), FunctionType):  # a partial function, a cached property
            _reach(value.func, model, found)
        case _ if is_a_modellers(type(value).__module__):
            _reach(type(value), model, found)


@cache
def _of_python() -> tuple[str, ...]:
    return tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@cache
def is_a_modellers(module: str, file: str = "") -> bool:
    """Whether a module is neither shipped nor Python's own nor installed."""
    if module.startswith(SHIPPED) or module in sys.builtin_module_names:
        return False
    if not file:
        file = getattr(sys.modules.get(module), "__file__", None) or ""  # none of what is run from a user's file
    return not file.startswith(_of_python())


def _named(function: FunctionType, model: type) -> Iterator[Any]:
    """What the code of a function names: globals, members of modules and of the model, and what it encloses."""
    globals_, attributes = function.__globals__, set[str]()
    for code in _codes(function.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                line = instruction.positions.lineno if instruction.positions else None
                found = globals_.get(instruction.argval)
                _require_no_chance(found, instruction.argval, f"{Path(code.co_filename).name}:{line}")
                if not isinstance(found, ModuleType):
                    yield found
        attributes.update(code.co_names)
    modules = [x for name in attributes if isinstance(x := globals_.get(name), ModuleType)]
    for name in sorted(attributes):
        yield from (vars(c).get(name) for c in model.__mro__)
        for module in modules:
            yield vars(module).get(name)
    yield function.__defaults__
    yield from _enclosed(function)


def _enclosed(function: FunctionType) -> list[Any]:
    """The values of the free variables of a function, None for one that has no value yet."""
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(None)
    return found


def _require_no_chance(value: Any, name: str, where: str) -> None:
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    if module in BY_CHANCE:
        raise ModelError(
            f"{where}: {name} gives something else each time; let a parameter of the action choose: all are explored"
        )


# --- their code -----------------------------------------------------------------------------------------------------


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _rewrite(function: FunctionType) -> None:
    """Gives a function code that asks, unless its code is no longer what its file says."""
    file, old = function.__code__.co_filename, function.__code__
    text = "".join(linecache.getlines(file, function.__globals__))
    if not text and any(_compares_by_is(code) for code in _codes(old)):
        raise mistake_in(function, "`is` in a function whose source cannot be read", "keep the model in a file")
    try:
        plain, asking = _compiled(text, file)
    except SyntaxError:
        return
    for one, other in zip(plain, asking, strict=True):
        if _is_the_same(one, old) and other.co_freevars == old.co_freevars:
            function.__globals__.update(ASKED)
            function.__code__ = other
            return


def _compares_by_is(code: CodeType) -> bool:
    return any(x.opname == "IS_OP" or x.opname.endswith(("IF_NONE", "IF_NOT_NONE")) for x in dis.get_instructions(code))


def _is_the_same(a: CodeType, b: CodeType) -> bool:
    return (
        (a.co_qualname, a.co_firstlineno, a.co_code) == (b.co_qualname, b.co_firstlineno, b.co_code)
        and a.co_names == b.co_names
        and list(a.co_positions()) == list(b.co_positions())
    )


@lru_cache(maxsize=16)
def _compiled(text: str, file: str) -> tuple[list[CodeType], list[CodeType]]:
    """The code of every function of a file: as it is written, and asking; both in the same order."""
    plain = compile(text, file, "exec", dont_inherit=True)
    tree = ast.fix_missing_locations(_Asking().visit(ast.parse(text)))
    return list(_codes(plain)), list(_codes(compile(tree, file, "exec", dont_inherit=True)))


class _Asking(ast.NodeTransformer):
    """Puts questions to the language where Python would put none."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if not any(isinstance(x, ast.Is | ast.IsNot) for x in node.ops):
            node.left = self._part(node.left)
            node.comparators = [self._part(x) for x in node.comparators]
            return node
        if len(node.ops) > 1:
            return _asks("@chained", node)
        return _asks("@is" if isinstance(node.ops[0], ast.Is) else "@is_not", node.left, node.comparators[0])

    def _part(self, node: ast.expr) -> ast.expr:
        """An operand of a comparison: `s.n == 1 & self.flag` compares with `1 & self.flag`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            return _asks("@and" if isinstance(node.op, ast.BitAnd) else "@or", node.left, node.right)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            node.operand = _asks("@inverted", node.operand)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        match node.value:
            case ast.Constant() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return node
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name not in VALUES:
                node.value = _asks("@run", node.value)
            case _:
                node.value = _asks("@used", node.value)
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        self.generic_visit(node)
        node.subject = _asks("@matched", node.subject)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type", "id", "callable") and node.args:
            node.args[0] = _asks("@typed", node.args[0])
        return node

    def visit_Global(self, node: ast.Global) -> list[ast.stmt]:
        names = [ast.copy_location(ast.Constant(name), node) for name in node.names]
        return [node, ast.copy_location(ast.Expr(_asks("@global", *names)), node)]


def _asks(name: str, first: ast.expr, *others: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(name, ast.Load()), [first, *others], [])
    return ast.copy_location(call, first)


# --- the questions --------------------------------------------------------------------------------------------------


def _is(a: Any, b: Any) -> bool:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, OfTheState) and (other is not None or one._may_be_none()):
            remedy = "write .is_none, or == none" if other is None or isinstance(other, NoBroker) else "write =="
            raise mistake(f"`is` on the state{one._shown()}", remedy)
        if isinstance(one, NoBroker) and other is None:
            raise mistake("an optional parameter is never None", "write `is none`, or == none")
    return a is b


def _chained(value: Any) -> None:
    raise mistake("`is` in a chain of comparisons", "write one comparison at a time")


def _combined(a: Any, b: Any, sign: str) -> None:
    if isinstance(a, int) and isinstance(b, int) and isinstance(a, bool) != isinstance(b, bool):
        raise mistake(f"{a} {sign} {b} is computed before it is compared", f"write (...) {sign} (...)")


def _and(a: Any, b: Any) -> Any:
    _combined(a, b, "&")
    return a & b


def _or(a: Any, b: Any) -> Any:
    _combined(a, b, "|")
    return a | b


def _inverted(value: Any) -> Any:
    if isinstance(value, bool):
        raise mistake(f"~ of the Python bool {value} is {~value}", "write `not` for what parameters decide")
    return value


def _run(value: Any) -> Any:
    """What a statement calls: a function of the modeller may require something and give a value back as well."""
    if inspect.isgenerator(value) or inspect.isawaitable(value) or isinstance(value, map | filter):
        raise mistake(f"a {type(value).__name__} that nobody runs", "write a loop")
    return value


def _used(value: Any) -> Any:
    if isinstance(value, OfTheState):
        who = modellers_frame().f_code.co_name
        what = f"{who} computes a value of the state and does not use it{value._shown()}"
        raise mistake(what, "return it, assign it, or require it")
    if inspect.isroutine(value):
        raise mistake(f"the method {value.__name__} is named and not called", "call it")
    return _run(value)


def _matched(value: Any) -> Any:
    for x in value if isinstance(value, list | tuple) else [value]:
        if isinstance(x, OfTheState):
            raise mistake(
                f"`match` on the state{x._shown()}", "write when(condition, a, b), or an action for each case"
            )
    return value


def _typed(value: Any) -> Any:
    if isinstance(value, OfTheState):
        raise mistake(f"the Python type of a value of the state{value._shown()}", "its domain says what it can be")
    return value


def _global(*names: str) -> None:
    if running.made is not None:
        raise mistake(f"global {', '.join(names)} outlives the step", OUTLIVES)


ASKED: Final = {
    "@is": _is,
    "@is_not": lambda a, b: not _is(a, b),
    "@chained": _chained,
    "@and": _and,
    "@or": _or,
    "@inverted": _inverted,
    "@run": _run,
    "@used": _used,
    "@matched": _matched,
    "@typed": _typed,
    "@global": _global,
}
