"""The report of a refinement as text: the report of a check, with the specification's states in the traces."""

from __future__ import annotations

from isrcheck.checker.analysis.refinement.refinement_result import Refined
from isrcheck.checker.report import result_text
from isrcheck.checker.results.text_layout import PLAIN, Ink, columns, number, plural
from isrcheck.model.language.setting_constraints import said


def report(found: Refined, ink: Ink = PLAIN, plain: bool = False) -> str:
    """The text of the whole report, ending in a newline. With `plain` it shows variables instead of stories."""
    lines = ["", *_question(found, ink)]
    if found.refused:
        lines += ["", *refusal(found, ink)]
    lines += ["", _warning(found)] * found.vacuous
    return result_text.report(found.side_by_side(), ink, plain) + "\n".join(lines) + "\n"


def brief(found: Refined, ink: Ink = PLAIN) -> str:
    """The brief report of the search, then the lines of `refusal` if the refinement is violated.

    If the refinement holds only vacuously, a warning says so.
    """
    lines = (refusal(found, ink) if found.refused else []) + [_warning(found)] * found.vacuous
    return result_text.brief(found.result, ink) + "".join(f"{line}\n" for line in lines)


def refusal(found: Refined, ink: Ink = PLAIN) -> list[str]:
    """The lines about the changes of the specification's state in the last step. Each refused change has the reason.

    If the trace has only one state, the lines are about all parts of the specification's state.
    """
    within = "" if found.at_most is None else f" (in {plural(found.at_most, 'step')})"
    head = ink("head", f"What {found.specification} does not allow{within}")
    changed = ((c.path, c.new if c.old is None else f"{c.old} -> {c.new}", c.said or "") for c in found.refused)
    return [head, *columns(changed)]


def _warning(found: Refined) -> str:
    return f"warning: vacuous: no step of {found.specification} ever happens, with mapping {found.mapping}"


def _question(found: Refined, ink: Ink) -> list[str]:
    """The lines about the specification: the mapping and the settings.

    They also give the limit on the specification's steps for one step of the model. The last two lines count the
    specification's states that the model's states represent, and the specification's steps that the model's
    steps represent.
    """
    asked = "any number" if found.at_most is None else f"at most {number(found.at_most)}"
    rows = [
        ("mapping", found.mapping),
        *((name, said(value)) for name, value in found.settings.items()),
        ("its steps per model step", asked),
        ("its states that the model maps to", number(found.states)),
        ("its steps that the model maps to", number(found.steps)),
    ]
    return [ink("head", f"Specification {found.specification}"), *columns(rows)]
