"""How a command ends when something goes wrong: one line on standard error, and a documented exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from isrcheck.checker.datasets.refusals import DatasetRefused
from isrcheck.checker.results import CheckpointRefused, Exit, LimitTooSmall
from isrcheck.model.language.errors import EvaluationError, ModelError

DEBUG = "ISRCHECK_DEBUG"
OF_SPARK = frozenset({"pandas", "pyarrow", "pyspark"})


class Failure(Exception):
    """The end of a command: what to say, in one line, and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message, self.code = " ".join(message.split()), code


def failure_of(error: BaseException) -> Failure | None:
    """What a user is told of an exception; None where it is a bug of ours."""
    match error:
        case Failure():
            return error
        case ModelError():
            return Failure(str(error), Exit.UNKNOWN)
        case LimitTooSmall():
            return Failure(f"{error} (--max-memory)", Exit.LIMIT)
        case DatasetRefused() | CheckpointRefused():
            return Failure(str(error), Exit.UNKNOWN)
        case EvaluationError():
            return Failure(str(error), Exit.EVALUATION)
        case SystemExit():
            return Failure("the model's file ends the program (SystemExit); take that away", Exit.UNKNOWN)
        case KeyboardInterrupt():
            return Failure("interrupted", Exit.INTERRUPTED)
        case MemoryError():
            return Failure("out of memory; try smaller bounds, or --max-memory to stop in time", Exit.LIMIT)
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] in OF_SPARK:
            missing = name.partition(".")[0]
            return Failure(f"this needs {missing}, which is not installed; pip install 'isrcheck[spark]'", Exit.OUTPUT)
        case OSError():
            return Failure(os_words(error), Exit.OUTPUT)
    return None


def os_words(error: OSError) -> str:
    """`path: what went wrong`."""
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{error.strerror or error}"


@contextmanager
def reporting_failures() -> Iterator[None]:
    """Ends the command with a line and an exit code, never with a traceback (but see `ISRCHECK_DEBUG`)."""
    try:
        yield
        sys.stdout.flush()
    except (click.exceptions.Exit, click.Abort, click.ClickException):
        raise
    except BrokenPipeError:
        _forget_output()
        raise click.exceptions.Exit(Exit.OUTPUT) from None
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if os.environ.get(DEBUG) == "1":
            import traceback

            traceback.print_exc()
        raise click.exceptions.Exit(tell(error)) from None


def tell(error: BaseException) -> int:
    """Says in one line what has gone wrong; the exit code of that."""
    failure = failure_of(error)
    if failure is None:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        message = f"this is a bug in isrcheck: {what}; please report it with the output of {DEBUG}=1"
        failure = Failure(message, Exit.BUG)
    click.echo(f"isrcheck: {failure.message}", err=True)
    return failure.code


def _forget_output() -> None:
    """Sends what is still buffered nowhere: the reader has gone, and Python would complain at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
