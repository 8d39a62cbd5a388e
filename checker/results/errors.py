"""Turns an error into a message to the user in one line, and a documented exit code.

The errors of a dataset, or of exploring on a cluster. Each message is one line with the remedy.
"""

from __future__ import annotations

from isrcheck.checker.results.result import CheckpointRefused, Exit, LimitTooSmall
from isrcheck.model.language.errors import EvaluationError, ModelError


class DatasetRefused(ValueError):
    """A dataset is damaged or in use, or does not fit this model, these options, this kernel or this version."""


class MissingTool(OSError):
    """A tool or a package is missing or too old."""


class ClusterFailed(OSError):
    """Spark could not do the work."""


class Unreachable(OSError):
    """A folder has an unknown scheme, or its file system cannot be opened."""


OF_SPARK = frozenset({"pandas", "pyarrow", "pyspark"})


class CommandError(Exception):
    """Ends a command, with a message in one line and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message, self.code = " ".join(message.split()), code


def command_error(error: BaseException) -> CommandError | None:
    """The message to the user about an exception, or None if the exception is a bug in isrcheck."""
    match error:
        case CommandError():
            return error
        case ModelError():
            return CommandError(str(error), Exit.UNKNOWN)
        case LimitTooSmall():
            return CommandError(f"{error} (--max-memory)", Exit.LIMIT)
        case DatasetRefused() | CheckpointRefused():
            return CommandError(str(error), Exit.UNKNOWN)
        case EvaluationError():
            return CommandError(str(error), Exit.EVALUATION)
        case SystemExit():
            return CommandError("the model file calls sys.exit(); remove it", Exit.UNKNOWN)
        case KeyboardInterrupt():
            return CommandError("interrupted", Exit.INTERRUPTED)
        case MemoryError():
            return CommandError("out of memory; use smaller bounds, or --max-memory to stop in time", Exit.LIMIT)
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] in OF_SPARK:
            missing = name.partition(".")[0]
            return CommandError(
                f"this needs {missing}, which is not installed; pip install 'isrcheck[spark]'", Exit.OUTPUT
            )
        case OSError():
            return CommandError(os_words(error), Exit.OUTPUT)
    return None


def os_words(error: OSError) -> str:
    """The error as a text: `path: what went wrong`, or only `what went wrong` if the error names no path."""
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{error.strerror or error}"
