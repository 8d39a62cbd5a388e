"""`isrcheck prove`: proves by induction, without a search, that an invariant holds in every reachable state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from isrcheck.checker.cli.cache import no_cache_option
from isrcheck.checker.cli.console import say
from isrcheck.checker.cli.help import HeadedCommand, headed
from isrcheck.checker.cli.model_options import model_or_scenario
from isrcheck.checker.cli.options import model_at, require_absent, seconds_of, size_of
from isrcheck.checker.cli.result_output import Outputs, deliver, output_options
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import FORMAT, Exit
from isrcheck.model.language.settings import BARE

if TYPE_CHECKING:
    from isrcheck.checker.proofs.certificates import Verified

if TYPE_CHECKING:
    from isrcheck.checker.proofs.attempts import Attempt
    from isrcheck.checker.proofs.proof_result import ProofResult
    from isrcheck.checker.results.text_layout import Ink


OF_PROOFS: Final = (
    "settings", "profile", "scenario", "invariants", "k", "unbounded", "redundant", "houdini", "mutants", "certificate",
    "every",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """The options of `isrcheck prove`."""

    model: str
    settings: dict[str, str]
    profile: str | None
    invariants: tuple[str, ...]
    k: int | None
    proof: str | None
    unbounded: bool
    redundant: bool
    houdini: bool
    mutants: bool
    certificate: str | None
    max_memory: int | None
    max_seconds: float | None
    every: bool
    quiet: bool

    def of_lemmas(self) -> dict[str, Any]:
        """The options that need a proof with lemmas."""
        names = ("unbounded", "redundant", "houdini", "mutants", "certificate")
        return {f"--{name}": getattr(self, name) for name in names}


@click.command("prove", cls=HeadedCommand, short_help="Proves invariants by induction, or verifies a certificate.")
@model_or_scenario
@click.option(
    "--invariant", "invariants", multiple=True, metavar="NAME", help="Prove only invariant NAME; may be repeated."
)
@click.option("--k", type=int, metavar="N", help="Plain k-induction, without lemmas.")
@click.option("--proof", "proof", metavar="SPEC", help="The lemmas: a name, my_proof.py or my_proof.py:Class.")
@click.option("--unbounded", is_flag=True, help="Prove for all bounds; only the number of brokers is fixed.")
@click.option("--redundant", is_flag=True, help="Report which lemmas are redundant.")
@click.option("--houdini", is_flag=True, help="Drop lemmas that a step violates, until the rest is inductive.")
@click.option("--mutants", is_flag=True, help="Check that the proof fails for models without a necessary rule.")
@click.option("--all", "every", is_flag=True, help="Show all counterexamples to induction.")
@click.option("--quiet", is_flag=True, help="Print only the verdict; no progress.")
@no_cache_option
@headed(
    "Certificates",
    click.option("--certificate", metavar="DIR", help="Write every obligation in SMT-LIB to a new folder."),
    click.option("--verify", metavar="DIR", help="Verify the certificate in a folder, instead of proving."),
    click.option(
        "--patience",
        type=seconds_of,
        default="20",
        metavar="S",
        help="With --verify: time limit of cvc5 for each obligation, in seconds [20].",
    ),
    click.option(
        "--z3-only", is_flag=True, help="With --verify: use only z3, because cvc5 is slow on large certificates."
    ),
)
@headed(
    "Bounds and limits",
    click.option(
        "--max-memory",
        type=size_of,
        metavar="SIZE",
        help="Stop before the solver needs more memory than SIZE, such as 512MB or 2GiB.",
    ),
    click.option("--max-seconds", type=seconds_of, metavar="S", help="Stop after S seconds."),
)
@output_options("prove")
def command(
    model: str | None, settings: dict[str, str], verify: str | None, patience: float, z3_only: bool, **options: Any
) -> None:
    """Proves invariants of MODEL: they hold initially, and every step preserves them.

    Without --profile, the bare defaults are used, for which the shipped proofs were written.

    If neither --proof nor --k is given, the command uses the shipped proof of the model or, if none covers the
    invariants, plain induction. The options --unbounded, --redundant, --houdini, --mutants and --certificate require a
    proof with lemmas. Without one the command fails (150).

    Exit codes: 0 if proved, 10 if not proved (the invariants may still hold), 12 if an invariant is violated, 150 for
    an unknown name, 152 if a limit is reached.

    --verify checks that the files in DIR are the obligations of its proof, and that z3 finds each of them
    unsatisfiable. MODEL and --proof are required only if they are not shipped. If cvc5 is installed, it is used as
    well; it need not decide every obligation, but must not find one satisfiable. The command also checks the side
    conditions of the proof, which tie it to this model. Exit codes: 0 if accepted, 10 if rejected, 150 if DIR is not a
    certificate or does not match its model and proof, 152 if a limit is reached.
    """
    outputs = Outputs("prove", options)
    if verify is not None:
        require_absent(OF_PROOFS, "cannot be combined with --verify")
        given = {name: options[name] for name in ("proof", "max_memory", "max_seconds", "quiet")}
        verified(outputs, verify, model=model, patience=patience, z3_only=z3_only, **given)
    require_absent(("patience", "z3_only"), "requires --verify")
    assert model is not None
    question = Question(model, settings, **options)
    about = {"format": FORMAT, "prove": model, "settings": settings, "verdict": "incomplete"}
    try:
        outputs.require_writable()
        result = _prove(question)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None and failure.code != Exit.OUTPUT:
            about |= {"reason": failure.message, "exit_code": failure.code}
            outputs.write_unfinished(SimpleNamespace(to_json=lambda: about))
        raise
    _deliver(result, outputs, question)


def _prove(question: Question) -> ProofResult:
    from isrcheck.checker.cli.progress import Watcher
    from isrcheck.checker.proofs.prove import chosen_proof
    from isrcheck.checker.registry.loader import blaming, load_model_class
    from isrcheck.checker.results.exploration import Limits

    loaded, k, invariants = load_model_class(question.model), question.k, question.invariants
    with blaming(loaded.source_file):
        values = model_at(loaded, question.settings, question.profile or BARE).settings
    limits = Limits(None, question.max_seconds, question.max_memory)
    _require_sensible(question)
    chosen = None if k is not None else chosen_proof(loaded, question.proof, invariants)
    certificate = question.certificate
    if certificate is not None and Path(certificate).exists():
        raise CommandError(f"cannot write {certificate}: it already exists; choose a new folder", Exit.OUTPUT)
    with blaming(loaded.source_file), blaming(_file(question.proof)), Watcher(quiet=question.quiet) as watcher:
        if chosen is None:
            if any(question.of_lemmas().values()):
                raise CommandError(
                    f"there is no shipped proof of {loaded.name} for these invariants; choose one: --proof",
                    Exit.UNKNOWN,
                )
            from isrcheck.checker.proofs.induction import induction

            return induction(loaded, values, invariants or None, 1 if k is None else k, limits, watcher.stage)
        from isrcheck.checker.proofs.attempts import Attempt
        from isrcheck.checker.proofs.lemmas import by_lemmas

        form, redundant, houdini = (
            "unbounded" if question.unbounded else "bit-vectors", question.redundant, question.houdini,
        )  # fmt: skip
        attempt = Attempt(loaded, values, chosen, invariants or None, form, redundant, houdini)  # type: ignore[arg-type]
        result = by_lemmas(attempt, limits, watcher.stage)
        if question.mutants and result.verdict == "proved":
            from isrcheck.checker.proofs.lemmas import try_mutants

            try_mutants(attempt, result, limits, watcher.stage)
        if certificate is not None:
            try:
                _certify(certificate, question.model, attempt, question.proof, result)
            except (OSError, KeyboardInterrupt) as error:
                _without_certificate(result, certificate, error)
        return result


def _require_sensible(question: Question) -> None:
    if question.k is None:
        return
    if question.k < 1:
        raise CommandError(f"--k {question.k} is too small; the smallest value is --k 1", Exit.UNKNOWN)
    given = [name for name, value in {"--proof": question.proof, **question.of_lemmas()}.items() if value]
    if given:
        raise click.UsageError(f"--k means plain induction, without lemmas; remove {', '.join(given)}")


def _file(spec: str | None) -> Path | None:
    """The user's file that a proof comes from, or None for a shipped proof."""
    path = (spec or "").partition(":")[0]
    return Path(path) if path.endswith(".py") else None


def _certify(folder: str, model: str, attempt: Attempt, proof: str | None, result: ProofResult) -> None:
    from isrcheck.checker.proofs.certificates import write

    if result.verdict != "proved":
        say(f"isrcheck: nothing was proved; {folder} was not written", err=True)
        return
    write(Path(folder), model, proof, attempt, result)


def _without_certificate(result: ProofResult, folder: str, error: OSError | KeyboardInterrupt) -> None:
    """Notes in a result that its certificate could not be written. What is proved stays proved."""
    if isinstance(error, OSError):
        what, code = f"cannot write {folder}: {error.strerror or error} (--certificate)", Exit.OUTPUT
    else:
        what, code = f"interrupted; {folder} is not written (--certificate)", Exit.INTERRUPTED
    result.exit_code, result.reason = code, what


def _deliver(result: ProofResult, outputs: Outputs, question: Question) -> NoReturn:
    from isrcheck.checker.report.proof_text import report, verdict_line

    def text(ink: Ink) -> str:
        return f"{verdict_line(result, ink)}\n" if question.quiet else report(result, ink, question.every)

    failure = None
    if result.verdict == "proved" and result.reason is not None:
        failure = CommandError(result.reason, result.exit_code)
    subject = SimpleNamespace(to_json=result.to_json, exit_code=result.exit_code, failure=failure)
    deliver(outputs, subject, text)


def verified(outputs: Outputs, folder: str, *, quiet: bool, **options: Any) -> NoReturn:
    """Verifies the certificate in a folder, prints and writes the outcome, and ends the command."""
    try:
        outputs.require_writable()
        found = _verify(folder, quiet, **options)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        failure = command_error(error)
        if failure is not None and failure.code != Exit.OUTPUT:
            about = {"format": 1, "verify_proof": folder, "accepted": False, "reason": failure.message}
            about |= {"exit_code": failure.code}
            outputs.write_unfinished(SimpleNamespace(to_json=lambda: about))
        raise
    code = Exit.HOLDS if found.accepted else Exit.DIFFERENCE
    outputs.print(_text(found, quiet))
    outputs.finish(SimpleNamespace(to_json=lambda: {**found.to_json(), "exit_code": code}), code)


def _verify(
    folder: str,
    quiet: bool,
    model: str | None,
    proof: str | None,
    patience: float,
    z3_only: bool,
    max_memory: int | None,
    max_seconds: float | None,
) -> Verified:
    from isrcheck.checker.cli.progress import Watcher
    from isrcheck.checker.engines.symbolic.solver import GaveUp
    from isrcheck.checker.proofs.certificates import verify
    from isrcheck.checker.results.exploration import Limits
    from isrcheck.checker.trace.trace_files import DamagedFile

    try:
        with Watcher(quiet=quiet) as watcher:
            limits = Limits(None, max_seconds, max_memory)
            return verify(Path(folder), model, proof, limits, patience, not z3_only, watcher.stage)
    except DamagedFile as error:
        raise CommandError(f"{folder}: {error}", Exit.UNKNOWN) from None
    except GaveUp as gave_up:
        if gave_up.stop == "interrupt":
            raise KeyboardInterrupt from None
        limit = {"time": "--max-seconds", "memory": "--max-memory"}.get(gave_up.stop, "a limit")
        raise CommandError(f"{folder}: not checked completely ({limit})", Exit.LIMIT) from None


def _text(found: Verified, quiet: bool) -> str:
    names = ", ".join(found.manifest["targets"])
    solvers = ", ".join(
        f"{solver} {found.versions[solver]} refutes {n} of {found.obligations}" for solver, n in found.refuted.items()
    )
    verdict = "ACCEPTED" if found.accepted else "REJECTED"
    lines = [f"{verdict}  {found.manifest['model']}: {names}; {solvers}"]
    lines += [f"  {name}: {found.checks[name]}" for name in found.failed_checks]
    if not quiet:
        for words, kinds in (("is satisfiable for", found.satisfiable), ("is not decided by", found.undecided)):
            lines += [f"  {name} {words} {solver}" for solver, files in kinds.items() for name in files]
        if "cvc5" not in found.versions:
            lines.append("  cvc5 was not used: it is not installed (pip install cvc5), or --z3-only was given")
    return "\n".join(lines)
