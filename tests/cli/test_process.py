"""The command as a separate process: start, signals, pipes, terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest

from isrcheck.checker.results.result import Exit
from tests.cli.running import counter, mistaken

ISRCHECK = [sys.executable, "-m", "isrcheck"]
ROOT = Path(__file__).parents[2]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""An environment in which Python buffers output, and writes the rest when it ends."""
LONG = ["kip-101", "--engine", "reference"]
"""A check that takes many seconds, and reports progress from the first second on."""


def isrcheck(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ISRCHECK, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )


def loaded(*arguments: str) -> set[str]:
    """The modules that a command imports."""
    code = f"import sys; from isrcheck.checker.cli import main; main({list(arguments)!r}, standalone_mode=False)"
    code += "; print(*sys.modules, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(run.stderr.split())


def test_help_and_models_import_no_engine() -> None:
    heavy = {"numpy", "numba", "llvmlite", "rich", "psutil", "jsonschema"}
    assert not loaded("--help") & heavy
    assert not loaded("models") & heavy


ENGINES = tuple(
    f"isrcheck.checker.engines.{name}" for name in ("explicit", "reference", "simulation", "spark", "symbolic")
)


def test_help_imports_no_model_and_a_list_of_models_no_search() -> None:
    """Imports take most of the time at the start. Times depend on the machine, so the imports are tested."""
    assert not {name for name in loaded("--help") if name.startswith(LARGE)}
    assert "isrcheck.model.designs.v3" in loaded("models")
    assert not {name for name in loaded("models") if name.startswith(ENGINES)}


LARGE = ("isrcheck.model.designs", "isrcheck.model.published", "isrcheck.invariants.", *ENGINES)


def test_a_violation(tmp_path: Path) -> None:
    done = isrcheck("check", counter(tmp_path), "-s", "least=2", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (12, "VIOLATED  counter: is-small in 3 states\n", "")


def test_a_mistake_and_a_bug_end_without_a_traceback_unless_it_is_asked_for(tmp_path: Path) -> None:
    done = isrcheck("check", mistaken(tmp_path, '"""Acts."""\ns.x = 7'))
    assert done.returncode == 150
    assert "Traceback" not in done.stderr
    assert "Traceback" in isrcheck("check", tmp_path / "mine.py", ISRCHECK_DEBUG="1").stderr


ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("ending", ENDING)
def test_an_interrupt_ends_the_search_and_reports_what_is_known(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "r.json"
    process = subprocess.Popen(
        [*ISRCHECK, "check", *LONG, "--json", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr is not None
    while "searching: level" not in process.stderr.readline():
        pass
    process.send_signal(ending)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err
    data = json.loads(path.read_text())
    assert (data["exit_code"], data["verdict"], data["reason"]) == (130, "incomplete", "interrupted")
    assert out.startswith("INCOMPLETE  kip-101: interrupted; no violation in ")


SOLVING = """
import z3
from isrcheck.__main__ import end_as_after_interruption

end_as_after_interruption()
a, b = z3.BitVecs("a b", 128)
solver = z3.SolverFor("QF_BV")
solver.add(a * b == 0xC7970CEEDCC3B0754490201A7AA613CD73911081, z3.ULT(1, a), z3.ULT(a, b), z3.ULT(b, 1 << 90))
print("solving", flush=True)
print(solver.check(), solver.reason_unknown())
"""


@pytest.mark.parametrize("ending", ENDING)
def test_a_solver_hears_every_signal_that_ends_a_command(ending: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SOLVING], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "solving\n"
        time.sleep(0.5)
        process.send_signal(ending)
        assert process.communicate(timeout=60)[0].startswith("unknown ")


@pytest.mark.parametrize(("ignored", "ending"), [("HUP", signal.SIGINT), ("INT", signal.SIGTERM)])
def test_a_signal_that_is_ignored_from_the_start_stays_ignored(ignored: str, ending: signal.Signals) -> None:
    """As under `nohup`, or for a command that a script starts in the background."""
    command = f"trap '' {ignored}; exec {shlex.join([*ISRCHECK, 'check', *LONG])}"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(["bash", "-c", command], **pipes) as process:
        assert process.stderr is not None
        while "searching: level" not in process.stderr.readline():
            pass
        process.send_signal(signal.Signals[f"SIG{ignored}"])
        assert "searching: level" in process.stderr.readline()
        process.send_signal(ending)
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out.startswith("INCOMPLETE  kip-101: interrupted; no violation in ")


def test_a_reader_that_goes_away_is_no_bug(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*ISRCHECK, "check", str(counter(tmp_path)), "--quiet", "--json", str(tmp_path / "r.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 153
    process.stderr.close()
    data = json.loads((tmp_path / "r.json").read_text())
    assert (data["exit_code"], data["verdict"], data["distinct"]) == (153, "holds", 4)
    assert data["reason"] == "cannot print the report: Broken pipe"


def test_standard_output_that_is_full_is_named(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [*ISRCHECK, "check", str(counter(tmp_path)), "--quiet", "--json", str(tmp_path / "r.json")]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False, env=BUFFERED
        )
    assert (done.returncode, done.stderr) == (
        153,
        "isrcheck: cannot print the report: No space left on device\n",
    )
    assert json.loads((tmp_path / "r.json").read_text())["exit_code"] == 153


def ended(arguments: str, redirected: str) -> tuple[int, str]:
    """The exit code, and the output that is not redirected."""
    command = f"{shlex.join(ISRCHECK)} {arguments} {redirected}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False, env=BUFFERED)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.exhaustive
def test_output_that_is_full_or_closed_ends_in_the_documented_code(tmp_path: Path) -> None:
    question, unknown = f"check {counter(tmp_path)} -s least=2 --quiet", "check nobody"
    assert ended("--help", ">/dev/full") == (153, "isrcheck: cannot print the output: No space left on device\n")
    assert ended(question, ">&-") == (12, "")
    assert ended(question, ">&- 2>&-") == (12, "")
    assert ended(question, "2>&-") == (12, "VIOLATED  counter: is-small in 3 states\n")
    assert ended(unknown, "2>/dev/full") == (150, "")
    assert ended(unknown, "2>&-") == (150, "")


def test_help_names_every_exit_code() -> None:
    said = ended("--help", "")[1]
    codes = {int(x) for x in re.findall(r"(\d+)\s+[a-zA-Z]", said.partition("Exit codes:")[2].partition("\n\n")[0])}
    assert codes == {x for x in vars(Exit).values() if isinstance(x, int)}


def on_a_terminal(*arguments: str, **environment: str) -> bytes:
    """The output of a command on a terminal."""
    leader, follower = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", **environment}
    process = subprocess.Popen([*ISRCHECK, *arguments], stdout=follower, stderr=follower, cwd=ROOT, env=environ)
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        written += piece
    os.close(leader)
    process.wait()
    return written


@pytest.mark.exhaustive
def test_a_terminal_gets_colour_and_a_live_line_unless_it_asks_for_none(tmp_path: Path) -> None:
    path = str(counter(tmp_path))
    os.environ.pop("NO_COLOR", None)
    assert b"\x1b[32mHOLDS\x1b[0m" in on_a_terminal("check", path)
    assert b"\x1b[3" not in on_a_terminal("check", path, NO_COLOR="1")
    long = on_a_terminal("check", *LONG, "--max-seconds", "2", NO_COLOR="1")
    assert b"searching: level" in long


@pytest.mark.parametrize(
    "work",
    [
        "from isrcheck.checker.kernel.llvm_compiler import begun\ntell(); begun(lambda: sleep(3600)).result()",
        "tell(); sleep(3600)",
    ],
    ids=["while code is compiled", "while modules are imported"],
)
def test_an_interrupt_is_heard(work: str, tmp_path: Path) -> None:
    """The command imports a module that is busy for an hour."""
    (tmp_path / "busy.py").write_text(f"from time import sleep\ntell = lambda: print('busy', flush=True)\n{work}\n")
    code = """
import sys, types
import isrcheck.__main__

def main(prog_name):
    import busy

cli = sys.modules["isrcheck.checker.cli"] = types.ModuleType("isrcheck.checker.cli")
cli.main = main
isrcheck.__main__.main()
"""
    asked = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **asked) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"busy\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"isrcheck: interrupted\n"
    assert process.returncode == 130


FORGETFUL = """
import signal
from isrcheck.__main__ import hear_every_interruption

class Freed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

hear_every_interruption()
try:
    Freed()
    signal.pause()
except KeyboardInterrupt:
    print("heard")
"""


def test_an_interrupt_that_strikes_in_a_finalizer_is_heard_after_it() -> None:
    done = subprocess.run([sys.executable, "-c", FORGETFUL], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")


def test_a_file_is_checked_again_whenever_it_is_saved(tmp_path: Path) -> None:
    path = counter(tmp_path)
    text = path.read_text()
    asked = [*ISRCHECK, "check", "--watch", str(path), "--quiet"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("HOLDS  counter: ")
        path.write_text(text.replace("return s.value < self.least", "return s.value < 2"))
        assert until(process.stdout, "VIOLATED") == "VIOLATED  counter: is-small in 3 states\n"
        path.write_text(text.replace("s.value += 1", "s.value = 10"))
        assert process.stderr.readline().startswith("isrcheck: counter.py:")
        path.write_text(text)
        assert until(process.stdout, "HOLDS").startswith("HOLDS  counter: ")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "isrcheck: interrupted\n"
    assert process.returncode == 130
    refused = isrcheck("check", "--watch", "kip-101")
    assert (refused.returncode, "--watch requires a model file" in refused.stderr) == (2, True)


def until(lines: IO[str], begins: str) -> str:
    return next(line for line in lines if line.startswith(begins))
