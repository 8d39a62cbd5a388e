"""What Spin and Rumur find in an exported model, to be held against what isrcheck finds.

Each tool runs twice: once over the whole state space without a property, for the counts, and once with the invariants,
for the verdict.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from isrcheck.checker.exports.murphi import murphi
from isrcheck.checker.exports.promela import promela
from isrcheck.model.language.system import TransitionSystem

STEP: Final = 512
"""Of the memory, Spin's depth-first search is given a path of one step for so many bytes; a step takes some sixty."""
WHOLE: Final = ("-o1", "-o2", "-o3")
"""Keeps Spin from hiding variables that nothing reads, which would make states equal that are not."""
OPTIMISED = "-O1"
"""How gcc compiles what they write: most of the time of a small model goes into that."""
MEMORY: Final = 1 << 34
"""Bytes that a tool may take unless told otherwise."""


@dataclass(frozen=True)
class Found:
    """What a tool says: distinct states, `generated` as isrcheck counts them, whether an invariant is violated."""

    tool: str
    version: str
    distinct: int
    generated: int
    violated: bool


class ToolFailed(Exception):
    """A tool did not come to an end; in one line, why."""


def installed() -> tuple[str, ...]:
    """The tools that can be run here, a C compiler among them."""
    return tuple(tool for tool in TOOLS if shutil.which(tool)) if shutil.which("gcc") else ()


def spin(system: TransitionSystem, folder: Path, seconds: float | None = None, memory: int = MEMORY) -> Found:
    """Spin's counts, less the one state and the one step that the export adds."""
    (folder / "model.pml").write_text(promela(system), encoding="utf-8")
    version = _run(["spin", "-V"], folder, seconds)
    options = [OPTIMISED, "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=8192", f"-DMEMLIM={memory >> 20}"]
    said = {}
    for name, define in (("counted", []), ("judged", ["-DJUDGE"])):
        _run(["spin", *define, *WHOLE, "-a", "model.pml"], folder, seconds)
        _run(["gcc", *options, "-o", name, "pan.c"], folder, seconds)
        said[name] = _run([f"./{name}", "-E", f"-m{memory // STEP}"], folder, seconds)
    if "Search not completed" in said["counted"] or "max search depth" in said["counted"]:
        raise ToolFailed("spin ran out of memory or depth; use smaller settings")
    stored = _number(r"(\d+) states, stored", said["counted"], "spin")
    transitions = _number(r"(\d+) transitions", said["counted"], "spin")
    violated = _number(r"errors: (\d+)", said["judged"], "spin") > 0
    return Found("spin", _version(version), stored - 1, transitions - 1, violated)


def rumur(system: TransitionSystem, folder: Path, seconds: float | None = None, memory: int = MEMORY) -> Found:
    """Rumur's counts, and one for each initial state, which it does not count as a rule fired."""
    version = _run(["rumur", "--version"], folder, seconds)
    switches = ["--deadlock-detection", "off", "--counterexample-trace", "off", "--symmetry-reduction", "off"]
    said = {}
    for name, judged in (("counted", False), ("judged", True)):
        (folder / f"{name}.m").write_text(murphi(system, judged), encoding="utf-8")
        _run(["rumur", "--threads", "1", *switches, "--output", f"{name}.c", f"{name}.m"], folder, seconds)
        _run(["gcc", OPTIMISED, "-std=c11", "-mcx16", "-o", name, f"{name}.c", "-lpthread"], folder, seconds)
        said[name] = _run(["prlimit", f"--as={memory}", f"./{name}"], folder, seconds, failing=name == "judged")
    distinct = _number(r"(\d+) states", said["counted"], "rumur")
    fired = _number(r"(\d+) rules fired", said["counted"], "rumur")
    violated = "No error found" not in said["judged"]
    return Found("rumur", _version(version), distinct, fired + len(system.initial), violated)


Tool = Callable[[TransitionSystem, Path, float | None, int], Found]
TOOLS: Final[dict[str, Tool]] = {"spin": spin, "rumur": rumur}


def _run(command: Sequence[str], folder: Path, seconds: float | None, failing: bool = False) -> str:
    """The standard output of a command, which must end well unless it may be `failing`."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"{Path(command[0]).name} did not end within {seconds:g} s; use smaller settings") from None
    if done.returncode < 0 or (done.returncode != 0 and not failing):
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ToolFailed(f"{Path(command[0]).name} failed: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout


def _number(pattern: str, text: str, tool: str) -> int:
    found = re.findall(pattern, text)  # Rumur reports its progress in the words of its end
    if not found:
        raise ToolFailed(f"{tool} did not say what was expected of it: {' '.join(text.split())[-200:]}")
    return int(found[-1])


def _version(text: str) -> str:
    found = re.search(r"\d+(\.\d+)+", text)
    return found[0] if found else "unknown"
