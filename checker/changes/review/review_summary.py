"""A review in three lines: the verdicts that changed, what changed in the model, and new and gone behaviours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Final

from isrcheck.checker.analysis.inclusion.endings import Ending
from isrcheck.checker.analysis.inclusion.inclusion_check import OneWay
from isrcheck.checker.changes.mutation.mutation_table import WIDEST
from isrcheck.checker.changes.review.change_review import Review
from isrcheck.checker.changes.review.model_differences import ChangedFunction, Differences
from isrcheck.checker.changes.review.verdict_differences import Row, Turned
from isrcheck.checker.results.text_layout import plural
from isrcheck.model.language.model import Model

MOST: Final = 3
"""At most this many things of one kind (such as scenarios, functions or guards) are named."""
NAMED: Final = 5
"""At most this many invariants and properties are named for one kind of change."""


def review_summary(found: Review) -> tuple[str, str, str]:
    """The three lines: verdicts, changes, behaviour."""
    verdict = f"{found.old.name} -> {found.new.name} {_verdicts(found)}."
    return verdict, f"What changes: {_cause(found)}", f"Behaviour: {_inclusion(found)}"


# --- verdicts -------------------------------------------------------------------------------------------------------


def _verdicts(found: Review) -> str:
    alone, open_ones = found.turned("alone"), found.recorded("open")
    new = [row for row in alone if row.before is None]
    gone = [row for row in alone if row.after is None]
    parts = [
        _part("breaks", _named(found.turned("broken"), _after)),
        _part("asks newly", _named([row for row in new if row.breaks or row.is_open], _after)),
        _part("mends", _named(found.turned("mended"), _before)),
        _part("makes vacuous", _named(found.turned("vacuous"), _before)),
        _part("asks otherwise", _named(found.turned("otherwise"), _both)),
        _part("asks no more", _named(gone, _before)),
        _part("breaks scenario", _titles(found.recorded("broken"))),
        _part("mends scenario", _titles(found.recorded("mended"))),
        _part("makes vacuous scenario", _titles(found.recorded("vacuous"))),
        _part("asks otherwise in scenario", _titles(found.recorded("otherwise"))),
        _part("cannot be asked scenario", [_some(list(found.lost))] if found.lost else []),
        _open(found),
        _part("leaves open scenario", [_some([each.name for each in open_ones])] if open_ones else []),
    ]
    said = [part for part in parts if part]
    return "; ".join(said) if said else f"turns no verdict: {_unturned(found.rows)}"


def _part(what: str, names: list[str]) -> str:
    return f"{what} {', '.join(names)}" if names else ""


def _open(found: Review) -> str:
    count = len(found.turned("open"))
    return f"leaves open {count} of {plural(len(found.rows), 'question')}" if count else ""


def _before(row: Row) -> str:
    assert row.before is not None
    return "held" if row.before.text == "holds" else f"{row.before.text} before"


def _after(row: Row) -> str:
    assert row.after is not None
    return row.after.text + (", asked otherwise" if row.otherwise else "")


def _both(row: Row) -> str:
    assert row.before is not None
    assert row.after is not None
    if row.before == row.after:
        return f"{row.after.text} before and after"
    return f"{row.before.text} before, {row.after.text} after"


def _named(rows: list[Row], words: Callable[[Row], str]) -> list[str]:
    """The names of the first `NAMED` rows, grouped by their text (`words`), and how many other rows there are."""
    groups: dict[str, list[str]] = {}
    for row in rows[:NAMED]:
        groups.setdefault(words(row), []).append(row.name)
    more = [f"{len(rows) - NAMED} more"] if len(rows) > NAMED else []
    return [*(f"{', '.join(names)} ({text})" for text, names in groups.items()), *more]


def _titles(turned: list[Turned]) -> list[str]:
    """The names of scenarios with their titles.

    If there are more than `MOST` scenarios, only the first names are given, without titles, and the others are counted.
    """
    if len(turned) > MOST:
        return [_some([each.name for each in turned])]
    return [f"{each.name} ({each.title[0].lower()}{each.title[1:]})" for each in turned]


def _unturned(rows: Iterable[Row]) -> str:
    asked = [row.after.verdict for row in rows if row.before is not None and row.after is not None]
    hold, violated = asked.count("holds"), asked.count("violated")
    return f"{hold} hold" + (f" and {violated} are violated" if violated else "") + ", before and after"


# --- changes ----------------------------------------------------------------------------------------------------------


def _cause(found: Review) -> str:
    text = [] if _is_another(found) else [*_guards(found.text.changed), *_functions(found.text), *_states(found)]
    parts = [*_purpose(found), *_settings(found), *_fairness(found), *text]
    if not parts and found.text.actions:
        parts = [f"{plural(len(found.text.actions), 'action')}: {_some([name for name, _ in found.text.actions])}"]
    if not parts and found.questions.predicates:
        parts = [f"{_some(sorted(found.questions.predicates))} asked otherwise"]
    return "; ".join(parts) + "." if parts else "nothing that counts is written otherwise."


def _purpose(found: Review) -> list[str]:
    """The first sentence about the new model (see `_said`). Empty if the two sides are versions of one model."""
    return [said] if _is_another(found) and (said := _said(type(found.new.model))) else []


def _is_another(found: Review) -> bool:
    return type(found.old.model).__name__ != type(found.new.model).__name__


def _said(cls: type[Model]) -> str:
    """The first sentence of the docstring of a model's file.

    If the class defines no function, or if the file has no docstring, the sentence is from the class's docstring.
    """
    own = (f.__globals__.get("__doc__") for f in vars(cls).values() if isinstance(f, FunctionType))
    text = next(own, None) or cls.__doc__ or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def _settings(found: Review) -> Iterator[str]:
    """The settings that differ, with their meanings. For different models: only the settings that both models have."""
    declared = type(found.old.model).declared_settings() | type(found.new.model).declared_settings()
    for name, before, after in found.settings:
        if before is not None and after is not None:
            yield f"{name} {before} -> {after} ({declared[name].meaning})"
        elif not _is_another(found):
            what = "gone" if after is None else f"new: {after}"
            yield f"{name} {what} ({declared[name].meaning})"


def _fairness(found: Review) -> list[str]:
    """The actions whose fairness differs, in words."""
    said = [f"{name} {before} -> {after}" for name, before, after in found.questions.fairness]
    return [f"fairness of {_some(said)}"] if said else []


def _functions(text: Differences) -> Iterator[str]:
    """The functions that are new, gone or renamed, and the changed functions whose guards are the same."""
    changed = [f.name for f in text.changed if f.name != f.before or not (f.lost or f.added)]
    for names, word in ((changed, "otherwise"), (list(text.new), "new"), (list(text.gone), "gone")):
        if names:
            yield f"{_some(names)} {word}"


def _states(found: Review) -> list[str]:
    return [f"{_some(list(found.questions.states))} otherwise"] if found.questions.states else []


def _guards(changed: Iterable[ChangedFunction]) -> list[str]:
    """The guards that were added to or removed from functions that kept their names."""
    same = [f for f in changed if f.name == f.before]
    lost = [f"{f.name} requires {g.text} no more ({g.where})" for f in same for g in f.lost]
    added = [f"{f.name} requires {g.text} ({g.where})" for f in same for g in f.added]
    return [_some(lost + added)] if lost or added else []


# --- what can happen --------------------------------------------------------------------------------------------------


def _inclusion(found: Review) -> str:
    new, gone = found.inclusion.new, found.inclusion.gone
    if new.verdict == gone.verdict == "none":
        ends = [row.name for turn in ("broken", "mended") for row in found.turned(turn) if row.kind == "property"]
        only = f"; what changes is what must happen in the end: {_some(ends)}" if ends else ""
        return f"no history of {_some(list(found.inclusion.visible))} is new, and none is gone{only}.{_apart(found)}"
    return f"{_way(new, 'new')} {_way(gone, 'gone')}{_apart(found)}"


def _apart(found: Review) -> str:
    """A sentence about the variables that are not compared, because the models give them different kinds of values."""
    apart = found.inclusion.apart
    return f" Not compared, for they are not of the same kind: {_some(list(apart))}." if apart else ""


def _way(way: OneWay, word: str) -> str:
    if way.verdict == "none":
        return f"Nothing is {word}."
    if way.endings is None:
        return f"Nothing is {word} up to {plural(way.depth or 0, 'state')}; the rest is open."
    sentences, ending = way.endings.story.sentences, way.endings.ending
    last = sentences[-1].sentence if sentences else "Another initial state."
    refused = f" {_refused(ending)}" if ending.how == "refused" and word == "gone" else ""
    return f"{word.capitalize()}, in {plural(way.endings.trace.length, 'state')}: {last}{refused}"


def _refused(ending: Ending) -> str:
    why = ending.condition if ending.condition and len(ending.condition) <= WIDEST else ending.source
    room = ", for want of room alone" if ending.room else ""
    return f"Refused, for {why} ({ending.where}){room}."


def _some(texts: list[str]) -> str:
    more = len(texts) - MOST
    return ", ".join(texts[:MOST]) + (f" and {more} more" if more > 0 else "")
