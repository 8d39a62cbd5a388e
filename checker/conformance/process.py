"""The harness, a Java program that drives Kafka's classes, as a process.

The harness reads a line of commands. Then it writes a line with the results and with Kafka's state.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from isrcheck.checker.conformance.build import java
from isrcheck.checker.conformance.commands import Command
from isrcheck.checker.failures import Failure
from isrcheck.checker.results import Exit

ANSWER_SECONDS: Final = 120
"""A harness that does not answer within this time is killed. A step takes milliseconds."""
FLAGS: Final = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1")
"""Java uses only its quick compiler, because a run is too short to profit from the optimizing compiler."""

MEMORY: Final = "/dev/shm"
"""A folder in memory, used if the system has it. It saves time, because Kafka writes files at each start and stop."""


class Harness:
    """One Java process. Each list of commands is answered before the next list is sent."""

    def __init__(self, classpath: str, folder: Path, options: Sequence[str] = ()) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by close
        flags = [*FLAGS, *options, f"-Djava.io.tmpdir={folder}"]
        command = [java(), *flags, "-cp", classpath, "isrcheck.Harness", str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, encoding="utf-8"
        )

    def run(self, commands: list[Command]) -> dict[str, Any]:
        """Runs commands. Returns the result of each command (`results`), and the state after the last one (`state`)."""
        assert self.process.stdin is not None and self.process.stdout is not None
        watch = threading.Timer(ANSWER_SECONDS, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps(commands) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            raise Failure(f"the harness has stopped: {self._last_words()}", Exit.OUTPUT)
        answer: dict[str, Any] = json.loads(line)
        if "fatal" in answer:
            raise HarnessFault(answer["fatal"], answer["trace"])
        return answer

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in lines if line.strip()), "it says nothing")[:300]

    def close(self) -> None:
        with suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.errors.close()


class HarnessFault(Exception):
    """An unexpected exception in Kafka: its class and message (`what`) and its stack trace. Counts as a difference."""

    def __init__(self, what: str, trace: str) -> None:
        super().__init__(what)
        self.trace = trace


@contextmanager
def running(classpath: str, options: Sequence[str] = ()) -> Iterator[Harness]:
    """A running harness, with a folder for its logs. Afterwards the harness is stopped and the folder is removed."""
    folder = Path(tempfile.mkdtemp(prefix="isrcheck-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        harness = Harness(classpath, folder, options)
        try:
            yield harness
        finally:
            harness.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
