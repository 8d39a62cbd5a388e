"""Checks that an answer changes only the *gap* of its starting file, and that its conditions only read the state.

The gap is the functions that the learner writes. Every function without a decorator counts as a condition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from isrcheck.model.language.errors import ModelError
from isrcheck.model.language.model import Model

CHANGE: Final = ("append", "truncate", "remove_first", "add", "remove", "put", "take")
"""The methods with which a value of the state is changed in place."""


@dataclass(frozen=True)
class Part:
    """A statement of a file or of a class: the class (`inside`), the statement's name (or ''), its line and its text.

    An answer may add *helpers*: functions without a decorator (also in classes), and constants and imports outside of
    classes.
    """

    inside: str
    name: str
    line: int
    text: str
    is_helper: bool = False
    is_import: bool = False

    @property
    def place(self) -> tuple[str, str]:
        return self.inside, self.name


def changed(start: str, answer: str, file: str, gap: tuple[str, ...], models: dict[str, type[Model]]) -> list[str]:
    """Messages about the statements outside of the gap that an answer adds, changes or omits.

    `models` are the model classes of the answer. Helpers may be added, but must not replace anything that these classes
    inherit. Imports may be added and removed. But an answer must not redefine a name that the starting file defines or
    imports.
    """
    before, after = list(_of(_tree(start, file).body, gap, "")), list(_of(_tree(answer, file).body, gap, ""))
    kept, taken = {(x.inside, x.text) for x in before}, {x.place for x in before}
    others = [
        x for x in after if (x.inside, x.text) not in kept and not (_is_beside(x, models) and x.place not in taken)
    ]
    changes = [f"{file}:{x.line}: {x.name or 'this'} differs from the starting file" for x in others]
    there, named = {(x.inside, x.text) for x in after}, {x.place for x in after}
    gone = [x for x in before if (x.inside, x.text) not in there and not x.is_import and x.place not in named]
    return changes + [f"{file}: {x.name or x.text} from the starting file is missing" for x in gone]


def assigning(answer: str, file: str) -> list[str]:
    """Messages about conditions that change their arguments. Conditions may only read their arguments."""
    tree = _tree(answer, file)
    functions = [x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef) and not x.decorator_list]
    return [
        f"{file}:{line}: {x.name} is a condition and must not assign" for x in functions for line in _assignments(x)
    ]


def _assignments(function: ast.FunctionDef) -> list[int]:
    given = {each.arg for each in function.args.args}
    lines = set()
    for node in ast.walk(function):
        stored = isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        called = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        changes = called is not None and called.attr in CHANGE
        if (stored or changes) and _root(called if called is not None else node) in given:
            lines.add(getattr(node, "lineno", function.lineno))
    return sorted(lines)


def _root(node: ast.AST) -> str:
    """The name at the beginning of an expression: `s` for `s.log[b].append`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _tree(text: str, file: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ModelError(f"{file}:{error.lineno}: {error.msg}; fix the syntax") from None


def _is_beside(part: Part, models: dict[str, type[Model]]) -> bool:
    """Whether a part is a helper, and replaces nothing that a model inherits."""
    cls = models.get(part.inside)
    return part.is_helper and (cls is None or not any(part.name in vars(base) for base in cls.__mro__[1:]))


def _of(body: list[ast.stmt], gap: tuple[str, ...], inside: str) -> Iterator[Part]:
    """The parts of a file, or of the class named `inside`."""
    for statement in body:
        line, text = statement.lineno, ast.unparse(statement)
        match statement:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.ClassDef(name, bases, keywords, inner, decorators):
                yield Part(inside, name, line, _dumped(ast.ClassDef(name, bases, keywords, [], decorators)))
                yield from _of(inner, gap, name)
            case ast.FunctionDef(name):
                helper = not statement.decorator_list and name not in gap
                yield Part(inside, name, line, _function(statement, gap), helper)
            case ast.Import(names):
                for x in names:
                    yield Part(inside, x.asname or x.name, line, f"import {ast.unparse(x)}", not inside, True)
            case ast.ImportFrom(module, names):
                for x in names:
                    text = f"from {'.' * statement.level}{module} import {ast.unparse(x)}"
                    yield Part(inside, x.asname or x.name, line, text, not inside, True)
            case ast.Assign([ast.Name(name)]):
                yield Part(inside, name, line, text, not inside)
            case _:
                yield Part(inside, "", line, text)


def _function(function: ast.FunctionDef, gap: tuple[str, ...]) -> str:
    """The text of a function without its docstring. For a function of the gap: only name, parameters and decorators."""
    said = function.body[1:] if ast.get_docstring(function) is not None else function.body
    body = [] if function.name in gap else said
    return _dumped(ast.FunctionDef(function.name, function.args, body, function.decorator_list))


def _dumped(node: ast.AST) -> str:
    return ast.dump(node, annotate_fields=False)
