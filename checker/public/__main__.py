"""The command `isrcheck`, also as `python -m isrcheck`: it ends within a moment of Ctrl-C, whatever is going on."""

from __future__ import annotations

import os
import sys
import threading

INTERRUPTED = 130


def main() -> None:
    """Runs the command of this process's arguments, and ends the process."""
    try:
        from isrcheck.checker.cli import main as command

        command(prog_name="isrcheck")
    except KeyboardInterrupt:  # while the command itself is imported
        print("isrcheck: interrupted", file=sys.stderr)
        _end(INTERRUPTED)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            _end(INTERRUPTED)
        raise


def _end(code: int) -> None:
    """Ends the process without waiting for a compiler that cannot be stopped."""
    sys.stdout.flush()
    sys.stderr.flush()
    if any(thread.name == "isrcheck compiles" for thread in threading.enumerate()):
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
