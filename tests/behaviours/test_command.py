"""`isrcheck review --behaviours`: its output, its files, and the errors for wrong options."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

import isrcheck.checker
from tests.cli.running import COUNTER, counter, run

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
TINY = ("-s", "replicas=2", "-s", "log_size=1", "-s", "max_records=1", "-s", "max_leader_epoch=1")


def test_one_story_with_two_endings(tmp_path: Path) -> None:
    said = run(
        "review", "--behaviours", "kip-279", "kip-320", *TINY, "--visible", "log,quorum", "--json", tmp_path / "d.json"
    )
    assert said.code == 10
    lines = said.out.splitlines()
    assert lines[0] == (
        "DIFFERENT  kip-279 -> kip-320: no behaviour is new; "
        "a behaviour of 8 states is gone: leader-expand-isr(leader=0, follower=1)"
    )
    assert "Gone: kip-279 allows this, kip-320 does not" in lines
    assert "kip-320 shows the same so far in 7 states, by other steps, and then cannot continue like this:" in lines
    assert "     fenced-leader-expand-isr(leader=0, follower=1) is refused" in lines
    data = json.loads((tmp_path / "d.json").read_text())
    jsonschema.validate(data, SCHEMA)
    reported = data["behaviours"]
    assert (data["exit_code"], reported["new"]["verdict"], reported["gone"]["length"]) == (10, "none", 8)
    assert [step.get("action") for step in reported["gone"]["other"]][-1] == "become-leader"


def test_settings_of_one_model(tmp_path: Path) -> None:
    file = counter(tmp_path)
    said = run("review", "--behaviours", file, "--b-setting", "top=2", "--visible", "value")
    assert said.code == 10
    assert said.out.splitlines()[:2] == [
        "DIFFERENT  counter with top=3 -> counter with top=2: a behaviour of 4 states is new: start-again(); "
        "a behaviour of 4 states is gone: count()",
        "settings that differ: top 3 -> 2",
    ]
    assert run("review", "--behaviours", file, "-s", "top=2", "--b-setting", "top=3", "--a-setting", "top=3").code == 0
    # That it counts again after its top is a behaviour that is new, and nothing is gone.
    said = run("review", "--behaviours", file, "--a-setting", "wraps=false", "--b-setting", "wraps=true", "--quiet")
    assert said.out == (
        "DIFFERENT  counter with wraps=false -> counter with wraps=true: a behaviour of 5 states is new: "
        "start-again(); no behaviour is gone\n"
    )


def test_a_step_for_which_there_is_no_room_is_said_to_be_one(tmp_path: Path) -> None:
    """A larger bound gives behaviours that are new for the search, but not for the protocol."""
    file = tmp_path / "roomy.py"
    file.write_text(COUNTER.replace("s.require(s.value < self.top)", "s.require(s.room(s.value < self.top))"))
    said = run("review", "--behaviours", file, "--b-setting", "top=4", "-s", "wraps=false")
    assert said.out.startswith(
        "DIFFERENT  roomy with top=3 -> roomy with top=4: a behaviour of 5 states is new: count(); no "
        "behaviour is gone\n"
    )
    assert "     count() is refused, only because of a bound: raise the bounds" in said.out.splitlines()
    plain = run("review", "--behaviours", counter(tmp_path), "--b-setting", "top=4", "-s", "wraps=false")
    assert "     count() is refused" in plain.out.splitlines()


def test_a_scenario_and_its_control() -> None:
    for name in ("v3-lost-zookeeper-reply", "v3-lost-zookeeper-reply-fixed-by-kafka-1382"):
        said = run("review", "--behaviours", "--scenario", name, "--visible", "log, state", "--visible", "committed")
        assert said.code == 10
        assert said.out.startswith(
            "DIFFERENT  v3-lost-zookeeper-reply -> v3-lost-zookeeper-reply-fixed-by-kafka-1382: no behaviour is new; "
            "a behaviour of 5 states is gone: commit(p=0, b=0)\nsettings that differ: read_back false -> true\n"
        )


def test_a_limit_leaves_open_what_is_not_known(tmp_path: Path) -> None:
    same = "review", "--behaviours", "kip-320", "kip-320", *TINY, "--visible", "log"
    said = run(*same, "--max-pairs", "50", "--json", tmp_path / "d.json")
    assert said.code == 152
    assert said.out.startswith("INCOMPLETE  kip-320 (first) -> kip-320 (second): no behaviour of up to ")
    assert "longer behaviours are unknown: --max-pairs is reached" in said.out
    data = json.loads((tmp_path / "d.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["behaviours"]["new"]["stopped"] == "pairs"
    assert 1 <= data["behaviours"]["new"]["equal_depth"] < 13
    assert run(*same, "--max-memory", "1MB", "--quiet").code == 152
    assert run(*same, "--max-seconds", "0.000001", "--quiet").code == 152
    assert run(*same, "--quiet").out == ("SAME  kip-320 (first) -> kip-320 (second): no behaviour is new or gone\n")


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two versions of a counter, whose limit is in a file beside it."""
    file = tmp_path / "my_counter.py"
    file.write_text("from limit_of_it import TOP\n" + COUNTER.replace("s.value < self.top", "s.value < TOP"))
    (tmp_path / "limit_of_it.py").write_text("TOP = 2\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "two")
    (tmp_path / "limit_of_it.py").write_text("TOP = 3\n")
    return file


def test_two_versions_of_a_file_each_with_the_files_beside_it(repository: Path) -> None:
    said = run("review", "--behaviours", "--a-ref", "main", "--visible", "value", "--quiet", "--", repository)
    assert (said.code, said.err) == (10, "")
    assert said.out == (
        "DIFFERENT  my-counter at main -> my-counter now: a behaviour of 4 states is new: count(); no "
        "behaviour is gone\n"
    )
    git(repository.parent, "commit", "-q", "-a", "-m", "three")
    both = run(
        "review", "--behaviours", repository, "--a-ref", "HEAD", "--b-ref", "HEAD~1", "--visible", "value", "--quiet"
    )
    assert "no behaviour is new; a behaviour of 4 states is gone: count()" in both.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--a-ref", "nosuch"), "the repository of {file} has no revision 'nosuch'; git log lists the revisions"),
        (("--a-ref=-x",), "the repository of {file} has no revision '-x'; git log lists the revisions"),
        (("--a-ref", "main", "--visible", "valu"), "'valu' does not exist in both models; did you mean value?"),
    ],
)
def test_what_git_or_the_models_do_not_have(repository: Path, given: tuple[str, ...], message: str) -> None:
    said = run("review", "--behaviours", *given, repository)
    assert said.code == 150
    assert message.format(file=repository) in said.err
    assert len(said.err.splitlines()) == 1


def test_a_file_that_a_revision_does_not_have(repository: Path) -> None:
    new = repository.with_name("new.py")
    new.write_text(COUNTER)
    said = run("review", "--behaviours", "--a-ref", "main", new)
    assert (said.code, said.err) == (150, f"isrcheck: {new} does not exist in revision main; choose a file that does\n")
    assert run("review", "--behaviours", "--a-ref", "main", "kip-320").code == 150


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("kip-320", "kip-279", "--plain"), "--plain requires --behaviours"),
        (("--behaviours",), "Missing argument 'OLD': a model, or --scenario."),
        (("--behaviours", "kip-320"), "Missing argument 'NEW', or an option that makes the sides differ"),
        (("--behaviours", "kip-320", "kip-279", "--mutate"), "--mutate cannot be combined with --behaviours"),
        (("--behaviours", "kip-320", "kip-279", "--html", "x.html"), "--html cannot be combined with --behaviours"),
        (("--behaviours", "kip-320", "--scenario", "kip-101"), "--scenario compares a scenario with its control"),
    ],
)
def test_what_does_not_go_together(given: tuple[str, ...], message: str) -> None:
    said = run("review", *given)
    assert said.code == 2
    assert message in said.err


def test_a_model_that_means_nothing_in_a_state(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(COUNTER.replace("s.require(s.value < self.top)", "s.require(s.value < 10)"))
    said = run("review", "--behaviours", "-s", "top=9", counter(tmp_path), file)
    assert said.code == 75
    assert len(said.err.splitlines()) == 1


KINDS = """\
from isrcheck import Model, action, enum, number, per


class Kinds(Model):
    \"\"\"What is kept by names that have brackets.\"\"\"

    def variables(self):
        return {{"kept": per(enum("ok", "{member}"), number(0, 1)), "role": enum("a", "b"{more})}}

    @action(actor="c")
    def go(self, s):
        \"\"\"Goes.\"\"\"
        s.require(s.kept["{member}"] == 0, {guard})
        s.kept["{member}"] = 1
"""


def kinds(folder: Path, name: str, **words: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(KINDS.format(**{"member": "list[int]", "more": "", "guard": "True", **words}))
    return path


def test_an_index_with_brackets_is_compared_like_any_other(tmp_path: Path) -> None:
    one, other = kinds(tmp_path, "one"), kinds(tmp_path, "other", guard="s.kept['ok'] == 1")
    outcome = run("review", "--behaviours", one, other, "--quiet")
    assert (outcome.code, outcome.out) == (
        10,
        "DIFFERENT  one -> other: no behaviour is new; a behaviour of 2 states is gone: go()\n",
    )
    odd = kinds(tmp_path, "odd", member="a]")
    outcome = run("review", "--behaviours", odd, odd, "--quiet")
    assert outcome.code == 150
    assert "kept[a]] cannot be compared: its index has brackets in its name; rename it" in outcome.err


def test_what_is_of_another_kind_is_named_in_the_first_line(tmp_path: Path) -> None:
    outcome = run("review", "--behaviours", kinds(tmp_path, "one"), kinds(tmp_path, "other", more=", 'c'"), "--quiet")
    assert outcome.out == "SAME  one -> other: no behaviour is new or gone (role cannot be compared)\n"
