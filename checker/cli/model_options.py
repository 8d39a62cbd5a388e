"""Options that name the model of a command: MODEL with settings and a profile, or a scenario with its own settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from isrcheck.checker.cli import options as completing
from isrcheck.checker.cli.options import profile_option, settings_option
from isrcheck.model.language.settings import BARE


def model_or_scenario(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds MODEL, `-s`, `--profile` and `--scenario` to a command. `--scenario` replaces MODEL and `--profile`.

    The command is called with `model`, `settings` and `profile`. MODEL can be left out if the command has the option
    `--verify` and the command line uses this option. A scenario also gives `invariants` if the command has
    the option `--invariant` and the command line does not use this option.
    """

    @wraps(function)
    def called(model: str | None, scenario: str | None, **options: Any) -> Any:
        if scenario is not None:
            model = _asked(model, scenario, options)
        if model is None and options.get("verify") is None:
            raise click.UsageError("Missing argument 'MODEL', or --scenario.")
        return function(model=model, **options)

    named = click.option(
        "--scenario",
        metavar="NAME",
        shell_complete=completing.scenarios,
        help="Use the model and settings of a scenario, instead of MODEL.",
    )
    return click.argument("model", required=False, shell_complete=completing.models)(
        named(settings_option(profile_option(called)))
    )


def _asked(model: str | None, name: str, options: dict[str, Any]) -> str:
    """Returns the model of a scenario.

    Adds to `options` the scenario's settings that the command line does not give, and sets the profile to the bare
    defaults. If the command has the option `--invariant` and the command line does not use this option, also adds the
    scenario's invariants. Raises a usage error if MODEL or `--profile` is given, too.
    """
    given = [option for option, value in (("MODEL", model), ("--profile", options["profile"])) if value is not None]
    if given:
        raise click.UsageError(f"--scenario already names a model; remove {' and '.join(given)}")
    from isrcheck.checker.scenarios.collection import one

    scenario = one(name)
    options["settings"] = {n: _text(value) for n, value in scenario.settings.items()} | options["settings"]
    options["profile"] = BARE
    if not options.get("invariants", True):
        options["invariants"] = scenario.invariants or ()
    return scenario.specification()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
