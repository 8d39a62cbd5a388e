"""The texts of the files that `isrcheck init` writes: a variant of a model, or a new model.

`isrcheck init`: begins a variant of a shipped model, a new model, or a scenario. Each can be checked at once.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import click

from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.scenarios import new
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.semantics.tracing import sentence_of

WIDTH: Final = 118
COMMENTED: Final[Any] = {"initial_indent": "    #   ", "subsequent_indent": "    #     "}
OTHERS: Final = (
    "    # Other actions; override one by a method of the same name (isrcheck init variant-of --action NAME copies it):"
)
MODEL: Final = '''"""A lamp for each broker: replace it with your own protocol. Language: docs/reference/language.md."""

from isrcheck import Model, action, broker, every, flag, goal, invariant, number, per, setting


class Lamps(Model):
    """Brokers light their lamps one after another."""

    brokers_ = setting(3, at_least=1, at_most=5, counts=broker, meaning="brokers")

    def variables(self):
        return {"lit": per(broker, flag), "count": number(0, self.brokers_)}

    @action(b=broker, actor="b")
    def light(self, s, b):
        """A broker lights its lamp."""
        s.require(~s.lit[b])
        s.lit[b] = True
        s.count += 1

    @action(b=broker, actor="b", environment=True)
    def fail(self, s, b):
        """A lamp fails."""
        s.require(s.lit[b])
        s.lit[b] = False
        s.count -= 1

    @goal
    def all_are_lit(self, s):
        """All lamps are lit."""
        return s.count == self.brokers_

    @invariant
    def a_lamp_is_counted(self, s):
        """If a lamp is lit, the count is positive."""
        return every(~s.lit[b] | (s.count > 0) for b in self.brokers)
'''


def variant(loaded: LoadedModel, stem: str, actions: Iterable[str]) -> str:
    """The text of a file with a subclass of the model. The subclass has copies of the named actions.

    A comment in the subclass lists the model's other actions. Raises `UnknownName` for a name that is not an action of
    the model.
    """
    known, cls = loaded.cls.actions(), loaded.cls
    for name in actions:
        if name not in known:
            raise UnknownName(f"model {loaded.name} has no action {name!r}; {nearest(name, known)}")
    methods = [known[name] for name in dict.fromkeys(actions)]
    name = "".join(part.capitalize() for part in stem.split("_"))
    others = [f"{name}: {sentence_of(method)}" for name, method in known.items() if method not in methods]
    listed = [line for text in others for line in textwrap.wrap(text, WIDTH, **COMMENTED)]
    lines = [
        f'"""A variant of {loaded.name}: describe here what differs, and why."""',
        "",
        "from __future__ import annotations",
        "",
        *_imports(cls, methods),
        "",
        "",
        f"class {name}({cls.__name__}):",
        f'    """A variant of {loaded.name}."""',
        "",
        *(line for method in methods for line in [*_source(method), ""]),
        *([OTHERS, *listed] if listed else []),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _source(method: Callable[..., Any]) -> list[str]:
    return textwrap.indent(textwrap.dedent(inspect.getsource(method)).rstrip(), "    ").split("\n")


def _imports(cls: type, methods: list[Callable[..., Any]]) -> list[str]:
    """The imports that the model's class and the copied methods need.

    If a method's file gets a name by `from MODULE import NAME`, the new file does the same. If the method's file gets
    the name in another way (a definition, `import ...` or `... as ...`), the new file imports the name from the
    method's file.
    """
    wanted = {cls.__module__: {cls.__name__}}
    for method in methods:
        used = {
            x.id for x in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method)))) if isinstance(x, ast.Name)
        }
        home = sys.modules[method.__module__]
        origins = _origins(home.__name__, inspect.getsource(home))
        for name in used & vars(home).keys():
            wanted.setdefault(origins.get(name, home.__name__), set()).add(name)
    lines = [_import(module, sorted(wanted[module])) for module in sorted(wanted)]
    library, own = ([x for x in lines if x.startswith("from isrcheck") == ours] for ours in (False, True))
    return [*library, *([""] if library else []), *own]


def _import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    inner = textwrap.fill(", ".join(names), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"from {module} import (\n{inner},\n)"


def _origins(home: str, text: str) -> dict[str, str]:
    """Maps each name that a file imports by `from MODULE import NAME` to the module. Skips names imported with `as`."""
    imports = [x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.ImportFrom) and x.module]
    return {each.name: x.module or home for x in imports for each in x.names if each.asname is None}


@click.group("init", short_help="Creates a new model, a variant of a model, or a scenario.")
def command() -> None:
    """Creates a new model, a variant of a model, or a scenario. The result can be checked right away."""


command.add_command(new, "scenario")


@command.command("variant-of")
@click.argument("model")
@click.argument("file")
@click.option(
    "--action",
    "actions",
    multiple=True,
    metavar="NAME",
    help="Copy this action, so that you can change it; may be repeated.",
)
def variant_of(model: str, file: str, actions: tuple[str, ...]) -> None:
    """Writes FILE: a subclass of the shipped MODEL, with a copy of each action that --action names."""
    from isrcheck.checker.registry.loader import load_model_class

    path = _new(file)
    _write(path, variant(load_model_class(model), path.stem, actions))


@command.command("model")
@click.argument("file")
def model(file: str) -> None:
    """Writes FILE: a small model with a setting, variables, actions, a goal and an invariant."""

    _write(_new(file), MODEL)


def _new(file: str) -> Path:
    path = Path(file)
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise click.UsageError(f"{file!r} is not a Python file name; write my_variant.py")
    if path.exists():
        raise CommandError(f"{file} already exists; choose another file", Exit.OUTPUT)
    return path


def _write(path: Path, text: str) -> None:
    from isrcheck.checker.cli.output_files import write_text

    if not path.parent.exists() and path.parent.parent.is_dir():
        path.parent.mkdir()
    write_text(str(path), text)
    say(f"wrote {path}; try: isrcheck check {path}")
