"""`isrcheck prove`: proves by induction, without a search, that an invariant holds in every reachable state."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import model_at, seconds_of, size_of
from isrcheck.checker.cli.result_output import Outputs, deliver, output_options
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import FORMAT, Exit
from isrcheck.model.language.profiles import BARE

if TYPE_CHECKING:
    from isrcheck.checker.proofs.attempts import Attempt
    from isrcheck.checker.proofs.proof_result import ProofResult
    from isrcheck.checker.results.text_layout import Ink


@click.command("prove", short_help="Proves an invariant by induction, within bounds or without.")
@model_or_scenario
@click.option("--invariant", "invariants", multiple=True, metavar="NAME", help="Prove only NAME; may be repeated.")
@click.option("--k", type=int, metavar="N", help="Plain k-induction, without lemmas.")
@click.option("--proof", "proof", metavar="SPEC", help="Lemmas: a name, my_proof.py or my_proof.py:Class.")
@click.option("--unbounded", is_flag=True, help="Prove without bounds; only the number of brokers stays bounded.")
@click.option("--redundant", is_flag=True, help="Say which lemmas can be dropped.")
@click.option("--houdini", is_flag=True, help="Drop lemmas that a step can break, until the rest is inductive.")
@click.option("--mutants", is_flag=True, help="Check that the proof fails for models that lack a needed rule.")
@click.option("--certificate", metavar="DIR", help="Write every obligation as SMT-LIB into a new folder.")
@output_options("prove")
@click.option(
    "--max-memory",
    type=size_of,
    metavar="SIZE",
    help="Stop before the solver takes more memory than SIZE: 512MB, 2GiB.",
)
@click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop after S seconds.")
@click.option("--all", "every", is_flag=True, help="Show every counterexample to induction.")
@click.option("--quiet", is_flag=True, help="Print only the verdict; no progress.")
def command(model: str, settings: dict[str, str], **options: Any) -> None:
    """Proves invariants of MODEL: they hold at the start, and every step keeps them.

    Without --profile the settings are the bare defaults, for which the shipped proofs were written.

    If neither --proof nor --k is given, the command tries the shipped proof of the model. If no shipped proof covers
    the invariants, it tries plain induction. Some options need a proof with lemmas: --unbounded, --redundant,
    --houdini, --mutants and --certificate. With one of these, the command fails (150) if there is no such proof.

    Exit codes: 0 if proved, 10 if not proved (the invariants may still hold), 12 if an invariant is
    violated, 150 for an unknown name, 152 if a limit is reached.
    """
    outputs = Outputs("prove", options)
    about = {"format": FORMAT, "prove": model, "settings": settings, "verdict": "incomplete"}
    try:
        outputs.require_writable()
        result = _prove(model, settings, **options)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None and failure.code != Exit.OUTPUT:
            about |= {"reason": failure.message, "exit_code": failure.code}
            outputs.write_unfinished(SimpleNamespace(to_json=lambda: about))
        raise
    _deliver(result, outputs, options["every"], options["quiet"])


def _prove(
    model: str,
    settings: dict[str, str],
    profile: str | None,
    invariants: tuple[str, ...],
    k: int | None,
    proof: str | None,
    unbounded: bool,
    redundant: bool,
    houdini: bool,
    mutants: bool,
    certificate: str | None,
    max_memory: int | None,
    max_seconds: float | None,
    every: bool,
    quiet: bool,
) -> ProofResult:
    from isrcheck.checker.cli.progress import Watcher
    from isrcheck.checker.proofs.prove import chosen_proof
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.checker.results.exploration import Limits

    loaded = load_model_class(model)
    with blaming(loaded.source_file):
        values = model_at(loaded, settings, profile or BARE).settings
    limits = Limits(None, max_seconds, max_memory)
    _require_sensible(k, proof, {"--unbounded": unbounded, "--redundant": redundant, "--houdini": houdini,
                                 "--mutants": mutants, "--certificate": certificate})  # fmt: skip
    chosen = None if k is not None else chosen_proof(loaded, proof, invariants)
    if certificate is not None and Path(certificate).exists():
        raise CommandError(f"cannot write {certificate}: it exists; name a new folder", Exit.OUTPUT)
    with blaming(loaded.source_file), blaming(_file(proof)), Watcher(quiet=quiet) as watcher:
        if chosen is None:
            if unbounded or redundant or houdini or mutants or certificate:
                raise CommandError(
                    f"no proof of {loaded.name} ships for these invariants; name one: --proof", Exit.UNKNOWN
                )
            from isrcheck.checker.proofs.induction import induction

            return induction(loaded, values, invariants or None, 1 if k is None else k, limits, watcher.stage)
        from isrcheck.checker.proofs.attempts import Attempt
        from isrcheck.checker.proofs.lemmas import by_lemmas

        form = "unbounded" if unbounded else "bit-vectors"
        attempt = Attempt(loaded, values, chosen, invariants or None, form, redundant, houdini)  # type: ignore[arg-type]
        result = by_lemmas(attempt, limits, watcher.stage)
        if mutants and result.verdict == "proved":
            from isrcheck.checker.proofs.lemmas import try_mutants

            try_mutants(attempt, result, limits, watcher.stage)
        if certificate is not None:
            _certify(certificate, model, attempt, proof, result)
        return result


def _require_sensible(k: int | None, proof: str | None, others: dict[str, Any]) -> None:
    if k is None:
        return
    if k < 1:
        raise CommandError(f"--k {k} proves nothing; induction needs one state or more: --k 1", Exit.UNKNOWN)
    given = [name for name, value in {"--proof": proof, **others}.items() if value]
    if given:
        raise click.UsageError(f"--k is plain induction, without lemmas; take {', '.join(given)} away")


def _file(spec: str | None) -> Path | None:
    """The user's file that a proof comes from, or None for a shipped proof."""
    path = (spec or "").partition(":")[0]
    return Path(path) if path.endswith(".py") else None


def _certify(folder: str, model: str, attempt: Attempt, proof: str | None, result: ProofResult) -> None:
    from isrcheck.checker.proofs.certificates import write

    if result.verdict != "proved":
        click.echo(f"isrcheck: nothing is proved; {folder} is not written", err=True)
        return
    write(Path(folder), model, proof, attempt, result)


def _deliver(result: ProofResult, outputs: Outputs, every: bool, quiet: bool) -> NoReturn:
    from isrcheck.checker.report.proof_text import report, verdict_line

    def text(ink: Ink) -> str:
        return f"{verdict_line(result, ink)}\n" if quiet else report(result, ink, every)

    deliver(outputs, result, text)
