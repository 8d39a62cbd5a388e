"""`isrcheck models`: the models that can be checked."""

from __future__ import annotations

import inspect
import shlex
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli import options
from isrcheck.checker.cli.console import say, say_json
from isrcheck.checker.cli.options import model_at, settings_option

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel


@click.command("models", short_help="Lists models, or shows one model's settings and invariants.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=options.models)
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")
@click.option("--source", is_flag=True, help="Print the source of the model file.")
@click.option("--types", is_flag=True, help="Print the class of the model's state, for editors and type checkers.")
@click.option("--as", "class_name", metavar="CLASS", help="With --types: the name of the printed class.")
@settings_option
def command(
    names: tuple[str, ...],
    as_json: bool,
    source: bool,
    types: bool,
    class_name: str | None,
    settings: dict[str, str],
) -> None:
    """Lists the models, or shows the file, settings, variables, actions and invariants of NAME.

    NAME is a shipped model or a file of your own.

    --types prints a Python module with a class that declares the type of each variable. Without -s, the types fit all
    settings. With -s, they fit the given settings and the defaults of the others. If a method of the model annotates
    its state with this class, editors and type checkers understand the method. --as names the class. With several
    NAMEs, the class has the variables of all these models, so that models can share methods. Several NAMEs require --as
    and exclude -s.
    """
    from isrcheck.checker.registry.loader import load_model_class, model_names

    if sum((source, types, as_json)) > 1 or (not names and (source or types)):
        raise click.UsageError(
            "--source and --types require NAME, and cannot be combined with each other or with --json"
        )
    if not types and (settings or class_name is not None or len(names) > 1):
        raise click.UsageError("-s, --as and more than one NAME require --types")
    if not names:
        models = [load_model_class(each) for each in model_names()]
        say_json([described(m) for m in models]) if as_json else say(_list(models))
    elif types:
        say(_types(names, class_name, settings), nl=False)
    else:
        model = load_model_class(names[0])
        if source:
            say(_file(model).read_text(encoding="utf-8"), nl=False)
            return
        say_json(described(model)) if as_json else say(_details(model))


def _types(names: tuple[str, ...], class_name: str | None, settings: dict[str, str]) -> str:
    """A module with the class of a model's state, or of the states of several models."""
    from isrcheck.checker.export.state_class import at_any_settings
    from isrcheck.checker.export.state_class import state_types as class_of_states
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.model.language import state_types
    from isrcheck.model.language.settings import BARE

    if len(names) > 1 and (class_name is None or settings):
        raise click.UsageError("several models require --as, and cannot be combined with -s")
    taken = class_name is not None and (iskeyword(class_name) or hasattr(state_types, class_name))
    if class_name is not None and (taken or not class_name.isidentifier()):
        raise click.UsageError(f"--as {class_name} is not a class name, or is a name that the module imports")
    models = [load_model_class(name) for name in names]
    of = models[0].cls.__name__ if len(models) == 1 else f"any of {', '.join(m.name for m in models)}"
    given = [x for n, value in settings.items() for x in ("-s", f"{n}={value}")]
    given += ["--as", class_name] if class_name else []
    begun = [model_at(model, settings, BARE) for model in models]
    variables = begun[0].domains if settings else at_any_settings([type(each) for each in begun])
    asked = shlex.join(["isrcheck", "models", *names, "--types", *given])
    return class_of_states(class_name or f"{of}State", of, variables, asked)


def described(model: LoadedModel) -> dict[str, Any]:
    """A model as JSON data."""
    from isrcheck.checker.registry.profile_settings import size_of
    from isrcheck.model.language.settings import profiles_of
    from isrcheck.model.semantics.tracing import sentence_of

    return {
        "name": model.name,
        "sentence": _sentence(model),
        "file": str(_file(model)),
        "class": model.cls.__name__,
        "profiles": {
            name: {"sentence": each.sentence, "settings": each.settings, **size_of(model, name)}
            for name, each in profiles_of(model.cls).items()
        },
        "settings": {
            name: {
                "default": s.default,
                "values": s.domain,
                "at_least": s.at_least,
                "at_most": s.at_most,
                "choices": s.choices,
                "bound": s.bound is not None,
                "meaning": s.meaning,
            }
            for name, s in model.cls.declared_settings().items()
        },
        "variables": {name: str(domain) for name, domain in model.cls().domains.items()},
        "actions": {name: sentence_of(f) for name, f in model.cls.actions().items()},
        "goals": {name: sentence_of(f) for name, f in model.cls.predicates("goal").items()},
        "invariants": {
            name: {"default": name in model.cls.invariants, "sentence": sentence_of(f)}
            for name, f in model.invariants.items()
        },
        "properties": {name: {"sentence": sentence_of(f)} for name, f in model.properties.items()},
    }


def _file(model: LoadedModel) -> Path:
    """The file that has the model's class."""
    return Path(inspect.getfile(model.cls)) if model.source_file is None else model.source_file


def _sentence(model: LoadedModel) -> str:
    """The sentence with which the author describes a model."""
    from isrcheck.model.semantics.tracing import sentence_of

    return sentence_of(model.cls)


def _list(models: list[LoadedModel]) -> str:
    from isrcheck.checker.results.text_layout import columns

    return "\n".join(columns(((m.name, _sentence(m)) for m in models), indent=""))


def _details(model: LoadedModel) -> str:
    from isrcheck.checker.results.text_layout import columns

    data = described(model)
    settings = [
        (name, f"{_text(s['default'])}", s["values"], s["meaning"] + (" (a bound)" if s["bound"] else ""))
        for name, s in data["settings"].items()
    ]
    invariants = [
        (name, "default" if each["default"] else "", each["sentence"]) for name, each in data["invariants"].items()
    ]
    lines = [f"{model.name}: {data['sentence']}", f"  class {data['class']} in {data['file']}"]
    lines += [*_profiles(data), "", "Settings (default, values, meaning)", *columns(settings)]
    for title, key in (("Variables (at the bare defaults)", "variables"), ("Actions", "actions"), ("Goals", "goals")):
        lines += ["", title, *columns([*data[key].items()] or [("none", "")])]
    lines += ["", "Invariants", *columns(invariants or [("none", "", "")])]
    properties = [(name, each["sentence"]) for name, each in data["properties"].items()]
    return "\n".join([*lines, *(["", "Properties (--liveness)", *columns(properties)] if properties else [])])


def _profiles(data: dict[str, Any]) -> list[str]:
    """Lines about each profile: its description, its size if recorded, and the settings that are not the default."""
    from isrcheck.checker.results.text_layout import columns, number

    lines = ["", "Profiles (the starting point of -s; plain unless --profile is given; bare: all defaults)"]
    for name, each in data["profiles"].items():
        size = f"{number(each['states'])} states, depth {each['depth']}" if "states" in each else "size not recorded"
        changed = " ".join(
            f"{s}={_text(value)}" for s, value in each["settings"].items() if value != data["settings"][s]["default"]
        )
        lines += [*columns([(name, each["sentence"]), ("", f"{size}: {changed}")])]
    return lines if data["profiles"] else []


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
