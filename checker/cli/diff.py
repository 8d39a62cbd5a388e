"""`isrcheck analyze --diff --trace`: counts the states that only one of two datasets has, and shows one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from isrcheck.checker.cli.result_output import Outputs
from isrcheck.checker.results.result import FORMAT, Exit

if TYPE_CHECKING:
    from isrcheck.checker.analysis.result_builder import ResultBuilder
    from isrcheck.checker.datasets.dataset import Dataset
    from isrcheck.checker.datasets.header import ReloadedModel
    from isrcheck.checker.engines.spark.cluster import Cluster
    from isrcheck.checker.engines.spark.dataset_queries import Difference
    from isrcheck.checker.results.result import Trace


def difference(
    one: str, other: str, outputs: Outputs, files: tuple[str | None, str | None], cluster: Cluster
) -> NoReturn:
    """Counts the states of the dataset `one` that `other` lacks, shows a trace to one of them, and ends the command.

    `files` are the files of the models of the two datasets; None for a shipped model.
    """
    from isrcheck.checker.datasets.dataset import Dataset
    from isrcheck.checker.datasets.dataset_summary import whole
    from isrcheck.checker.datasets.header import reload_model
    from isrcheck.checker.datasets.variables import shared_variables
    from isrcheck.checker.engines.spark import dataset_queries
    from isrcheck.checker.engines.spark.session import Spark, deferred
    from isrcheck.checker.results.drawing import Panel, plotted
    from isrcheck.model.language.errors import UnknownName

    datasets = Dataset.open(one), Dataset.open(other)
    for dataset in datasets:
        dataset.require_files()
    reloaded_models = [reload_model(d, m) for d, m in zip(datasets, files, strict=True)]
    shared = shared_variables(reloaded_models[0].system, reloaded_models[1].system)
    if not shared.variables:
        raise UnknownName(f"{one} and {other} have no variable in common")
    with deferred():
        spark = Spark(cluster)
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
        lines.append(f"{data['b']} was not explored completely: states that it lacks may still be reachable")
    if trace is None:
        return [*lines, f"every state of {data['a']} is in {data['b']}"]
    lines.append(f"{plural(data['only_in_a'], 'state')} only in {data['a']}, first at level {data['first_level']}")
    lines += [
        "",
        "Only in A (level, states)",
        *columns(((k, number(n)) for k, n in data["levels"].items()), right=(0, 1)),
    ]
    return [*lines, "", f"A shortest trace to one of them, in {plural(trace.length, 'state')}", *trace_text(trace)]


def result_builder_of(spark: Any, dataset: Dataset, reloaded: ReloadedModel) -> ResultBuilder:
    """The result builder that finds canonical traces in the stored levels of a dataset.

    The canonical trace is one of the shortest traces, the same for every engine (`isrcheck.checker.trace.canonical`).
    """
    from isrcheck.checker.analysis.result_builder import ResultBuilder
    from isrcheck.checker.engines.spark.dataset_paths import StoredPaths
    from isrcheck.checker.engines.spark.dataset_queries import stored_levels
    from isrcheck.checker.results.exploration import Exploration

    levels, interpreter, system = (
        stored_levels(spark, dataset, reloaded.system, reloaded.kernel), reloaded.interpreter, reloaded.system,
    )  # fmt: skip
    numbers = {label: i for i, label in enumerate(interpreter.labels)}
    order = [numbers[t.label] for t in system.transitions]
    paths = StoredPaths(levels, [interpreter.actors[n] for n in order])
    return ResultBuilder(reloaded.loaded.name, interpreter, system, Exploration(), paths, order)
