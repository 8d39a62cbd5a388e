"""`isrcheck check --watch`: checks a file again whenever it is saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from isrcheck.checker.cli.exits import tell

LOOK = 50
"""Milliseconds between two looks for saved files."""


def watched(model: str | None, check: Callable[[], None]) -> None:
    """Checks a model's file. Checks it again after each change of a Python file in the same folder, until Ctrl-C.

    Raises a usage error if the model is not a file.
    """
    path = Path((model or "").partition(":")[0])
    if path.suffix != ".py":
        raise click.UsageError("--watch goes with a file of your own: isrcheck check --watch my_model.py")
    from watchfiles import PythonFilter, watch

    from isrcheck.checker.scenarios.derived import forgetting_neighbours

    first = True
    # `watch` also yields empty sets. The first set shows that watching has begun, so the first check misses no change.
    for changed in watch(
        path.resolve().parent,
        watch_filter=PythonFilter(),
        recursive=False,
        yield_on_timeout=True,
        rust_timeout=LOOK,
        debounce=LOOK,
        step=LOOK // 2,
    ):
        if not (first or changed):
            continue
        if changed:
            names = ", ".join(sorted({Path(name).name for _, name in changed}))
            click.echo(f"\n{names}: changed")
        first = False
        with forgetting_neighbours(path):
            _once(check)


def _once(check: Callable[[], None]) -> None:
    """Runs one check. Its outcome, even an error, does not end the watching."""
    try:
        check()
    except click.exceptions.Exit:
        pass
    except click.ClickException as error:
        error.show()
    except (Exception, SystemExit) as error:
        tell(error)
