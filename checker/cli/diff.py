"""`isrcheck diff`: counts the states that one dataset has and another lacks, or compares behaviours of two models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from isrcheck.checker.cli import options as completing
from isrcheck.checker.cli.comparison import comparison_of, inclusion_options, trace_inclusion
from isrcheck.checker.cli.options import assignment, once
from isrcheck.checker.cli.result_output import Outputs, output_options
from isrcheck.checker.results.result import FORMAT, Exit

if TYPE_CHECKING:
    from isrcheck.checker.engines.spark.dataset_queries import Difference
    from isrcheck.checker.results.result import Trace

OF_DATASETS: Final = ("model_a", "model_b", "master", "conf")


@click.command("diff", short_help="Says what one model or dataset has and another has not.")
@click.argument("one", metavar="A", required=False, shell_complete=completing.models)
@click.argument("other", metavar="B", required=False, shell_complete=completing.models)
@inclusion_options
@click.option("--model-a", metavar="FILE", help="The file of dataset A's model, if the model is your own.")
@click.option("--model-b", metavar="FILE", help="The file of dataset B's model, if the model is your own.")
@output_options("diff")
@click.option("--master", metavar="URL", help="The address of Spark, if the platform does not set it.")
@click.option("--conf", type=assignment, multiple=True, callback=once, metavar="NAME=VALUE", help="A setting of Spark.")
def command(one: str | None, other: str | None, **options: Any) -> None:
    """Counts the states of dataset A that are not in dataset B, by level, and shows a shortest trace to one of them.

    States are compared by the common variables, which both datasets have with the same kind of values. States that
    agree in the common variables count as one state.

    With --behaviours, A and B are models. Without B, both sides are A, and an option such as --b-setting or --a-ref
    says what differs. With --scenario, the sides are a scenario and its control. The command shows a shortest behaviour
    that only B has, and a shortest behaviour that only A has. Two behaviours differ if the visible variables
    (--visible) change differently. Steps that change no visible variable do not count.

    Exit codes: 0 if there is no difference, 10 if there is one, 152 if a limit ended the search for what only A has, or
    the search for what only B has.
    """
    outputs = Outputs("diff", options)
    of_datasets = {f"--{name.replace('_', '-')}": options.pop(name) for name in OF_DATASETS}
    asked = comparison_of(options)
    if asked is None:
        if one is None or other is None:
            raise click.UsageError("Missing argument 'A' or 'B': the folders of two datasets, or --behaviours.")
        datasets(one, other, outputs, *of_datasets.values())
    for option, value in {**of_datasets, "--plot": outputs["plot"]}.items():
        if value:
            raise click.UsageError(f"{option} is for datasets; take it or --behaviours away")
    trace_inclusion(one, other, outputs, asked)


def datasets(
    one: str, other: str, outputs: Outputs, model_a: str | None, model_b: str | None, master: str | None,
    conf: dict[str, str],
) -> NoReturn:  # fmt: skip
    """Counts the states of the dataset `one` that `other` lacks, shows a trace to one of them, and ends the command."""
    outputs.require_different()
    outputs.require_writable()
    from isrcheck.checker.cli.analyze import result_builder_of
    from isrcheck.checker.datasets.dataset import Dataset
    from isrcheck.checker.datasets.dataset_summary import whole
    from isrcheck.checker.datasets.header import reload_model
    from isrcheck.checker.datasets.variables import shared_variables
    from isrcheck.checker.engines.spark import dataset_queries
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.session import Spark, deferred
    from isrcheck.checker.results.drawing import Panel, plotted
    from isrcheck.model.language.errors import UnknownName

    datasets = Dataset.open(one), Dataset.open(other)
    for dataset in datasets:
        dataset.require_files()
    reloaded_models = [reload_model(d, m) for d, m in zip(datasets, (model_a, model_b), strict=True)]
    shared = shared_variables(reloaded_models[0].system, reloaded_models[1].system)
    if not shared.variables:
        raise UnknownName(f"{one} and {other} have no variable in common")
    with deferred():
        spark = Spark(Cluster(master=master, conf=conf))
        found = dataset_queries.difference(spark, *datasets, shared)
        trace = None
        if found.first is not None and found.least is not None:
            builder = result_builder_of(spark, datasets[0], reloaded_models[0])
            trace = builder.replayed(builder.paths.to_state(found.least, found.first))
    data = _data(datasets, shared, found, trace, whole(datasets[1]))
    outputs.print("\n".join(_text(data, trace)))
    series = {f"only in {one}": list(found.levels.values())}
    panel = Panel("states by the level of A", [*map(str, found.levels)], series)
    contents = SimpleNamespace(to_json=lambda: data, to_plot=lambda: plotted([panel]))
    outputs.finish(contents, Exit.DIFFERENCE if found.levels else Exit.HOLDS)


def _data(
    datasets: tuple[Any, Any], shared: Any, found: Difference, trace: Trace | None, whole: bool
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "a": datasets[0].root,
        "b": datasets[1].root,
        "common_variables": list(shared.variables),
        "other_variables": list(shared.apart),
        "only_in_a": sum(found.levels.values()),
        "first_level": found.first,
        "levels": {str(level): count for level, count in found.levels.items()},
        "b_explored_to_the_end": whole,
        "trace": None if trace is None else trace.to_json(),
    }


def _text(data: dict[str, Any], trace: Trace | None) -> list[str]:
    from isrcheck.checker.report.counterexample_text import trace_text
    from isrcheck.checker.results.text_layout import columns, number, plural

    lines = [f"compared by {', '.join(data['common_variables'])}"]
    if data["other_variables"]:
        lines.append(f"not compared: {', '.join(data['other_variables'])}")
    if not data["b_explored_to_the_end"]:
        lines.append(f"{data['b']} was not explored to the end: what is not in it may be reachable all the same")
    if trace is None:
        return [*lines, f"every state of {data['a']} is in {data['b']}"]
    lines.append(
        f"{plural(data['only_in_a'], 'state')} only in {data['a']}, the first ones in level {data['first_level']}"
    )
    lines += [
        "",
        "Only in A (level, states)",
        *columns(((k, number(n)) for k, n in data["levels"].items()), right=(0, 1)),
    ]
    return [*lines, "", f"A shortest way to one of them, in {plural(trace.length, 'state')}", *trace_text(trace)]
