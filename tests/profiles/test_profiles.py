"""Profiles: their effect on a question, that the plain profile is interesting, and the size of each profile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from isrcheck import Model, ModelError, UnknownName, check, simulate
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language.setting_constraints import Inert
from isrcheck.model.language.settings import profiles_of
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.cli.running import run
from tests.designs.shipped import DESIGNS
from tests.marks import EXHAUSTIVE, RELEASE, one_in
from tests.profiles.regenerate import RECORDED, profiles, size_of, sized

LARGE = ("kraft", "alter-isr")
"""Designs whose code takes seconds to compile. The search of `kraft` takes half a minute."""
PLAIN = [pytest.param(name, marks=EXHAUSTIVE if name in LARGE else ()) for name in DESIGNS]
SLOWEST = {"worst-case": ("kraft", "majority", "primary-backup"), "with-fixes": ("kraft",)}
"""Designs whose profile takes a quarter of a minute or more."""
SIZES: dict[str, dict[str, dict[str, Any]]] = json.loads(RECORDED.read_text(encoding="utf-8"))
FAILURES = {
    "v1": {"crashes", "expiries"},
    "v2": {"crashes", "expiries"},
    "v3": {"crashes", "expiries"},
    "alter-isr": {"crashes", "expiries", "controller_failover"},
    "kraft": {"crashes", "expiries"},
    "majority": {"crashes", "lossy_crashes", "timeouts"},
    "primary-backup": {"crashes"},
}
"""The failures in the plain check of a design: of brokers, sessions, the controller, or others of the design."""
LOSES = ("v1", "v2")
"""Designs that were abandoned because they lose committed records when a leader misses its own expiry."""
V1: Any = load_model_class("v1").cls
V3: type[Model] = load_model_class("v3").cls


# --- what the profiles of the designs say ---------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS)
def test_a_design_has_the_four_profiles(design: str) -> None:
    found = profiles_of(load_model_class(design).cls)
    assert set(found) == {"plain", "as-written", "with-fixes", "worst-case"}
    for name, profile in found.items():
        claimed = "violated" if "violated" in profile.sentence else "holds"
        assert claimed == SIZES[design][name]["verdict"], f"the sentence of {name}"


@pytest.mark.parametrize("design", PLAIN)
def test_the_plain_check_has_failures_and_leaves_nothing_out(design: str) -> None:
    result = check(design, keep_going=True)
    assert (result.profile, result.reason, result.left) == ("plain", None, 0)
    assert (result.verdict == "violated") == (design in LOSES)
    assert (result.actions_never_fired, result.goals_never_reached, result.inert) == ([], [], {})
    assert "another-broker-leads" in result.goals or design == "majority"
    assert FAILURES[design] <= {name for name, value in result.settings.items() if value}
    assert result.distinct < (15_000_000 if design == "kraft" else 300_000)
    if design not in LOSES:
        assert size_of(result) == SIZES[design]["plain"]


def recorded() -> list[tuple[str, str]]:
    """Designs and profiles, first those of `kraft`. Leaves out the plain checks that the test above compares."""
    rest = [(design, profile) for design, profile in profiles() if profile != "plain" or design in LOSES]
    return sorted(rest, key=lambda one: one[0] != "kraft")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("design", "profile"),
    [
        *one_in(2, (one for one in recorded() if one[0] not in SLOWEST.get(one[1], ()))),
        *(pytest.param(*one, marks=RELEASE) for one in recorded() if one[0] in SLOWEST.get(one[1], ())),
    ],
)
def test_a_profile_is_as_large_as_recorded(design: str, profile: str) -> None:
    assert sized(design, profile) == SIZES[design][profile]


@pytest.mark.exhaustive
@pytest.mark.parametrize("design", one_in(2, ["v3", "alter-isr"]))
def test_a_plain_check_says_what_a_lossy_crash_does(design: str) -> None:
    sentence = profiles_of(load_model_class(design).cls)["plain"].sentence
    (said,) = re.findall(r"with (lossy_crashes=.*) a committed record is lost, in (\d+) states", sentence)
    settings = {name: int(value) for name, value in (word.split("=") for word in said[0].split())}
    trace = check(design, settings, invariants=["no-committed-loss"]).invariants["no-committed-loss"].trace
    assert (trace and trace.length) == int(said[1])


def test_what_v1_loses_with_its_fixes_it_loses_by_truncation() -> None:
    class Keeps(V1):
        def become_follower(self, s: Any, p: int, b: Any, leader: Any, epoch: Any, truncates: Any = True) -> None:
            super().become_follower(s, p, b, leader, epoch, False)

    assert "by truncation to the high watermark" in profiles_of(V1)["with-fixes"].sentence
    found = check(Keeps, profile="with-fixes", invariants=["no-committed-loss"])
    assert (found.verdict, found.distinct) == ("holds", 76_358)


def test_models_lists_profiles_with_sizes_and_what_differs() -> None:
    out = run("models", "v3").out
    assert "Profiles (the starting point of -s; plain unless --profile is given; bare: all defaults)" in out
    assert f"{SIZES['v3']['plain']['states']:,} states, depth {SIZES['v3']['plain']['depth']}" in " ".join(out.split())
    listed = json.loads(run("models", "v3", "--json").out)["profiles"]["plain"]
    assert (listed["settings"]["crashes"], listed["verdict"]) == (1, "holds")
    assert "Profiles" not in run("models", "kip-101").out


# --- what a question begins with ------------------------------------------------------------------------------------

SMALL = {"replicas": 2, "log_size": 1, "max_leader_epoch": 0, "max_records": 1}


def test_names_and_classes_begin_with_plain_and_instances_with_the_defaults() -> None:
    plain = profiles_of(V3)["plain"].settings
    for model in ("v3", V3):
        result = check(model, SMALL, invariants=[])
        assert result.profile == "plain"
        assert result.settings == V3(**{**plain, **SMALL}).settings
    assert check("v3", SMALL, profile="bare", invariants=[]).settings == V3(**SMALL).settings
    here = check(V3(**SMALL), invariants=[])
    assert (here.profile, here.settings) == (None, V3(**SMALL).settings)
    assert simulate("v3", SMALL, walks=1, seed=1).settings == V3(**{**plain, **SMALL}).settings
    assert check("kip-101", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}).profile is None


def test_another_profile_is_named_and_an_unknown_one_refused() -> None:
    assert check("v3", SMALL, profile="as-written", invariants=[]).settings["unclean"] is True
    words = (
        r"model v3 has no profile 'plan'; did you mean plain\? known: as-written, bare, plain, with-fixes, worst-case"
    )
    with pytest.raises(UnknownName, match=words):
        check("v3", profile="plan")
    with pytest.raises(
        UnknownName, match="profile plain cannot be given with an instance of a model, which already has its settings"
    ):
        check(V3(), profile="plain")
    with pytest.raises(UnknownName, match="model kip-101 has no profile 'plain'; known: bare"):
        check("kip-101", profile="plain")


def test_the_command_line_says_which_profile(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    words = [word for name, value in SMALL.items() for word in ("-s", f"{name}={value}")]
    said = run("check", "v3", *words, "--json", path)
    assert "Settings (profile plain)" in said.out
    assert json.loads(path.read_text())["profile"] == "plain"
    run("check", "v3", "--profile", "bare", *words, "--json", path)
    assert json.loads(path.read_text())["profile"] is None
    refused = run("check", "--scenario", "v3-unclean-election", "--profile", "plain")
    assert (refused.code, "remove --profile" in refused.err) == (2, True)
    assert run("check", "v3", "--profile", "plan").code == 150


def test_an_error_says_what_of_it_comes_from_the_profile() -> None:
    words = (
        "isrcheck: min_isr=2 and replicas=1 cannot be combined: an ISR has at most all replicas; use a "
        "smaller min_isr or more replicas (min_isr=2 from profile plain; set it as well, or use "
        "--profile bare)\n"
    )
    found = run("check", "v3", "-s", "replicas=1")
    assert (found.code, found.err) == (150, words)


# --- models built upon a design -------------------------------------------------------------------------------------


def test_a_subclass_inherits_profiles_but_what_it_says_itself_counts() -> None:
    class Variant(V3):
        truncation = "kip-101"
        crashes = V3.crashes.with_default(2)  # type: ignore[attr-defined]
        profiles = {"mine": ({"expiries": 2}, "two expiries")}  # noqa: RUF012

    found = profiles_of(Variant)
    assert set(found) == {*profiles_of(V3), "mine"}
    assert set(profiles_of(V3)["plain"].settings) - set(found["plain"].settings) == {"truncation", "crashes"}
    settings = check(Variant, SMALL, invariants=[]).settings
    assert (settings["crashes"], settings["expiries"], "truncation" in settings) == (2, 1, False)


MISTAKES: list[tuple[Any, str]] = [
    ({"bare": ({}, "nothing")}, "Odd.profiles: bare is the name of the default settings; choose another name"),
    (
        {"plain": {"crashes": 1}},
        "Odd.profiles: plain is not a profile; write ({setting: value, ...}, 'one line of text')",
    ),
    ({"plain": ({"crashes": 9}, "many")}, "Odd.profiles: plain: setting crashes must be an integer from 0 to 3, not 9"),
    ({"plain": ({"crashs": 1}, "a typo")}, "Odd.profiles: plain: there is no setting 'crashs'; did you mean crashes"),
]


@pytest.mark.parametrize(("given", "words"), MISTAKES)
def test_a_mistake_in_a_profile_is_named(given: Any, words: str) -> None:
    with pytest.raises(ModelError) as error:
        type("Odd", (V3,), {"profiles": given})
    assert str(error.value).startswith(words)


# --- bounds and settings that go together ---------------------------------------------------------------------------


def test_a_budget_of_nothing_is_not_explored(tmp_path: Path) -> None:
    path, page = tmp_path / "r.json", tmp_path / "r.html"
    words = [word for name, value in SMALL.items() for word in ("-s", f"{name}={value}")]
    out = run("check", "v3", "--profile", "bare", *words, "--json", path, "--html", page).out
    noted = {line.split()[0]: " ".join(line.split()[2:]) for line in out.splitlines() if len(line.split()) > 2}
    assert (noted["crashes"], noted["expiries"], noted["log_size"]) == ("not explored", "not explored", "bound hit")
    data = json.loads(path.read_text())
    assert {"crashes", "expiries", "lossy_crashes"} <= set(data["bounds_not_explored"])
    assert not set(data["bounds_not_explored"]) & set(data["bounds_hit"])
    assert "not explored" in page.read_text()


CLASHES = [
    ("v3", {"isr_at_start": 3}, "isr_at_start=3 and replicas=2 cannot be combined: the first ISR has at most all"),
    ("v2", {"assigned_at_start": 3}, "assigned_at_start=3 and replicas=2 cannot be combined: there are not that many"),
    ("v1", {"reassignments": 1, "replicas": 1}, "reassignments=1 and replicas=1 cannot be combined: a partition on"),
    ("majority", {"min_isr": 3}, "min_isr=3 and replicas=2 cannot be combined: an ISR has at most all replicas"),
    ("v3", {"max_version": 0}, "setting max_version must be an integer from 1 to 15, not 0"),
]


@pytest.mark.parametrize(("design", "settings", "words"), CLASHES)
def test_settings_that_do_not_go_together_are_refused(design: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownName) as error:
        check(design, settings, profile="bare")
    assert str(error.value).startswith(words)


def test_the_report_says_which_setting_does_nothing() -> None:
    words = ("-s", "log_size=1", "-s", "max_leader_epoch=0", "-s")
    out = run("check", "v3", "--profile", "bare", *words, "fence_fetch=false").out
    assert "false           no effect: it needs truncation=kip-320 or on-fetch" in out
    # With on-fetch, an answer to a fetch says where to truncate. There is no other request for it that could be fenced.
    for value, idle in (("kip-320", ""), ("on-fetch", "does nothing"), ("kip-101", "does nothing")):
        out = run("check", "v3", "--profile", "bare", "-s", f"truncation={value}", *words, "fence_truncation=false").out
        assert ("false         no effect: it needs truncation=kip-320\n" in out) == bool(idle)


def meaning(system: TransitionSystem) -> Any:
    """All that engines use of a model at its settings. While two results are kept, equal nodes are the same object."""
    predicates = (*system.constraints, *system.invariants, *system.goals)
    return (
        [(leaf.path, leaf.low, leaf.high) for leaf in system.leaves],
        system.initial,
        [(str(t.label), id(t.guard), list(t.updates), id(t.failure)) for t in system.transitions],
        [id(node) for t in system.transitions for node in t.updates.values()],
        [(p.name, id(p.holds), id(p.failure)) for p in predicates],
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("design", PLAIN)
def test_a_setting_that_is_said_to_do_nothing_does_nothing(design: str) -> None:
    cls = load_model_class(design).cls
    declared = cls.declared_settings()
    said = [one for base in cls.__mro__ for one in base.__dict__.get("together", ()) if isinstance(one, Inert)]
    model = cls()
    usual = trace(model, load_model_class(design).chosen(None))
    for name in {name for one in said if not one.unless(model) for name in one.settings} & declared.keys():
        setting = declared[name]
        other: Any = not setting.default
        if setting.choices is not None:
            other = next(c for c in setting.choices if c != setting.default)
        elif not isinstance(setting.default, bool):
            other = int(setting.default) + 1
        changed = trace(cls(**{name: other}), load_model_class(design).chosen(None))
        assert meaning(changed) == meaning(usual), name
