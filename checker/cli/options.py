"""Options that several commands share, and the values of these options: settings, sizes, durations, a cluster.

Completions for a shell's Tab: models, their settings with values, scenarios, invariants.

Completing never runs the code of a user's file. So settings and invariants are not completed for a model in a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from isrcheck.checker.cli.help import Command, headed
from isrcheck.checker.registry.capabilities import helped
from isrcheck.model.language.model import Model

if TYPE_CHECKING:
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.results.exploration import Checkpointing, StateStore
    from isrcheck.model.language.fairness import Fairness


def models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the models that match. If no model matches, the shell completes the name of a file."""
    from isrcheck.checker.registry.loader import model_names

    names = [CompletionItem(name) for name in model_names() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def scenarios(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the scenarios in `./counterexamples`, if this folder exists, and of the shipped scenarios."""
    from isrcheck.checker.scenarios.collection import folders, shipped

    names = {folder.name for root in ((), (str(shipped()),)) for folder, _ in folders(root)}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the name of a setting, with an equals sign. After the sign, completes a choice, or true or false."""
    loaded = _model(ctx)
    if loaded is None:
        return []
    declared, (name, equals, value) = loaded.cls.declared_settings(), incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{n}=", help=s.meaning) for n, s in declared.items() if n.startswith(name)]
    setting = declared.get(name)
    if setting is None:
        return []
    values = setting.choices or (("true", "false") if isinstance(setting.default, bool) else ())
    return [CompletionItem(f"{name}={each}") for each in values if each.startswith(value)]


def invariants(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the invariants that can be checked in the model."""
    loaded = _model(ctx)
    return [CompletionItem(name) for name in (loaded.invariants if loaded else ()) if name.startswith(incomplete)]


def _model(ctx: click.Context) -> LoadedModel | None:
    """The shipped model that the command line already names, or None."""
    from isrcheck.checker.registry.loader import load_model_class, model_names

    # If the line ends in an option without its value, click has not assigned the arguments to parameters yet.
    words = [ctx.params.get("model"), *ctx.args]
    known = [word for word in words if word in model_names()]
    return load_model_class(known[0]) if known else None


UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DECIMAL: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SIZE: Final = re.compile(r"(\d{1,18}(?:\.\d{1,9})?(?:e\d{1,2})?) ?([KMGT]?)(i?)(B?)", re.IGNORECASE | re.ASCII)


def size_of(text: str) -> int:
    """The number of bytes of a size such as `512MB`, `2GiB` or `1e9`. `MB` is decimal. `M` and `MiB` are binary."""
    found = SIZE.fullmatch(text)
    count = 0 if found is None else int(float(found[1]) * _unit(found[2].upper(), bool(found[3]), bool(found[4])))
    if count < 1:
        raise click.BadParameter(f"{text!r} is not a size; write 512MB, 2GiB or 1e9")
    return count


def _unit(letter: str, binary: bool, byte: bool) -> int:
    return (DECIMAL if byte and not binary else UNITS)[letter]


def seconds_of(text: str) -> float:
    """A duration in seconds, above zero."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise click.BadParameter(f"{text!r} is not a number of seconds above 0")
    return seconds


def assignment(text: str) -> tuple[str, str]:
    """The name and the value of the text NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()


def once(ctx: click.Context, param: click.Parameter, pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Maps each NAME of an option NAME=VALUE to its value. Raises a usage error if a name is given twice."""
    for name, _ in pairs:
        if sum(other == name for other, _ in pairs) > 1:
            raise click.BadParameter(f"{name} was given more than once", ctx, param)
    return dict(pairs)


def require_absent(names: tuple[str, ...], reason: str) -> None:
    """Raises a usage error if the command line has one of these options (named as parameters). `reason` follows it."""
    ctx = click.get_current_context()
    for param in ctx.command.params:
        if param.name in names and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{param.opts[0]} {reason}")


settings_option = click.option(
    "-s",
    "settings",
    type=assignment,
    multiple=True,
    callback=once,
    metavar="NAME=VALUE",
    shell_complete=settings,
    help="A setting of the model.",
)


profile_option = click.option(
    "--profile",
    metavar="NAME",
    help="The profile to start from: plain (if the model has it), bare, or another one that `isrcheck models` lists.",
)

fixed_version_option = click.option(
    "--fixed-version",
    "--control",
    "fixed_versions",
    multiple=True,
    metavar="WHAT",
    help="Show where a fixed design departs from the trace. The design is a setting NAME=VALUE, a scenario, "
    "or a model.",
)

expression_option = click.option(
    "--expression",
    "expressions",
    multiple=True,
    metavar="TEXT",
    help="Show the value of an expression in each state, such as 's.quorum.isr'; may be repeated.",
)

workers_option = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Number of threads. Default: one per core."
)

shipped_option = click.option("--shipped", is_flag=True, help="Use the scenarios that ship with isrcheck.")


def meant(paths: tuple[str, ...], shipped: bool) -> tuple[str, ...]:
    """The folders of scenarios that PATH or --shipped names. An empty result means the default folder."""
    if not shipped:
        return paths
    if paths:
        raise click.UsageError("--shipped and PATH both name scenarios; remove one of them")
    from isrcheck.checker.scenarios import collection

    return (str(collection.shipped()),)


def checkpoint_options(command: Command) -> Command:
    """Adds the options for checkpoints. An option that is not given is None."""
    return headed("Large spaces", *_CHECKPOINTS)(command)


def limits_options(command: Command) -> Command:
    """Adds the options for the limits of a search."""
    return headed("Bounds and limits", *_LIMITS)(command)


def specification_options(default: str | None) -> Callable[[Command], Command]:
    """Adds the options for the specification that a model should refine. `default` is the default of `--spec`."""

    return headed("Specification", _specification_option(default), *_SPECIFICATION)


def _specification_option(default: str | None) -> Callable[[Command], Command]:
    return click.option(
        "--spec",
        "specification",
        metavar="SPEC",
        default=default,
        show_default=default is not None,
        help="The specification: a name, my_log.py or my_log.py:Class.",
    )


def liveness_options(command: Command) -> Command:
    """Adds the options for liveness properties and the fairness that they assume."""
    return headed("Liveness", *_LIVENESS)(command)


def fairness_of(options: dict[str, Any]) -> Fairness:
    """Removes the options for fairness from the options of a command, and returns the fairness."""
    default, names = options.pop("fairness"), {name: options.pop(name) for name in ("strong", "weak", "unfair")}
    given = ["--fairness"] * (default is not None) + [f"--{name}" for name, actions in names.items() if actions]
    if given and not options["liveness"]:
        raise click.UsageError(f"{given[0]} requires --liveness")
    from isrcheck.model.language.fairness import Fairness

    return Fairness(default or "weak", **{name: frozenset(actions) for name, actions in names.items()})


def state_store_options(command: Command) -> Command:
    """Adds the options for the place where states are stored."""
    return headed("Large spaces", *_STATE_STORE)(command)


def state_store_of(store: str, folder: str | None) -> StateStore:
    """The place where the local engine stores states. Raises a usage error if the folder is missing or not wanted."""
    if folder is not None and store == "memory":
        raise click.UsageError("--store-folder requires --store disk")
    if folder is not None and not Path(folder).is_dir():
        raise click.UsageError(f"--store-folder: folder {folder} does not exist; create it, or choose another one")
    from isrcheck.checker.results.exploration import StateStore

    return StateStore(cast(Any, store), folder)


def fitting_options(command: click.Command) -> click.Command:
    """Adds to the help of each option the engines that support the option, unless all engines support it."""
    for option in command.params:
        if isinstance(option, click.Option):
            option.help = helped(option.opts[0], option.help or "")
    return command


def cluster_options(command: Command) -> Command:
    """Adds the options for exploring with Spark. An option that is not given is None, empty or false."""
    return headed("Spark", *_CLUSTER)(command)


_CHECKPOINTS: Final = (
    click.option("--checkpoint", metavar="DIR", help="Write checkpoints to a new folder (Spark: a dataset)."),
    click.option("--resume", metavar="DIR", help="Resume from the checkpoint in a folder, and write new ones there."),
    click.option(
        "--checkpoint-every",
        type=seconds_of,
        metavar="S",
        help="Write a checkpoint at most every S seconds. Default: 30.",
    ),
)
_LIMITS: Final = (
    click.option(
        "--max-states",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop at the end of a level with more than N states in total.",
    ),
    click.option(
        "--max-memory",
        type=size_of,
        metavar="SIZE",
        help="Stop before the states need more memory than SIZE, such as 512MB or 2GiB.",
    ),
    click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop after S seconds."),
)
_SPECIFICATION: Final = (
    click.option("--mapping", metavar="NAME", help="The mapping to the specification, if there are several."),
    click.option(
        "--spec-setting",
        "specification_settings",
        type=assignment,
        multiple=True,
        callback=once,
        metavar="NAME=VALUE",
        help="A setting of the specification, overriding the mapping.",
    ),
)
_STATE_STORE: Final = (
    click.option(
        "--store",
        type=click.Choice(["memory", "disk"]),
        default="memory",
        show_default=True,
        help="Where to keep the states: in memory or on disk, which needs much less memory.",
    ),
    click.option("--store-folder", metavar="DIR", help="The folder for the files of --store disk."),
)
_CLUSTER: Final = (
    click.option("--master", metavar="URL", help="The Spark master URL. Default: the platform's setting, or local[*]."),
    click.option(
        "--partitions", type=click.IntRange(1, 10**5), metavar="N", help="The number of partitions of the states."
    ),
    click.option(
        "--spark-threshold",
        type=click.IntRange(min=0),
        metavar="N",
        help="Use Spark only for levels with more than N states.",
    ),
    click.option(
        "--conf",
        type=assignment,
        multiple=True,
        callback=once,
        metavar="NAME=VALUE",
        help="A Spark setting.",
    ),
    click.option("--transitions", is_flag=True, help="Also store the transitions in the dataset."),
)


def cluster_of(engine: str, options: dict[str, Any]) -> Cluster | None:
    """The Spark cluster that the options describe. Returns None for an engine other than Spark."""
    if engine != "spark":
        return None
    # `is not False`, because 0 equals False, and `--spark-threshold 0` must count as given.
    given = {name: value for name, value in options.items() if value is not None and value is not False and value != {}}
    from isrcheck.checker.engines.spark.cluster import Cluster

    names = {"spark_threshold": "threshold"}
    return Cluster(**{names.get(name, name): value for name, value in given.items()})


def checkpointing_of(
    engine: str, checkpoint: str | None, resume: str | None, every: float | None
) -> Checkpointing | None:
    """The folder and the interval of the local engine's checkpoints, or None if no checkpoints are requested.

    Also returns None for any engine except `local`. The engine `spark` keeps its checkpoints in its dataset.
    """
    if checkpoint is not None and resume is not None:
        raise click.UsageError("--checkpoint starts a new search and --resume continues one; remove one of them")
    folder = checkpoint if resume is None else resume
    if every is not None and folder is None:
        raise click.UsageError("--checkpoint-every requires --checkpoint or --resume")
    if folder is None or engine != "local":
        return None
    from isrcheck.checker.results.exploration import Checkpointing

    return (
        Checkpointing(folder, resume is not None) if every is None else Checkpointing(folder, resume is not None, every)
    )


def model_at(loaded: LoadedModel, texts: dict[str, str], profile: str | None) -> Model:
    """The model with the settings of a profile. The settings in `texts` override the settings of the profile.

    If `profile` is None, the profile is `plain`, or the bare defaults if the model has no profile `plain`.
    """
    from isrcheck.checker.registry.profile_settings import begun, profile_of, settings_of

    return begun(loaded, profile_of(loaded, profile), settings_of(loaded.cls, loaded.name, texts))


_LIVENESS: Final = (
    click.option(
        "--liveness",
        multiple=True,
        metavar="NAME",
        help="Check the liveness property NAME, or 'all'; may be repeated.",
    ),
    click.option(
        "--fairness",
        type=click.Choice(["weak", "strong"]),
        help="The fairness of healing actions that declare no fairness themselves. Default: weak.",
    ),
    click.option("--strong", multiple=True, metavar="ACTION", help="Assume strong fairness for an action."),
    click.option("--weak", multiple=True, metavar="ACTION", help="Assume weak fairness for an action."),
    click.option("--unfair", multiple=True, metavar="ACTION", help="Assume no fairness for an action."),
)
