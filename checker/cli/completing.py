"""Completions for a shell's Tab: models, their settings with values, scenarios, invariants.

Completing never runs the code of a user's file. So settings and invariants are not completed for a model in a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from isrcheck.checker.library import LoadedModel


def models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the models that match. If no model matches, the shell completes the name of a file."""
    from isrcheck.checker.library import model_names

    names = [CompletionItem(name) for name in model_names() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def scenarios(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the scenarios in `./counterexamples`, if this folder exists, and of the shipped scenarios."""
    from isrcheck.checker.scenarios.collection import folders, shipped

    names = {folder.name for root in ((), (str(shipped()),)) for folder, _ in folders(root)}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the name of a setting, with an equals sign. After the sign, completes a choice, or true or false."""
    loaded = _model(ctx)
    if loaded is None:
        return []
    declared, (name, equals, value) = loaded.cls.declared_settings(), incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{n}=", help=s.meaning) for n, s in declared.items() if n.startswith(name)]
    setting = declared.get(name)
    if setting is None:
        return []
    values = setting.choices or (("true", "false") if isinstance(setting.default, bool) else ())
    return [CompletionItem(f"{name}={each}") for each in values if each.startswith(value)]


def invariants(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the invariants that can be checked in the model."""
    loaded = _model(ctx)
    return [CompletionItem(name) for name in (loaded.invariants if loaded else ()) if name.startswith(incomplete)]


def _model(ctx: click.Context) -> LoadedModel | None:
    """The shipped model that the command line already names, or None."""
    from isrcheck.checker.library import load_model_class, model_names

    # If the line ends in an option without its value, click has not assigned the arguments to parameters yet.
    words = [ctx.params.get("model"), *ctx.args]
    known = [word for word in words if word in model_names()]
    return load_model_class(known[0]) if known else None
