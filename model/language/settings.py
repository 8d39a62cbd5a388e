"""Settings of a model: the class body declares each setting with a default, its values, and one line of meaning.

Profiles are named sets of values for a model's settings. A command starts with the values of one profile.

Releases are the values of settings that describe the releases of a real system.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, overload

from isrcheck.model.language.domains import Broker
from isrcheck.model.language.errors import ModelError, UnknownName, mistake, nearest, require_own


class AtSettings(Protocol):
    """The interface of a model for code that needs only its settings."""

    settings: dict[str, Any]

    @classmethod
    def declared_settings(cls) -> dict[str, Setting]: ...


@dataclass
class Setting:
    """A named parameter of a model: default, range or choices, and one line of meaning.

    If the setting gives the number of members of a scalarset (such as `broker`), `counts` is this scalarset. `bound` is
    a predicate that holds in the states where the setting stops the model from continuing ("the log is full").
    `leaves_out` maps a value of the setting to a text: what the real system can do but the model omits at this value.
    Reports repeat the text, because the verdict does not cover this behaviour. `recorded=False` is for a setting that
    was added after scenarios of the model were recorded. Files of traces and scenarios name such a setting only if its
    value is not the default.
    """

    default: int | bool | str
    at_least: int | None = None
    at_most: int | None = None
    choices: tuple[str, ...] | None = None
    meaning: str = ""
    counts: Broker | None = None
    bound: Callable[[Any, Any], Any] | None = None
    leaves_out: Mapping[Any, str] = field(default_factory=dict)
    recorded: bool = True
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting: ...
    @overload
    def __get__(self, instance: AtSettings, owner: type) -> Any: ...
    def __get__(self, instance: AtSettings | None, owner: type) -> Any:
        return self if instance is None else instance.settings[self.name]

    def checked(self, value: Any) -> int | bool | str:
        """The value, if the setting allows this value; raises `UnknownName` otherwise."""
        if type(value) is not type(self.default) or not self.allows(value):
            raise UnknownName(f"setting {self.name} must be {self.domain}, not {value!r}")
        found: int | bool | str = value
        return found

    def allows(self, value: int | bool | str) -> bool:
        """True if a value, which must have the setting's type, is within the limits or among the choices."""
        outside = isinstance(value, int) and (
            (self.at_least is not None and value < self.at_least) or (self.at_most is not None and value > self.at_most)
        )
        return not outside and (self.choices is None or value in self.choices)

    def parsed(self, text: str) -> int | bool | str:
        """The setting's value for a text from the command line; raises `UnknownName` for a text that does not fit."""
        if isinstance(self.default, bool) and text in ("true", "false"):
            return text == "true"
        if isinstance(self.default, int) and not isinstance(self.default, bool):
            try:
                return self.checked(int(text))
            except ValueError:
                raise UnknownName(f"setting {self.name} must be {self.domain}, not {text!r}") from None
        return self.checked(text)

    def with_default(self, default: int | bool | str) -> Any:
        """The same setting with another default, for a model derived from the model that declares the setting."""
        return replace(self, default=self.checked(default))

    @property
    def domain(self) -> str:
        """The setting's possible values in words."""
        if self.choices is not None:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        low = "" if self.at_least is None else f" from {self.at_least}"
        high = " up" if self.at_most is None else f" to {self.at_most}"
        return f"an integer{low}{high}" if low or self.at_most is not None else "an integer"


def setting(
    default: int | bool | str,
    *,
    meaning: str,
    at_least: int | None = None,
    at_most: int | None = None,
    choices: tuple[str, ...] | None = None,
    counts: Broker | None = None,
    bound: Callable[[Any, Any], Any] | None = None,
    leaves_out: Mapping[Any, str] | None = None,
    recorded: bool = True,
) -> Any:
    """Declares a setting in the body of a model; see `Setting`."""
    if bound is not None:
        require_own(bound, 2, "the bound of a setting", "(model, s)")
    return _proper(Setting(default, at_least, at_most, choices, meaning, counts, bound, leaves_out or {}, recorded))


def budget(default: int = 0, *, at_most: int, meaning: str) -> Any:
    """Declares a setting that limits how often an event may happen. A variable with the same name counts the events.

    The setting's bound holds where the budget is used up. With a budget of 0 the event never happens, and the variable
    may be missing. With a larger budget a missing variable is a `ModelError`.
    """

    def is_used_up(m: Any, s: Any) -> Any:
        allowed = getattr(m, found.name)
        if not allowed:
            return False
        if found.name not in m.domains:
            raise ModelError(
                f"{type(m).__name__} has the budget {found.name} but no variable {found.name}; add a "
                "variable that counts"
            )
        return getattr(s, found.name) == allowed

    found: Any = _proper(Setting(default, at_least=0, at_most=at_most, meaning=meaning, bound=is_used_up))
    return found


def _proper(given: Setting) -> Setting:
    """The setting itself; raises `ModelError` if its fields have wrong types or contradict each other."""
    default, choices = given.default, given.choices
    ends = [end for end in (given.at_least, given.at_most) if end is not None]
    if not isinstance(default, int | str):
        raise mistake(f"a setting of {default!r}", "use an integer, True, False or a string")
    if ends and not isinstance(default, int):
        raise mistake(f"a setting of {default!r} with bounds", "use a number, or choices")
    for end in ends:
        if not isinstance(end, int) or isinstance(end, bool):
            raise mistake(f"a setting bounded by {end!r}", "write an integer")
    if choices is not None and not (isinstance(choices, tuple | list) and all(isinstance(x, str) for x in choices)):
        raise mistake(f"a setting with the choices {choices!r}", "use a tuple of strings")
    if not isinstance(given.meaning, str):
        raise mistake(f"a setting with the meaning {given.meaning!r}", "describe it in one line of text")
    if given.counts is not None and not isinstance(given.counts, Broker):
        raise mistake(f"a setting that counts {given.counts!r}", "write counts=broker")
    if not given.allows(default):
        raise mistake(f"a setting of {default!r} with the domain {given.domain}", "use a default in the domain")
    return given


PLAIN: Final = "plain"
"""The profile from which a command starts if the user names no profile and the model has this profile."""


BARE: Final = "bare"
"""The profile of the settings' own defaults. Every model has this profile, and no model declares it."""


Declared = Mapping[str, tuple[Mapping[str, Any], str]]
"""The profiles that a class body declares: name -> (settings, one line that says what they are for)."""


@dataclass(frozen=True)
class Profile:
    """Values of settings, and one line that says what they are for."""

    settings: dict[str, Any]
    sentence: str


def profiles_of(cls: type[AtSettings]) -> dict[str, Profile]:
    """A model's profiles by name; the profiles of base classes come first.

    If a class gives a setting a fixed value or another default, its inherited profiles omit this setting.
    """
    found: dict[str, Profile] = {}
    for owner in reversed(cls.__mro__):
        for name, (settings, sentence) in owner.__dict__.get("profiles", {}).items():
            same = {s: value for s, value in settings.items() if getattr(cls, s) is getattr(owner, s)}
            found[name] = Profile(same, sentence)
    return found


def check_profiles(cls: type[AtSettings]) -> None:
    """Raises `ModelError` if a profile in the class's own body is malformed or does not fit the class's settings."""
    declared = cls.declared_settings()
    for name, profile in cls.__dict__.get("profiles", {}).items():
        where = f"{cls.__name__}.profiles: {name}"
        if name == BARE:
            raise ModelError(f"{where} is the name of the default settings; choose another name")
        if not _is_profile(profile):
            raise ModelError(f"{where} is not a profile; write ({{setting: value, ...}}, 'one line of text')")
        for setting, value in profile[0].items():
            if setting not in declared:
                raise ModelError(f"{where}: there is no setting {setting!r}; {nearest(setting, declared)}")
            try:
                declared[setting].checked(value)
            except UnknownName as error:
                raise ModelError(f"{where}: {error}") from None


def _is_profile(given: Any) -> bool:
    match given:
        case (Mapping(), str(sentence)):
            return bool(sentence.strip()) and "\n" not in sentence
    return False


COUNTS: Final = ("", "a change", "two changes", "three changes", "four changes", "five changes", "six changes")


@dataclass(frozen=True)
class Releases:
    """The releases of a system, oldest first, and for each the values of settings that describe it.

    `values` maps a version to the possible values of each setting about the system's behaviour. A setting has several
    values if the system behaves differently in different situations.
    """

    system: str
    versions: tuple[str, ...]
    values: Callable[[str], Mapping[str, tuple[Any, ...]]]

    def settings(self, version: str) -> dict[str, Any]:
        """The settings that have one value in a version. Raises `UnknownName` for an unknown version."""
        minors = [*dict.fromkeys(".".join(known.split(".")[:2]) for known in self.versions)]
        if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version, re.ASCII) or ".".join(version.split(".")[:2]) not in minors:
            raise UnknownName(f"{self.system} {version} is not described; choose one of {', '.join(minors)}")
        return {name: allowed[0] for name, allowed in self.values(version).items() if len(allowed) == 1}

    def described(self, model: AtSettings, version: str | None = None) -> str:
        """The release that a model describes at its settings, and the settings in which it differs from the release.

        Without a `version` this is the release with the fewest differences, and the newest of several.
        """
        version = version or min(reversed(self.versions), key=lambda known: len(self._lacking(model, known)))
        lacking, name = self._lacking(model, version), f"{self.system} {version}"
        if any(cls.__dict__.get("releases") is self for cls in type(model).__mro__[1:]):
            name = f"a variant of {name}"
        if not lacking:
            return name
        counted = COUNTS[len(lacking)] if len(lacking) < len(COUNTS) else f"{len(lacking)} changes"
        return f"{name} with {counted} that it lacks: {', '.join(lacking)}"

    def _lacking(self, model: AtSettings, version: str) -> list[str]:
        """The settings whose values the release does not have. A class may have fixed a setting to a value."""
        allowed = self.values(version)
        return [name for name in sorted(allowed) if getattr(model, name, allowed[name][0]) not in allowed[name]]
