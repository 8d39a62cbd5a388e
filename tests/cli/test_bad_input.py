"""Bad input ends in the documented exit code and one clear line, never in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isrcheck.checker.registry.loader import model_names
from isrcheck.checker.results.errors import command_error
from tests.cli.running import HEAD, Outcome, counter, mistaken, run

ACTS = '"""Acts."""\n'
BRANCH = "write s.require(...), & | ~, every(...), some(...), minimum(...) or when(condition, a, b)"
COMPARE = "compare brokers with == and !=, or keep their order in a separate number"
SHIPPED = ", ".join(model_names())


def said(outcome: Outcome, code: int) -> str:
    """The one line that a failed command prints."""
    assert outcome.out == ""
    assert outcome.code == code
    assert outcome.err.startswith("isrcheck: ")
    assert outcome.err.count("\n") == 1
    return outcome.err.removeprefix("isrcheck: ").removesuffix("\n")


MISTAKES = {
    "branching on state": (
        "if s.x > 1:\n    s.x = 0",
        f"mine.py:16: a branch depends on the state: x > 1; {BRANCH}",
    ),
    "reading after assigning": (
        "s.x = 1\ns.require(s.x == 1)",
        "mine.py:17: x is read after it was assigned; reads refer to the state before the action; read "
        "it into a local name first",
    ),
    "assigning twice": (
        "s.x = 1\ns.x = 2",
        "mine.py:17: x is assigned twice; "
        "assign it once, with when(condition, a, b) where the value depends on the state",
    ),
    "unknown variable": (
        "s.require(s.y == 1)",
        "mine.py:16: the state has no variable 'y'; known: leader, log, of, x",
    ),
    "unknown variable with a near one": (
        "s.lag = 1",
        "mine.py:16: the state has no variable 'lag'; did you mean log? known: leader, log, of, x",
    ),
    "value outside its domain": (
        "s.x = 7",
        "mine.py:16: 7 can be outside its domain; keep it a number from 0 to 3",
    ),
    "ordering brokers": (
        "s.require(s.leader < self.brokers[0])",
        f"mine.py:16: brokers have no order and no arithmetic: leader; {COMPARE}",
    ),
    "index out of range": (
        "s.of[3] = 1",
        "mine.py:16: the index 3 is out of range; index by a number from 1 to 2",
    ),
    "no effect": (
        "s.require(s.x == 1)",
        "mine.py:13: action act has no effect; assign something, or remove it",
    ),
    "a question by is": (
        "s.require(s.leader is not None)\ns.x = 1",
        "mine.py:16: `is` applied to the state: leader; write .is_none, or == none",
    ),
    "an action that would never run": (
        "s.x = 1\nyield",
        "mine.py:13: action act has a yield and would never run; remove the yield",
    ),
    "an exception of Python": (
        "s.x = foo",
        "mine.py:16: NameError: name 'foo' is not defined; fix the model",
    ),
}


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_an_action_is_named_with_its_line(tmp_path: Path, mistake: str, engine: str) -> None:
    body, message = MISTAKES[mistake]
    assert said(run("check", mistaken(tmp_path, ACTS + body), "--engine", engine), 150) == message


BESIDE = {
    "an invariant that returns nothing": (
        "\n    @invariant\n    def good(self, s):\n        'Good.'\n        s.x == 1\n",
        "mine.py:21: good computes a value of the state but does not use it: x == 1; return it, assign "
        "it, or require it",
    ),
    "an invariant without return": (
        "\n    @invariant\n    def good(self, s):\n        'Good.'\n        x = s.x == 1\n",
        "mine.py:21: x is assigned but never read; to change the state write s.x = ...",
    ),
    "an invariant that is empty": (
        "\n    @invariant\n    def good(self, s):\n        'Good.'\n        pass\n",
        "mine.py:18: invariant good returns nothing; return a condition",
    ),
    "a helper of the file": (
        "\n    @invariant\n    def good(self, s):\n        'Good.'\n        return known(s.leader)\n\n\n"
        "def known(leader):\n    return leader is not None\n",
        "mine.py:25: `is` applied to the state: leader; write .is_none, or == none",
    ),
    "no initial state": (
        "\n    def initial(self, s):\n        s.require(s.x == 1)\n",
        "mine.py:19: initial requires something false, so there is no initial state; assign values instead",
    ),
}


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("mistake", BESIDE)
def test_a_mistake_beside_the_actions_is_named_with_its_line(tmp_path: Path, mistake: str, engine: str) -> None:
    more, message = BESIDE[mistake]
    path = mistaken(tmp_path, ACTS + "s.x = 1")
    path.write_text(path.read_text().replace("broker, enum,", "broker, enum, invariant,") + more)
    assert said(run("check", path, "--engine", engine), 150) == message


def test_an_action_without_docstring_is_refused(tmp_path: Path) -> None:
    outcome = run("check", mistaken(tmp_path, "s.x = 1"))
    assert said(outcome, 150) == ("mine.py:13: action act has no docstring; describe in one sentence what happens")


OTHER = HEAD.split("\n\n\n")[1].replace("Mine", "Other")
FILES = {
    "SyntaxError": ("class Mine(:\n", "mine.py:1: invalid syntax; fix the syntax"),
    "import error": (
        "import nowhere\n",
        "mine.py:1: ModuleNotFoundError: No module named 'nowhere'; fix the model",
    ),
    "no model": (
        "x = 1\n",
        "mine.py: there is no model in this file; define a subclass of isrcheck.Model",
    ),
    "several models": (HEAD + OTHER, "mine.py has several models; choose one: mine.py:Mine"),
    "no action": (HEAD, "model mine has no action; decorate a method with @action"),
    "exit": ("exit()\n", "mine.py:1: the model file calls sys.exit(); remove it"),
}


@pytest.mark.parametrize("mistake", FILES)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, mistake: str) -> None:
    text, message = FILES[mistake]
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert said(run("check", path), 150) == message


def test_a_class_that_a_file_does_not_have_is_named(tmp_path: Path) -> None:
    outcome = run("check", f"{counter(tmp_path)}:Conter")
    assert said(outcome, 150) == "counter.py has no model 'Conter'; did you mean Counter? known: Counter"


def test_a_file_that_cannot_be_read_is_input_that_failed(tmp_path: Path) -> None:
    assert said(run("check", tmp_path / "absent.py"), 153) == f"{tmp_path}/absent.py: No such file or directory"


@pytest.mark.parametrize("command", ["check", "models"])
def test_an_unknown_model_is_answered_with_the_nearest(command: str) -> None:
    assert said(run(command, "kip-102"), 150) == (
        f"there is no model 'kip-102'; did you mean kip-101 or kip-320 or kip-279? known: {SHIPPED}; or "
        "use a file: my_model.py"
    )


NAMES = {
    "setting": (
        ("-s", "tpo=3"),
        "model counter has no setting 'tpo'; did you mean top? known: brokers_, least, top, wraps",
    ),
    "above": (("-s", "top=10"), "setting top must be an integer from 1 to 9, not 10"),
    "below": (("-s", "top=0"), "setting top must be an integer from 1 to 9, not 0"),
    "not a number": (("-s", "top=x"), "setting top must be an integer from 1 to 9, not 'x'"),
    "empty": (("-s", "top="), "setting top must be an integer from 1 to 9, not ''"),
    "fraction": (("-s", "top=2.0"), "setting top must be an integer from 1 to 9, not '2.0'"),
    "not a truth": (("-s", "wraps=1"), "setting wraps must be true or false, not '1'"),
    "invariant": (
        ("--invariant", "is-smal"),
        "model counter has no invariant 'is-smal'; did you mean is-small? known: half, is-small",
    ),
    "invariant of others": (
        ("--invariant", "weak-isr"),
        "invariant weak-isr needs variables that model counter does not have: log, quorum, replica",
    ),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_and_values_that_a_model_does_not_have(tmp_path: Path, case: str) -> None:
    options, message = NAMES[case]
    path = tmp_path / "out.json"
    assert said(run("check", counter(tmp_path), *options, "--json", path), 150) == message
    written = json.loads(path.read_text())
    assert (written["verdict"], written["exit_code"], written["reason"]) == ("incomplete", 150, message)


USAGE = {
    "no equals sign": (("-s", "top"), "Invalid value for '-s': 'top' is not NAME=VALUE"),
    "twice": (("-s", "top=3", "-s", "top=4"), "Invalid value for '-s': top was given more than once"),
    "engine": (
        ("--engine", "spin"),
        "Invalid value for '--engine': 'spin' is not one of 'local', 'reference', 'spark', 'symbolic'.",
    ),
    "size": (
        ("--max-memory", "much"),
        "Invalid value for '--max-memory': 'much' is not a size; write 512MB, 2GiB or 1e9",
    ),
    "no size": (("--max-memory", "0"), "Invalid value for '--max-memory': '0' is not a size; write 512MB, 2GiB or 1e9"),
    "seconds": (
        ("--max-seconds", "nan"),
        "Invalid value for '--max-seconds': 'nan' is not a number of seconds above 0",
    ),
    "states": (("--max-states", "0"), "Invalid value for '--max-states': 0 is not in the range x>=1."),
    "same file": (("--json", "-", "--itf", "-"), "--json and --itf name the same file"),
}


@pytest.mark.parametrize("case", USAGE)
def test_a_command_line_that_does_not_parse_exits_2(tmp_path: Path, case: str) -> None:
    options, message = USAGE[case]
    outcome = run("check", counter(tmp_path), *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1] == f"Error: {message}"


UNWRITABLE = {
    "no folder": ("absent/out", "No such file or directory"),
    "a folder": (".", "it is a directory"),
    "below a file": ("counter.py/out", "Not a directory"),
}


@pytest.mark.parametrize("option", ["--json", "--itf"])
@pytest.mark.parametrize("case", UNWRITABLE)
def test_an_unwritable_path_is_refused_before_the_search(tmp_path: Path, case: str, option: str) -> None:
    name, words = UNWRITABLE[case]
    target = tmp_path / name
    outcome = run("check", counter(tmp_path), option, target)
    message = f"cannot write {target}: {words}; choose a file in a writable folder"
    assert said(outcome, 153) == message


def test_an_unwritable_itf_is_told_in_the_json(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    message = said(run("check", counter(tmp_path), "--json", path, "--itf", tmp_path), 153)
    assert json.loads(path.read_text())["reason"] == message


def test_a_memory_limit_too_small_to_start_is_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    message = said(run("check", counter(tmp_path), "--max-memory", "1kB", "--json", path), 152)
    words = message.split()
    assert int(words[5]) > 1000
    assert message == f"a search needs at least {words[5]} bytes of memory; the limit is 1000 (--max-memory)"
    assert json.loads(path.read_text())["exit_code"] == 152


def test_a_package_of_spark_that_is_missing_is_named_with_the_remedy() -> None:
    # Modules of datasets import it before anybody asks what Spark needs; here it is installed.
    failure = command_error(ModuleNotFoundError("No module named 'pyarrow.fs'", name="pyarrow.fs"))
    assert failure is not None
    assert (failure.code, failure.message) == (
        153,
        "this needs pyarrow, which is not installed; pip install 'isrcheck[spark]'",
    )
    assert (
        command_error(ModuleNotFoundError("No module named 'isrcheck.checker.gone'", name="isrcheck.checker.gone"))
        is None
    )


def test_a_syntax_error_in_a_file_that_the_model_imports_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import beside_it\n")
    (tmp_path / "beside_it.py").write_text("x = 1\n\ny = = 2\n")
    outcome = run("check", tmp_path / "mine.py")
    assert (outcome.code, outcome.err) == (150, "isrcheck: beside_it.py:3: invalid syntax; fix the syntax\n")
