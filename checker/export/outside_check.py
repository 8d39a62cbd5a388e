"""Runs Spin and Rumur on an exported model, for comparison with isrcheck's results.

Each tool first checks that the invariants hold and that each step is defined. If one of these checks fails, the tool
stops. Then the tool runs again without these checks, to count the whole state space.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from isrcheck.checker.export.murphi import murphi
from isrcheck.checker.export.promela import promela
from isrcheck.model.semantics.transition_system import TransitionSystem

PATH: Final = 1 << 16
"""The limit on the path of Spin's depth-first search, in steps. Spin allocates memory for a path of this length."""
STEP: Final = 512
"""If `PATH` is too short, the path may have one step for each `STEP` bytes of the memory limit. A step takes about
sixty bytes. So the path gets about an eighth of the memory, and the states get the rest."""
TOO_SHORT: Final = "max search depth too small"
WHOLE: Final = ("-o1", "-o2", "-o3")
"""Options with which Spin keeps variables that nothing reads. Otherwise, Spin would count different states as one."""
LARGE: Final = 300_000
"""If the model has at least this many steps, as isrcheck counts them, gcc optimises the generated code. For fewer
steps, optimising takes longer than it saves."""
MEMORY: Final = 1 << 34
"""The default limit on a tool's memory, in bytes."""


@dataclass(frozen=True)
class ToolResult:
    """A tool's result: the number of distinct states, and the total number of initial states and steps (`generated`).

    `violated` says whether an invariant is violated or a step is undefined.
    """

    tool: str
    version: str
    distinct: int
    generated: int
    violated: bool


class ToolFailed(Exception):
    """A tool did not finish. The message is the reason in one line."""


def installed() -> tuple[str, ...]:
    """The names of the tools that can be run here: none if there is no gcc."""
    return tuple(tool for tool in TOOLS if shutil.which(tool)) if shutil.which("gcc") else ()


def spin(
    system: TransitionSystem, folder: Path, seconds: float | None = None, memory: int = MEMORY, steps: int = 0
) -> ToolResult:
    """Runs Spin, and returns its result.

    Spin also counts the state in which no initial state is chosen yet: as one state and as one transition. So one is
    subtracted from each of the two numbers.
    """
    (folder / "model.pml").write_text(promela(system), encoding="utf-8")
    version = _run(["spin", "-V"], folder, seconds)
    options = [_optimised(steps), "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=8192", f"-DMEMLIM={memory >> 20}"]
    _run(["spin", "-DJUDGE", *WHOLE, "-a", "model.pml"], folder, seconds)
    _run(["gcc", *options, "-o", "pan", "pan.c"], folder, seconds)
    said = _searched([], folder, seconds, memory)
    violated = _number(r"errors: (\d+)", said, "spin") > 0
    if violated:
        said = _searched(["-A"], folder, seconds, memory)
    if "Search not completed" in said or TOO_SHORT in said:
        raise ToolFailed("spin ran out of memory or search depth; use smaller settings")
    stored = _number(r"(\d+) states, stored", said, "spin")
    transitions = _number(r"(\d+) transitions", said, "spin")
    return ToolResult("spin", _version(version), stored - 1, transitions - 1, violated)


def _searched(options: Sequence[str], folder: Path, seconds: float | None, memory: int) -> str:
    """The output of the program that Spin has written.

    If `PATH` is too short, the program runs a second time, with the longer limit that `STEP` describes.
    """
    said = _run(["./pan", "-E", *options, f"-m{PATH}"], folder, seconds)
    return said if TOO_SHORT not in said else _run(["./pan", "-E", *options, f"-m{memory // STEP}"], folder, seconds)


def rumur(
    system: TransitionSystem, folder: Path, seconds: float | None = None, memory: int = MEMORY, steps: int = 0
) -> ToolResult:
    """Runs Rumur, and returns its result. Rumur counts only fired rules, so a step is added for each initial state."""
    version = _run(["rumur", "--version"], folder, seconds)
    switches = ["--deadlock-detection", "off", "--counterexample-trace", "off", "--symmetry-reduction", "off"]

    def searched(with_checks: bool) -> str:
        (folder / "model.m").write_text(murphi(system, with_checks), encoding="utf-8")
        _run(["rumur", "--threads", "1", *switches, "--output", "model.c", "model.m"], folder, seconds)
        _run(["gcc", _optimised(steps), "-std=c11", "-mcx16", "-o", "model", "model.c", "-lpthread"], folder, seconds)
        return _run(["prlimit", f"--as={memory}", "./model"], folder, seconds, failing=with_checks)

    said = searched(with_checks=True)
    violated = "No error found" not in said
    if violated:
        said = searched(with_checks=False)
    distinct = _number(r"(\d+) states", said, "rumur")
    fired = _number(r"(\d+) rules fired", said, "rumur")
    return ToolResult("rumur", _version(version), distinct, fired + len(system.initial), violated)


def _optimised(steps: int) -> str:
    return "-O1" if steps >= LARGE else "-O0"


Tool = Callable[[TransitionSystem, Path, float | None, int, int], ToolResult]
"""Runs a tool, given a model, an empty folder, seconds for each command, bytes of memory, and the number of steps that
isrcheck has counted."""
TOOLS: Final[dict[str, Tool]] = {"spin": spin, "rumur": rumur}


def _run(command: Sequence[str], folder: Path, seconds: float | None, failing: bool = False) -> str:
    """The standard output of a command. Raises `ToolFailed` if the command fails, is killed or takes too long.

    With `failing`, an exit code above 0 is no failure.
    """
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"{Path(command[0]).name} did not finish within {seconds:g} s; use smaller settings") from None
    if done.returncode < 0 or (done.returncode != 0 and not failing):
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ToolFailed(f"{Path(command[0]).name} failed: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout


def _number(pattern: str, text: str, tool: str) -> int:
    found = re.findall(pattern, text)  # Rumur's progress lines have the same form; the last match counts
    if not found:
        raise ToolFailed(f"{tool} printed unexpected output: {' '.join(text.split())[-200:]}")
    return int(found[-1])


def _version(text: str) -> str:
    found = re.search(r"\d+(\.\d+)+", text)
    return found[0] if found else "unknown"
