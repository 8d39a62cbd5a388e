"""Inserts questions into a model's code, at the places where Python alone would accept a mistake (`is` on the state).

A *question* is a function that checks values at one place of the code. It returns the value with which the code goes
on, or raises `ModelError`. The names of questions begin with `@`, so these names clash with no name in the code. Each
question is asked whenever the code at its place runs. Many questions check values only while a model's method runs.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import operator
import sys
from collections.abc import Callable, Set
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from isrcheck.model.language.errors import OfTheState, TheState, is_running, mistake, modellers_frame, running
from isrcheck.model.language.scalarset_members import BrokerId, NoBroker
from isrcheck.model.language.state_types import METHODS

VALUES: Final = METHODS | frozenset(["count", "implies", "fresh", "used_up", "when", "for_all", "minimum", "maximum"])
"""The functions and methods that only return a value. A statement that drops the value is a mistake."""
TYPED: Final = ("isinstance", "type", "id", "callable", "hash", "issubclass")
"""Functions that see the Python object and not the model's value. Their calls and uses as arguments are checked."""
CONCEALED: Final = ("__class__", "__dict__")
UNASKED: Final = frozenset({"super", "print"})
"""The functions whose calls are not checked."""
KEPT: Final = "keep it in a variable of the state"


def instrumented(text: str) -> ast.Module:
    """The syntax tree of a file, with questions inserted."""
    tree = ast.parse(text)
    _Instrumentation().visit(tree)
    return tree


class _Instrumentation(ast.NodeTransformer):
    read: Set[str] = frozenset()
    """The names that the outermost enclosing function reads."""
    within: bool = False
    """True if the innermost enclosing scope is a function, not a class or the file."""

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
        """An operand of a comparison, with a question if the operand is an `&` or an `|`.

        The reason: Python reads `s.n == 1 & self.flag` as `s.n == (1 & self.flag)`.
        """
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            return _asks("@and" if isinstance(node.op, ast.BitAnd) else "@or", node.left, node.right)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        decides = isinstance(node.op, ast.Not)
        node.operand = self._deciding(node.operand) if decides else self.visit(node.operand)
        if isinstance(node.op, ast.Invert):
            node.operand = _asks("@inverted", node.operand)
        return node

    def visit_If(self, node: Any) -> Any:
        test = self._deciding(node.test)
        self.generic_visit(node)
        node.test = test
        return node

    visit_IfExp = visit_While = visit_If  # noqa: N815 - names of ast

    def visit_For(self, node: Any) -> Any:
        self.generic_visit(node)
        node.iter = _asks("@ordered", node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.ifs = [self._deciding(x) for x in node.ifs]
        node.iter, node.target = _asks("@ordered", self.visit(node.iter)), self.visit(node.target)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _asks("@ordered", node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        outer = self.read, self.within
        if not self.within:  # a name that an inner function reads is read, too
            found = list(ast.walk(node))
            read = {x.id for x in found if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Store)}
            self.read = read.union(*(x.names for x in found if isinstance(x, ast.Global | ast.Nonlocal)))
        self.within = True
        self.generic_visit(node)
        self.read, self.within = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        outer, self.within = self.within, False
        self.generic_visit(node)
        self.within = outer
        return node

    def visit_Assign(self, node: Any) -> Any:
        """Inserts a question into an assignment to a local name that nothing reads, unless the name begins with `_`."""
        self.generic_visit(node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [x.id for x in targets if isinstance(x, ast.Name) and x.id not in self.read and x.id[0] != "_"]
        if names and self.within and node.value is not None:
            node.value = _asks("@unread", node.value, ast.copy_location(ast.Constant(names[0]), node))
        return node

    visit_AugAssign = visit_AnnAssign = visit_Assign  # noqa: N815 - names of ast

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self._deciding(x) for x in node.values]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if isinstance(node.test, ast.Tuple) and node.test.elts:
            return ast.copy_location(ast.Expr(_asks("@certain", node.test)), node)
        self.visit_If(node)
        return node

    def _deciding(self, node: ast.expr) -> ast.expr:
        """The condition of a branch. A mere attribute or a generator gets a question.

        The reason: a generator is always true, and so is a method that is not called (`if self.leads` without `()`).
        """
        bare = isinstance(node, ast.Attribute | ast.GeneratorExp)
        node = self.visit(node)
        return _asks("@decided", node) if bare else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        written = node.value
        if isinstance(written, ast.Constant | ast.Yield | ast.YieldFrom | ast.Await):
            self.generic_visit(node)
            return node
        called = written.func if isinstance(written, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", None))
        self.generic_visit(node)
        node.value = _asks("@used" if name is None or name in VALUES else "@run", node.value)
        if isinstance(called, ast.Name) and name == "print":
            looks = [ast.copy_location(ast.Expr(_asks("@looks", _number(x, node))), node) for x in (1, -1)]
            return ast.copy_location(ast.Try([looks[0], node], [], [], [looks[1]]), node)
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        self.generic_visit(node)
        node.subject = _asks("@matched", node.subject)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        by_name = node.func.id if isinstance(node.func, ast.Name) else ""
        self.generic_visit(node)
        if by_name not in TYPED:  # in `isinstance(x, type)` the argument stays what it is
            node.args = [_asks("@called", x) if isinstance(x, ast.Name) and x.id in TYPED else x for x in node.args]
        if by_name not in UNASKED:
            node.func = _asks("@called", node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr in CONCEALED:
            node.value = _asks("@typed", node.value)
        elif node.attr.startswith("_") and not node.attr.endswith("__"):
            node.value = _asks("@own", node.value, ast.copy_location(ast.Constant(node.attr), node))
        return node

    def visit_Import(self, node: ast.Import) -> Any:
        return self._imports(node, [x.name for x in node.names])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return self._imports(node, ["." * node.level + (node.module or "")])

    def _imports(self, node: ast.stmt, modules: list[str]) -> Any:
        """A question before an import inside a function."""
        names = [ast.copy_location(ast.Constant(name), node) for name in modules]
        return [ast.copy_location(ast.Expr(_asks("@imported", *names)), node), node] if self.within else node

    def visit_Global(self, node: ast.Global) -> list[ast.stmt]:
        names = [ast.copy_location(ast.Constant(name), node) for name in node.names]
        return [node, ast.copy_location(ast.Expr(_asks("@global", *names)), node)]


def _asks(name: str, first: ast.expr, *others: ast.expr) -> ast.expr:
    call = ast.Call(ast.copy_location(ast.Name(name, ast.Load()), first), [first, *others], [])
    return ast.copy_location(call, first)


def _number(value: int, place: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(value), place)


# --- the questions --------------------------------------------------------------------------------------------------


def is_(a: Any, b: Any) -> bool:
    for one, other in ((a, b), (b, a)):
        if type(other) is object:  # a modeller's sentinel, never a value of the state
            continue
        if isinstance(one, OfTheState) and (other is not None or one._may_be_none()):
            remedy = "write .is_none, or == none" if other is None or isinstance(other, NoBroker) else "write =="
            raise mistake(f"`is` applied to the state{one._shown()}", remedy)
        if isinstance(one, NoBroker) and other is None:
            raise mistake("an optional parameter is never None", "write `is none`, or == none")
    return a is b


def chained(value: Any) -> None:
    raise mistake("`is` in a chained comparison", "write one comparison at a time")


def _combined(a: Any, b: Any, sign: str) -> None:
    if is_running() and isinstance(a, int) and isinstance(b, int) and isinstance(a, bool) != isinstance(b, bool):
        raise mistake(f"{a} {sign} {b} is evaluated before the comparison", f"write (...) {sign} (...)")


def and_(a: Any, b: Any) -> Any:
    _combined(a, b, "&")
    return a & b


def or_(a: Any, b: Any) -> Any:
    _combined(a, b, "|")
    return a | b


def inverted(value: Any) -> Any:
    if is_running() and isinstance(value, bool):
        raise mistake(f"~ of the Python bool {value} is {~int(value)}", "write `not` for conditions on parameters only")
    return value


def run(value: Any) -> Any:
    """Checks and returns the value of a statement whose value the code drops, such as a call.

    Only a result that has yet to run, such as a generator, is a mistake. Any other call may have done its work: for
    example, it may have called `require`.
    """
    if is_running() and (
        inspect.isgenerator(value) or inspect.isawaitable(value) or isinstance(value, map | filter | zip)
    ):
        raise mistake(f"a {type(value).__name__} that is never run", "write a loop")
    return value


def used(value: Any) -> Any:
    if not is_running():
        return value
    for x in parts(value):
        if isinstance(x, OfTheState):
            who = modellers_frame().f_code.co_name
            what = f"{who} computes a value of the state but does not use it{x._shown()}"
            raise mistake(what, "return it, assign it, or require it")
    if inspect.isroutine(value):
        raise mistake(f"the method {value.__name__} is named but not called", "call it")
    return run(value)


def matched(value: Any) -> Any:
    for x in parts(value):
        if isinstance(x, OfTheState):
            raise mistake(
                f"`match` applied to the state{x._shown()}", "write when(condition, a, b), or an action for each case"
            )
    return value


def parts(value: Any, depth: int = 4) -> list[Any]:
    """A value and, down to `depth` levels, the values inside lists, tuples, dicts and attributes of objects."""
    found = [value]
    if depth == 0 or isinstance(value, OfTheState | TheState | type | FunctionType):
        return found
    if isinstance(value, list | tuple):
        inside = list(value)
    else:
        fields = value if isinstance(value, dict) else getattr(value, "__dict__", None)
        inside = list(fields.values()) if isinstance(fields, dict) else []
    return found + [x for one in inside for x in parts(one, depth - 1)]


def typed(value: Any) -> Any:
    if isinstance(value, OfTheState | TheState):
        shown = value._shown() if isinstance(value, OfTheState) else ""
        raise mistake(f"the Python type of a state value is tested{shown}", "its domain says which values it can have")
    return value


def own(value: Any, name: str) -> Any:
    if isinstance(value, TheState) and name.startswith("_"):
        raise mistake(f"s.{name} is not a variable of the model", "read and assign variables")
    return value


def decided(value: Any) -> Any:
    method = isinstance(value, MethodType | BuiltinMethodType) and not isinstance(value.__self__, ModuleType)
    if method and is_running():
        raise mistake(f"the method {value.__name__} is used as a condition but not called", "call it")
    if is_running() and inspect.isgenerator(value):
        raise mistake("a generator is used as a condition, and is always true", "write any(...) or all(...)")
    return value


def ordered(values: Any) -> Any:
    """The values that a loop goes over. A set is sorted if its order may differ between processes."""
    if type(values) in (set, frozenset) and not all(isinstance(x, int | BrokerId) for x in values):
        return sorted(values, key=lambda x: (type(x).__name__, repr(x)))
    return values


def unread(value: Any, name: str) -> Any:
    if is_running():
        raise mistake(f"{name} is assigned but never read", f"to change the state write s.{name} = ...")
    return value


def certain(value: Any) -> None:
    raise mistake("an assert of a tuple is always true", "remove the parentheses")


def looks(more: int) -> None:
    running.looks += more


def global_(*names: str) -> None:
    if is_running():
        raise mistake(f"global {', '.join(names)} survives the step", KEPT)


def imported(*modules: str) -> None:
    """Refuses the import of a user's module inside a method: the module may be older than its file."""
    for name in modules if is_running() else ():
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == "isrcheck":
            continue
        file = modellers_frame().f_code.co_filename if not top else _file_of(top)
        if "/site-packages/" not in file and "/dist-packages/" not in file:
            raise mistake(f"{name} is imported while a method runs", "import it at the top of the file")


def _file_of(module: str) -> str:
    """The file of a top-level module; empty if there is no such module."""
    spec = getattr(sys.modules.get(module), "__spec__", None) or importlib.util.find_spec(module)
    return (spec and spec.origin) or ""


# --- functions of Python that bypass the language -------------------------------------------------------------------


def _of_typed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, *others: function(typed(value), *others)


def _of_others(function: Callable[..., Any]) -> Callable[..., Any]:
    """A guard around a function such as `object.__setattr__`, which would bypass the checks of the state's class."""

    def asked(value: Any, *others: Any) -> Any:
        if isinstance(value, OfTheState | TheState):
            raise mistake(f"object.{function.__name__} bypasses the language", "write s.name = value")
        return function(value, *others)

    return asked


def _of_ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values, **named: function(*map(ordered, values), **named)


def _getattr(value: Any, name: str, *default: Any) -> Any:
    return getattr(typed(value) if name in CONCEALED else own(value, name), name, *default)


def _attrgetter(*names: str) -> Any:
    if any(part in CONCEALED or part.startswith("_") for name in names for part in name.split(".")):
        raise mistake(f"attrgetter of {', '.join(names)} is not checked", "write it out")
    return operator.attrgetter(*names)


def _hash(value: Any) -> int:
    if isinstance(value, OfTheState | int | BrokerId | NoBroker):
        return hash(value)
    raise mistake("hash(...) may differ from run to run", "compare with ==")


def _id(value: Any) -> int:
    typed(value)
    raise mistake("id(...) may differ from run to run", "compare with ==")


GUARDED: Final[dict[int, Callable[..., Any]]] = {
    **{id(f): _of_typed(f) for f in (isinstance, callable)},
    id(type): _of_typed(type),
    **{id(f): _of_ordered(f) for f in (list, tuple, iter, enumerate, zip, map, filter, functools.reduce)},
    **{id(f): _of_others(f) for f in (object.__setattr__, object.__delattr__, object.__getattribute__)},
    id(getattr): _getattr,
    id(operator.attrgetter): _attrgetter,
    id(hash): _hash,
    id(id): _id,
}
"""Maps the `id` of a Python function to the function that is called instead while a method of a model runs."""

QUESTIONS: Final = {
    "@is": is_,
    "@is_not": lambda a, b: not is_(a, b),
    "@chained": chained,
    "@and": and_,
    "@or": or_,
    "@inverted": inverted,
    "@run": run,
    "@used": used,
    "@matched": matched,
    "@typed": typed,
    "@own": own,
    "@decided": decided,
    "@ordered": ordered,
    "@unread": unread,
    "@certain": certain,
    "@looks": looks,
    "@global": global_,
    "@imported": imported,
}
