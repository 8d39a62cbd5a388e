"""Edits of a model's source: an edit removes or weakens a condition of a guard, or drops an update.

An *edit* replaces one node of a function's syntax tree. Candidates for edits are found from the syntax tree
alone. A later comparison of the behaviours decides whether an edit weakens a guard
(`isrcheck.checker.changes.mutation.mutant_comparison`).
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

CHANGES: Final = frozenset({"append", "truncate", "remove_first", "add", "remove", "put", "take"})
"""Methods that change a part of the state."""
COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, ...]]] = {
    ast.Eq: ("<=", ">="),
    ast.Lt: ("<=",),
    ast.Gt: (">=",),
    ast.LtE: ("<= 1 +",),
    ast.GtE: (">= -1 +",),
}
"""The weaker forms of a comparison, such as `<=` for `<`. With `<= 1 +` the right side is increased by 1."""


@dataclass(frozen=True)
class Edit:
    """A change of one node of a syntax tree. `node` is the type of the node. `text` is its source.

    If the node is a local name, `text` is the definition of the name, for example `same_epoch = a == b`.
    `change` is "true" or "false" for a removed condition, a comparison for a weakened condition, "stay" for a dropped
    update, and "stay:name" if only the field `name` of the update is dropped.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    node: str
    change: str
    text: str
    weaker: str = ""
    """The source of the condition after the edit, if the edit weakens a condition."""

    @property
    def kind(self) -> str:
        """`removed` or `weakened` for a condition, `dropped` for an update."""
        if self.change in ("true", "false"):
            return "removed"
        return "dropped" if self.change.startswith("stay") else "weakened"

    @property
    def where(self) -> str:
        return f"{Path(self.file).name}:{self.line}"

    @property
    def words(self) -> str:
        """The difference that the edit makes, as a line of a table."""
        if self.kind == "weakened":
            return f"{self.weaker}, not {self.text}"
        field = self.change.partition(":")[2]
        return f"without {field + ' of ' if field else ''}{self.text}"


# --- candidates -----------------------------------------------------------------------------------------------------


def candidates(function: FunctionType) -> list[Edit]:
    """Every edit of a function that may weaken a guard or drop an update, in the order of the source."""
    code = function.__code__
    definition = definition_of(_tree(code.co_filename), code)
    if definition is None:
        return []
    meanings = _meanings(definition)
    found = dict.fromkeys(_candidates(definition, code.co_filename))
    named = (replace(x, text=meanings[x.text]) if x.text in meanings else x for x in found)
    return sorted(named, key=_order)


def _order(edit: Edit) -> tuple[Any, ...]:
    """The sort key of edits: position in the source. At one position, longer nodes come first. For one node, weakened
    conditions come last."""
    return edit.line, edit.column, -edit.end_line, -edit.end_column, edit.kind == "weakened", edit.change


def _meanings(definition: ast.FunctionDef) -> dict[str, str]:
    """The definition of each local name. In a report, `same_epoch = a == b` says more than the name `same_epoch`."""
    found = {}
    for node in ast.walk(definition):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = f"{name} = {' '.join(ast.unparse(value).split())}"
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, each in zip(names, values, strict=False):
                    if isinstance(target, ast.Name):
                        found[target.id] = f"{target.id} = {' '.join(ast.unparse(each).split())}"
    return found


def _candidates(definition: ast.FunctionDef, file: str) -> Iterator[Edit]:
    for node in _of_the_state(definition):
        match node:
            case ast.Call(func=ast.Attribute(attr="require"), args=arguments):
                for argument in arguments:
                    if not isinstance(argument, ast.Starred):
                        yield _edit(file, argument, "true")
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
                same = type(node.op)
                for side in (node.left, node.right):
                    if not (isinstance(side, ast.BinOp) and isinstance(side.op, same)):
                        yield _edit(file, side, "true" if same is ast.BitAnd else "false")
            case ast.Compare(ops=[operator], left=left, comparators=[right]):
                if not any(isinstance(x, ast.Constant) and isinstance(x.value, str) for x in (left, right)):
                    for weaker in COMPARISONS.get(type(operator), ()):
                        yield _edit(file, node, weaker)
            case (
                ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
                | ast.AugAssign(target=ast.Attribute() | ast.Subscript())
            ):
                yield _edit(file, node, "stay")
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and len(node.value.keys) > 1:
                    for key in node.value.keys:
                        if isinstance(key, ast.Constant) and isinstance(key.value, str):
                            yield _edit(file, node, f"stay:{key.value}")
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in CHANGES:
                yield _edit(file, node, "stay")


def _of_the_state(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may depend on the state.

    Leaves out the conditions of `if`, filters in comprehensions, parameters, annotations and decorators.
    """
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("test", "ifs", "decorator_list", "args", "returns", "annotation") and not isinstance(
            node, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _of_the_state(child)


def _edit(file: str, node: ast.expr | ast.stmt, change: str) -> Edit:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    text = " ".join(ast.unparse(node).split())
    span = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    weaker = ast.unparse(_weaker(node, change)) if isinstance(node, ast.Compare) and change[0] in "<>" else ""
    return Edit(file, *span, type(node).__name__, change, text, " ".join(weaker.split()))


# --- functions ------------------------------------------------------------------------------------------------------


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


def definition_of(tree: ast.Module, code: CodeType) -> ast.FunctionDef | None:
    """The definition that a code object was compiled from; None if there is none, as for a lambda."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def lies_in(edit: Edit, function: FunctionType) -> bool:
    """Whether the place of an edit is in a function."""
    code = function.__code__
    if code.co_filename != edit.file:
        return False
    definition = definition_of(_tree(edit.file), code)
    return definition is not None and definition.lineno <= edit.line <= (definition.end_lineno or 0)


@cache
def edited(function: FunctionType, edits: tuple[Edit, ...]) -> CodeType:
    """The code of a function after edits. It can replace the function's own code."""
    old = function.__code__
    tree = copy.deepcopy(_tree(old.co_filename))
    for edit in edits:
        tree = _Editing(edit).visit(tree)
    whole = compile(ast.fix_missing_locations(tree), old.co_filename, "exec", dont_inherit=True)
    return next(
        code
        for code in _codes(whole)
        if (code.co_qualname, code.co_firstlineno) == (old.co_qualname, old.co_firstlineno)
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


class _Editing(ast.NodeTransformer):
    """Replaces the node of an edit, but keeps the names in the node, so that the code has the same free variables.

    Exception: if one field of an update is dropped, the names in the value of this field are not kept.
    """

    def __init__(self, edit: Edit) -> None:
        self.edit = edit
        self.place = (edit.line, edit.column, edit.end_line, edit.end_column)

    def visit(self, node: ast.AST) -> Any:
        if type(node).__name__ == self.edit.node and _span(node) == self.place:
            return ast.copy_location(self._replacement(node), node)
        return self.generic_visit(node)

    def _replacement(self, node: Any) -> ast.AST:
        change = self.edit.change
        if change in ("true", "false"):
            return _second(node, ast.Constant(change == "true"))
        if change.startswith("stay"):
            return _dropped(node, change.partition(":")[2])
        return _weaker(node, change)


def _weaker(node: ast.Compare, change: str) -> ast.Compare:
    """A comparison that allows more: `<= 1 +` increases the right side by 1, `>= -1 +` decreases it by 1."""
    right = node.comparators[0]
    if change.endswith("+"):
        right = ast.BinOp(right, ast.Sub() if "-1" in change else ast.Add(), ast.Constant(1))
    return ast.Compare(node.left, [ast.GtE() if change.startswith(">=") else ast.LtE()], [right])


def _second(first: ast.expr, second: ast.expr) -> ast.expr:
    """The expression `(first, second)[1]`."""
    return ast.Subscript(ast.Tuple([first, second], ast.Load()), ast.Constant(1), ast.Load())


def _dropped(node: ast.stmt, field: str) -> ast.stmt:
    """A statement that replaces `node` and changes nothing, such as `x = (value, x)[1]` for `x = value`.

    With `field`, only this field of the update keeps its old value: `x = {..., "field": x.field}`.
    """
    if isinstance(node, ast.Expr):
        assert isinstance(node.value, ast.Call)
        assert isinstance(node.value.func, ast.Attribute)
        if node.value.func.attr in ("add", "remove", "put", "take"):
            return ast.Expr(ast.Tuple(list(node.value.args), ast.Load()))
        whole = ast.Attribute(copy.deepcopy(node.value.func.value), "length", ast.Load())
        kept = ast.Attribute(node.value.func.value, "truncate", ast.Load())
        return ast.Expr(ast.Call(kept, [_second(ast.Tuple(list(node.value.args), ast.Load()), whole)], []))
    assert isinstance(node, ast.Assign | ast.AugAssign)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    old = _read(target)
    if field:
        assert isinstance(node, ast.Assign)
        assert isinstance(node.value, ast.Dict)
        values = [
            ast.Attribute(old, field, ast.Load()) if isinstance(k, ast.Constant) and k.value == field else v
            for k, v in zip(node.value.keys, node.value.values, strict=True)
        ]
        return ast.Assign([target], ast.Dict(node.value.keys, values))
    return ast.Assign([target], _second(node.value, old))


def _read(target: ast.expr) -> ast.expr:
    """The target of an assignment as an expression that reads it."""
    old = copy.deepcopy(target)
    assert isinstance(old, ast.Attribute | ast.Subscript)
    old.ctx = ast.Load()
    return old


def _span(node: ast.AST) -> tuple[Any, ...]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return tuple(getattr(node, name, None) for name in names)
