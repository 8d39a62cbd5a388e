"""Settings of a model: declared in its body, each with a default, its values, and one line of meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, overload

from isrcheck.model.language.domains import Broker
from isrcheck.model.language.errors import ModelError, UnknownName, mistake, require_own


class AtSettings(Protocol):
    """What is asked of a model where only its settings matter."""

    settings: dict[str, Any]

    @classmethod
    def declared_settings(cls) -> dict[str, Setting]: ...


@dataclass
class Setting:
    """A named parameter of a model: default, range or choices, and one line of meaning.

    `counts` is `broker`, or another scalarset, on the setting that says how many there are. `bound` is a predicate over
    states: the states in which the setting keeps the model from going on ("the log is full"). `leaves_out` has for some
    values what happens in the real system but not in the model: a report says so, because a verdict then holds only
    without it. `recorded=False` is for a setting that a model got after scenarios of it were recorded: files of traces
    and scenarios name it only where it is not the default.
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
        """The value, if the setting can have it; `UnknownName` otherwise."""
        if type(value) is not type(self.default) or not self.allows(value):
            raise UnknownName(f"setting {self.name} is {self.domain}, not {value!r}")
        found: int | bool | str = value
        return found

    def allows(self, value: int | bool | str) -> bool:
        """Whether a value of the right type is one of its own."""
        outside = isinstance(value, int) and (
            (self.at_least is not None and value < self.at_least) or (self.at_most is not None and value > self.at_most)
        )
        return not outside and (self.choices is None or value in self.choices)

    def parsed(self, text: str) -> int | bool | str:
        """The value that a command line writes."""
        if isinstance(self.default, bool) and text in ("true", "false"):
            return text == "true"
        if isinstance(self.default, int) and not isinstance(self.default, bool):
            try:
                return self.checked(int(text))
            except ValueError:
                raise UnknownName(f"setting {self.name} is {self.domain}, not {text!r}") from None
        return self.checked(text)

    def with_default(self, default: int | bool | str) -> Any:
        """The same setting with another default, for a model that is built upon the one that declares it."""
        return replace(self, default=self.checked(default))

    @property
    def domain(self) -> str:
        """Its values in words."""
        if self.choices is not None:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        low = "" if self.at_least is None else f" from {self.at_least}"
        high = " up" if self.at_most is None else f" to {self.at_most}"
        return f"a whole number{low}{high}" if low or self.at_most is not None else "a whole number"


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
    """Declares how often something may happen, from 0 to `at_most` times: a variable of the same name counts it.

    Its bound is that it is used up. With a budget of 0 it never happens, and there need not be such a variable; else
    `ModelError` if there is none.
    """

    def is_used_up(m: Any, s: Any) -> Any:
        allowed = getattr(m, found.name)
        if not allowed:
            return False
        if found.name not in m.domains:
            raise ModelError(
                f"{type(m).__name__} has the budget {found.name} but no variable {found.name}; add one that counts"
            )
        return getattr(s, found.name) == allowed

    found: Any = _proper(Setting(default, at_least=0, at_most=at_most, meaning=meaning, bound=is_used_up))
    return found


def _proper(given: Setting) -> Setting:
    """The setting; `ModelError` where what its author says of it does not go together."""
    default, choices = given.default, given.choices
    ends = [end for end in (given.at_least, given.at_most) if end is not None]
    if not isinstance(default, int | str):
        raise mistake(f"a setting of {default!r}", "give a whole number, True, False or a text")
    if ends and not isinstance(default, int):
        raise mistake(f"a setting of {default!r} with ends", "give a number, or choices")
    for end in ends:
        if not isinstance(end, int) or isinstance(end, bool):
            raise mistake(f"a setting that ends at {end!r}", "give a whole number")
    if choices is not None and not (isinstance(choices, tuple | list) and all(isinstance(x, str) for x in choices)):
        raise mistake(f"a setting with the choices {choices!r}", "give a tuple of texts")
    if not isinstance(given.meaning, str):
        raise mistake(f"a setting with the meaning {given.meaning!r}", "say in a line of text what it is")
    if given.counts is not None and not isinstance(given.counts, Broker):
        raise mistake(f"a setting that counts {given.counts!r}", "write counts=broker")
    if not given.allows(default):
        raise mistake(f"a setting of {default!r} that is {given.domain}", "give a default that it can have")
    return given
