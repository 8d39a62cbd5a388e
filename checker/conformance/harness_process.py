"""The harness, a Java program that drives Kafka's classes, as a process.

The harness reads a line of commands. Then it writes a line with the results and with Kafka's state.

The types of the commands for the harness, and the interface of a mapping from a model to the harness.

The harness is a Java program that drives Kafka's own classes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from isrcheck.checker.conformance.harness_build import java
from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit
from isrcheck.model.language.descriptions import SeenState
from isrcheck.model.language.domains import Domain
from isrcheck.model.semantics.concrete_values import State

Command = dict[str, Any]
"""One call of the harness: `{"op": "produce", "broker": 0, "id": 1}`."""
Values = dict[str, Any]
"""Parts of a state by their paths, as JSON data: `{"replica[0][1].high_watermark": 2}`."""


@dataclass(frozen=True)
class Moment:
    """A step of the model: the action's arguments by name, and the states before and after the step, as JSON data.

    The data of a state are a dict from names of variables to values. `last_batch` is the number of the last batch in
    Kafka's metadata log before the step, counted from 0.
    """

    model: Any
    action: str
    arguments: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    last_batch: int


class Conformance(Protocol):
    """A mapping from a model to the harness: a module that defines these names.

    `answer` is always the state of Kafka that the harness reported last.
    """

    walks: Mapping[str, Any]
    """The model's settings for random walks. Settings that the user gives take precedence."""
    covering: Mapping[str, Any]
    """Settings that covering walks (`covering_walks.py`) add to `walks`, so that more actions are possible."""
    weights: Mapping[str, int]
    """The weights by which a random walk chooses actions. An action without an entry has weight 1."""
    classes: tuple[str, ...]
    """The classes of Kafka that the model describes, without their packages. Coverage is reported for these classes."""
    unreached: Mapping[str, str]
    """Actions that the harness cannot take, and why."""
    calls: Mapping[str, Callable[[Moment], list[Command]]]
    """For each action that the harness can take, a function that returns the calls that carry out the action."""

    def of_kafka(self, version: str) -> Mapping[str, tuple[Any, ...]]:
        """Maps each setting about Kafka's behaviour to the values that are true of a version of Kafka.

        Random walks use the setting's first value, unless `walks`, `covering` or the user gives another one.
        """

    def decided(self, moment: Moment, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Maps each argument that the model leaves open to the value that Kafka chose when it took the step."""

    def is_possible(self, model: Any, action: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """Whether Kafka can now take an action instance that the model allows."""

    def offers(
        self, model: Any, state: Mapping[str, Any], seen: SeenState, answer: Mapping[str, Any]
    ) -> Mapping[str, bool]:
        """Maps some actions to whether Kafka would take them now. Other actions are not compared with the model."""

    def known(self, model: Any, driven: Any) -> str | None:
        """A description of the difference at the end of a driven path, or None if no known difference explains it."""

    def reset(self, model: Any, state: Mapping[str, Any]) -> list[Command]:
        """Calls that set up the first state of a path."""

    def expected(self, model: Any, state: Mapping[str, Any], seen: SeenState) -> Values:
        """The values of the model to compare. `seen` is the same state, for calls of the model's methods."""

    def found(self, model: Any, state: Mapping[str, Any], answer: Mapping[str, Any]) -> Values:
        """The values of Kafka to compare, under the names that `expected` uses."""


def as_data(domains: Mapping[str, Domain], state: State) -> dict[str, Any]:
    """A state of the model as JSON data by variable."""
    return {name: domain.to_json(value) for (name, domain), value in zip(domains.items(), state, strict=True)}


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
            raise CommandError(f"the harness stopped: {self._last_words()}", Exit.OUTPUT)
        answer: dict[str, Any] = json.loads(line)
        if "fatal" in answer:
            raise HarnessFault(answer["fatal"], answer["trace"])
        return answer

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in lines if line.strip()), "it printed nothing")[:300]

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
