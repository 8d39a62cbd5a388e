"""`isrcheck analyze`: describes the dataset that an exploration on Spark has written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.help import HeadedCommand, headed
from isrcheck.checker.cli.options import assignment, once, require_absent
from isrcheck.checker.cli.output_files import require_new_folder
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.datasets.dataset import Dataset
    from isrcheck.checker.datasets.header import ReloadedModel


@click.command("analyze", cls=HeadedCommand, short_help="Summarises a dataset of states, or compares two.")
@click.argument("folder", metavar="DIR")
@click.option(
    "--variable", "variables", multiple=True, metavar="NAME", help="Show how NAME's values are distributed over levels."
)
@click.option("--model", metavar="FILE", help="The model file, if the model is not a shipped one.")
@click.option("--decode", metavar="DIR", help="Write tables of states, transitions and traces to a new folder.")
@no_cache_option
@headed(
    "Comparison",
    click.option(
        "--diff",
        "other",
        metavar="DIR",
        help="Compare with another dataset: count the states that only one of them contains.",
    ),
    click.option(
        "--trace",
        is_flag=True,
        help="With --diff: show a shortest trace to a state that only the first dataset contains.",
    ),
    click.option(
        "--model-b", metavar="FILE", help="The model file of the other dataset, if the model is not a shipped one."
    ),
)
@headed(
    "Spark",
    click.option("--master", metavar="URL", help="The Spark master URL, if the platform does not set it."),
    click.option(
        "--conf", type=assignment, multiple=True, callback=once, metavar="NAME=VALUE", help="A Spark setting."
    ),
)
@output_options("analyze")
def command(
    folder: str, variables: tuple[str, ...], other: str | None, trace: bool, model: str | None, model_b: str | None,
    decode: str | None, **options: Any,
) -> None:  # fmt: skip
    """Summarises the dataset in DIR: states by level, steps by action, bounds that were hit, out-degrees of states.

    --variable also shows how the values of a variable are distributed over the levels.

    --diff also counts, by level, the states that only one of the two datasets contains. States that are one step away
    from a state in both datasets are also counted by the action of that step. States are compared by the variables that
    both datasets have, with the same kind of values. States that agree in these variables count as one state.

    --diff with --trace counts only the states that the first dataset contains and the other does not, by level, and
    shows a shortest trace to one of them.

    Exit codes: 10 if --diff finds a state that only one of the datasets contains (with --trace, only the first),
    otherwise 0.
    """
    if other is None:
        require_absent(("model_b", "trace"), "requires --diff")
    outputs = Outputs("analyze", options)
    outputs.require_different()
    outputs.require_writable()
    if decode is not None:
        require_new_folder(decode)
    from isrcheck.checker.datasets import dataset_summary
    from isrcheck.checker.datasets.dataset import Dataset
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import deferred
    from isrcheck.checker.results.drawing import plotted

    cluster = Cluster(master=options["master"], conf=options["conf"])
    if trace and other is not None:
        from isrcheck.checker.cli.diff import difference

        require_absent(("variables", "decode"), "cannot be combined with --trace")
        difference(folder, other, outputs, (model, model_b), cluster)
    dataset = Dataset.open(folder)
    dataset.require_files()
    compared = None if other is None else Dataset.open(other)
    if compared is not None:
        compared.require_files()
    leaves = _leaves(dataset, variables)
    data = dataset_summary.summary(dataset)
    with deferred():
        reloaded, spark = _ask_spark(dataset, data, leaves, model, decode, cluster)
        if compared is not None:
            _compare(spark, (dataset, compared), reloaded, model_b, data)
    outputs.print("\n".join(dataset_summary.text(data)))
    found = data.get("difference", {})
    differ = any(side["levels"] for name, side in found.items() if name.startswith("only_in_"))
    contents = SimpleNamespace(to_json=lambda: data, to_plot=lambda: plotted(dataset_summary.panels(data)))
    outputs.finish(contents, Exit.DIFFERENCE if differ else Exit.HOLDS)


def _leaves(dataset: Any, variables: tuple[str, ...]) -> list[int]:
    from isrcheck.checker.datasets.dataset_summary import leaves_named
    from isrcheck.model.language.errors import UnknownName, nearest

    leaves, unknown = leaves_named(dataset, variables)
    if unknown:
        names = [v["name"] for v in dataset.header["variables"]]
        raise UnknownName(f"the dataset has no variable {unknown[0]!r}; {nearest(unknown[0], names)}")
    return leaves


def _ask_spark(
    dataset: Any, data: dict[str, Any], leaves: list[int], model: str | None, decode: str | None, cluster: Any
) -> tuple[Any, Any]:
    """Starts Spark, and adds to `data` the counts that the dataset does not contain.

    These are the out-degrees of the states, and the distributions of the values of some leaves. A leaf is one of the
    integers that encode a state, and `leaves` has the indices of these leaves. If `decode` names a folder, the dataset
    is also written there as tables. Returns the origin of the dataset (its model, loaded again), and the Spark session.
    """
    from isrcheck.checker.datasets.dataset_summary import add_degrees, add_variables
    from isrcheck.checker.datasets.header import reload_model
    from isrcheck.checker.engines.spark import dataset_queries
    from isrcheck.checker.engines.spark.session import Spark

    reloaded, spark = reload_model(dataset, model), Spark(cluster)
    found = dataset_queries.degrees(spark, dataset, reloaded.kernel, bool(reloaded.system.constraints))
    add_degrees(data, found)
    if leaves:
        add_variables(data, dataset, dataset_queries.distributions(spark, dataset, leaves))
    if decode is not None:
        _decode(spark, dataset, reloaded, data, decode)
    return reloaded, spark


def _decode(spark: Any, dataset: Dataset, reloaded: ReloadedModel, data: dict[str, Any], to: str) -> None:
    """Writes the dataset as tables, and for each violated invariant the canonical trace to a violation.

    The canonical trace is one of the shortest traces, the same for every engine (`isrcheck.checker.trace.canonical`).
    """
    from isrcheck.checker.cli.diff import result_builder_of
    from isrcheck.checker.engines.spark.dataset_queries import decode

    builder = result_builder_of(spark, dataset, reloaded)
    first = {name: found["first_level"] for name, found in data["invariants"].items()}
    traces = {name: builder.violating(name, level) for name, level in first.items() if level is not None}
    decode(spark, dataset, reloaded.kernel, traces, to)


def _compare(
    spark: Any, datasets: tuple[Dataset, Dataset], reloaded: ReloadedModel, model_b: str | None, data: dict[str, Any]
) -> None:
    """Adds to `data`, for each of the two datasets, the counts of the states that only this dataset has."""
    from isrcheck.checker.datasets.dataset_summary import add_difference
    from isrcheck.checker.datasets.header import reload_model
    from isrcheck.checker.datasets.variables import shared_variables
    from isrcheck.checker.engines.spark import dataset_queries
    from isrcheck.model.language.errors import UnknownName

    reloaded_models = reloaded, reload_model(datasets[1], model_b)
    shared = shared_variables(reloaded_models[0].system, reloaded_models[1].system)
    if not shared.variables:
        raise UnknownName(f"{datasets[0].root} and {datasets[1].root} have no variable in common")
    sides = []
    for i in (0, 1):
        found = dataset_queries.beyond(spark, datasets[i], datasets[1 - i], shared, i, reloaded_models[i].kernel)
        sides.append({"levels": {str(k): n for k, n in found.levels.items()}, "actions": found.actions})
    add_difference(data, datasets[1], (shared.variables, shared.apart), sides)
