"""The command `isrcheck`, also as `python -m isrcheck`. Ctrl-C ends the command within a moment, at any time."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from typing import NoReturn

INTERRUPTED = 130
NO_OUTPUT = 153
_MOMENT = 0.01
"""Seconds until an interruption is repeated. By then, the code that dropped the interruption has probably ended."""


def main() -> None:
    """Runs the command with the arguments of this process, and ends the process.

    SIGTERM and SIGHUP end the command as Ctrl-C does, with a report of what it has found.
    """
    hear_every_interruption()
    end_as_after_interruption()
    gc.set_threshold(50_000)  # the many expressions live until the end and form no cycles worth collecting
    if sys.stdout is None:  # closed by the calling process: output is dropped
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        from isrcheck.checker.cli import main as command

        command(prog_name="isrcheck")
    except KeyboardInterrupt:  # Ctrl-C during the import of the command
        print("isrcheck: interrupted", file=sys.stderr)
        _end(INTERRUPTED)
    except OSError as error:  # a text of the command itself, such as its help, could not be printed
        print(f"isrcheck: cannot print the output: {error.strerror}", file=sys.stderr)
        _forget_output()
        _end(NO_OUTPUT)
    except SystemExit as ended:
        _end(ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1)


def hear_every_interruption() -> None:
    """Makes Python repeat an interruption (Ctrl-C) a moment later if Python has dropped the interruption.

    Python drops exceptions in finalizers, in callbacks of weak references and in callbacks from C. For example, z3
    calls back into Python for every expression that it frees.
    """
    sys.unraisablehook = _unraisable


def end_as_after_interruption() -> None:
    """Turns SIGTERM and SIGHUP into an interruption, unless they are ignored, as under `nohup`.

    A thread hears of the signals, because the main thread may be in code that ends only at Ctrl-C, such as z3's.
    """
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = {each for each in (getattr(signal, name) for name in names) if signal.getsignal(each) == signal.SIG_DFL}
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN or not hasattr(signal, "pthread_kill"):
        for each in heard:
            signal.signal(each, signal.default_int_handler)
        return
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    for each in heard:
        signal.signal(each, lambda number, frame: None)
    main_thread = threading.main_thread().ident
    assert main_thread is not None

    def listen() -> None:
        while numbers := os.read(ear, 1):
            if numbers[0] in heard:
                signal.pthread_kill(main_thread, signal.SIGINT)

    threading.Thread(target=listen, name="signals", daemon=True).start()


def _unraisable(forgotten: sys.UnraisableHookArgs) -> None:
    if forgotten.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(forgotten)
        return
    again = threading.Timer(_MOMENT, os.kill, [os.getpid(), signal.SIGINT])
    again.daemon = True
    again.start()


def _forget_output() -> None:
    """Drops output that is still buffered. Otherwise Python would complain about this output when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(code: int) -> NoReturn:
    """Ends the process. Does not wait for a thread that still compiles, because such a thread cannot be stopped."""
    native = sys.modules.get("isrcheck.checker.kernel.llvm_compiler")
    if native is not None and any(thread.name == native.COMPILING for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
