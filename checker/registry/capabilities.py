"""The capabilities of the engines in one table, which error messages, `--help` and docs/reference/engines.md use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

ENGINES: Final = ("local", "reference", "spark", "symbolic")


@dataclass(frozen=True)
class Capability:
    """A capability that only `engines` have, with the options and arguments of `check` that need it.

    `lacking` says what an engine outside `engines` cannot do, in the words of an error message (`has no workers`).
    `usual` is the default value of the options. An option with this value needs no capability, so no engine refuses it.
    """

    engines: tuple[str, ...]
    lacking: str
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    usual: Any = None

    def of_engines(self) -> str:
        """The engines as a text: `local`, `local or spark`, `local, reference or spark`."""
        *others, last = self.engines
        return f"{', '.join(others)} or {last}" if others else last


NOT_SYMBOLIC: Final = ("local", "reference", "spark")
TABLE: Final = (
    Capability(("local",), "cannot check liveness", ("--liveness",), ("liveness",)),
    Capability(("local",), "does not support workers", ("--workers",), ("workers",)),
    Capability(("local",), "does not support symmetry reduction", ("--symmetry",), ("symmetry",)),
    Capability(("local",), "has only one kind of store", ("--store",), ("state_store",), usual="memory"),
    Capability(("local",), "has only one kind of store", ("--store-folder",)),
    Capability(("local",), "does not support this kind of checkpoint", ("--checkpoint-every",), ("checkpointing",)),
    Capability(("local", "spark"), "does not support checkpoints", ("--checkpoint", "--resume")),
    Capability(NOT_SYMBOLIC, "does not enumerate states", ("--max-states",), ("limits.states",)),
    Capability(NOT_SYMBOLIC, "does not enumerate states", ("--fail-on-vacuity",), ("fail_on_vacuity",)),
    Capability(("symbolic",), "always explores all levels", ("--depth",), ("limits.depth",)),
    Capability(
        ("local", "reference", "symbolic"),
        "gets its memory from Spark (--conf spark.executor.memory=8g)",
        ("--max-memory",),
        ("limits.memory",),
    ),
    Capability(
        ("spark",),
        "does not run on a cluster",
        ("--master", "--partitions", "--spark-threshold", "--conf"),
        ("cluster", "spark"),
    ),
    Capability(("spark",), "does not write a dataset", ("--transitions",)),
)


def refusal_of_options(engine: str, options: Mapping[str, Any]) -> str | None:
    """Returns an error message if the engine cannot use one of the given options, or None if it can use them all.

    The message is about one capability: the first in `TABLE` that the engine lacks and that a given option needs. The
    message names each given option that needs this capability. `options` maps the name of each option (`max_states`) to
    its value. An option without a value, or with its default value, does not count as given.
    """

    def given(capability: Capability) -> Iterator[str]:
        for option in capability.options:
            value = options.get(option.removeprefix("--").replace("-", "_"))
            # `is not False`, because 0 equals False, and `--spark-threshold 0` must count as given.
            if value is not None and value is not False and value not in ({}, (), capability.usual):
                yield option

    return _refusal(engine, "--engine ", given)


def refusal_of_arguments(engine: str, asked: Mapping[str, bool]) -> str | None:
    """Returns an error message if the engine cannot use a given argument of `check`. Otherwise returns None.

    As in `refusal_of_options`, the message is about one capability. `asked` maps the name of each argument to True if
    the caller gives the argument, and otherwise to False.
    """
    return _refusal(engine, "engine ", lambda capability: (name for name in capability.arguments if asked[name]))


def _refusal(engine: str, called: str, given: Callable[[Capability], Iterator[str]]) -> str | None:
    for capability in TABLE:
        names = [] if engine in capability.engines else list(given(capability))
        if names:
            verb = "require" if len(names) > 1 or names == ["workers"] else "requires"
            return f"{called}{engine} {capability.lacking}; {', '.join(names)} {verb} {called}{capability.of_engines()}"
    return None


def helped(option: str, text: str) -> str:
    """The help text of an option. The text names the engines that have the option, unless all engines have it."""
    for capability in TABLE:
        if option in capability.options:
            return f"{', '.join(capability.engines).capitalize()}: {text[0].lower()}{text[1:]}"
    return text


def as_lines() -> list[str]:
    """The table of capabilities as lines of Markdown."""
    rows = [
        f"| {', '.join(f'`{x}`' for x in a.options)} | {', '.join(f'`{x}`' for x in a.arguments)} "
        f"| {', '.join(a.engines)} | {a.lacking} |"
        for a in TABLE
    ]
    return ["| option | argument | engines | any other engine |", "|---|---|---|---|", *rows]
