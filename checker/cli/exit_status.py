"""Ends a command after an error with one line on standard error and a documented exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from isrcheck.checker.cli.console import harmless, say
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import Exit

DEBUG = "ISRCHECK_DEBUG"


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turns an error in the command into one line on standard error and an exit code.

    ISRCHECK_DEBUG=1 adds a traceback. Usage errors are left to click. A broken pipe gives only the exit code.
    """
    try:
        yield
        sys.stdout.flush()
    except (click.exceptions.Exit, click.Abort):
        raise
    except click.ClickException as error:
        vars(error)["message"] = harmless(error.message or "")  # click prints it
        raise
    except BrokenPipeError:
        raise click.exceptions.Exit(Exit.OUTPUT) from None
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if os.environ.get(DEBUG) == "1":
            import traceback

            traceback.print_exc()
        raise click.exceptions.Exit(tell(error)) from None
    finally:
        _forget_output()


def tell(error: BaseException) -> int:
    """Prints an error in one line, and returns the exit code for this error."""
    failure = command_error(error)
    if failure is None:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        message = f"this is a bug in isrcheck: {what}; please report it with the output of {DEBUG}=1"
        failure = CommandError(message, Exit.BUG)
    with suppress(OSError):
        say(f"isrcheck: {failure.message}", err=True)
    return failure.code


def _forget_output() -> None:
    """Drops output that cannot be written. Otherwise Python would print an error on exit, and end with code 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
