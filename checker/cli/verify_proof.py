"""`isrcheck prove --verify`: checks a certificate with z3 and, if it is installed, cvc5."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from isrcheck.checker.cli.result_output import Outputs
from isrcheck.checker.results.errors import CommandError, command_error
from isrcheck.checker.results.result import Exit

if TYPE_CHECKING:
    from isrcheck.checker.proofs.certificates import Verified


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
        raise CommandError(f"{folder}: not checked to the end ({limit})", Exit.LIMIT) from None


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
            lines.append("  cvc5 was not asked: it is not installed (pip install cvc5), or --z3-only")
    return "\n".join(lines)
