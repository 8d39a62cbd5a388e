"""Verdicts on properties. Before a lasso is reported, it is replayed and its fairness is checked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from isrcheck.checker.analysis.free_memory import peak_memory
from isrcheck.checker.analysis.liveness.liveness_check import Answer, answers
from isrcheck.checker.analysis.liveness.region import Allowance, NotAllowed
from isrcheck.checker.analysis.result_builder import ResultBuilder
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.results.exploration import Exploration, Limits, Path, Paths, Stop
from isrcheck.checker.results.result import Exit, PropertyInstance, PropertyResult, Result
from isrcheck.checker.trace.canonical import CanonicalPaths
from isrcheck.checker.trace.lasso_replay import Lasso
from isrcheck.checker.trace.narration import story
from isrcheck.model.language.fairness import Fairness, obligations
from isrcheck.model.language.properties import kind_of
from isrcheck.model.semantics.tracing import sentence_of

UNEXPLORED: Final = "liveness needs a complete exploration"
EXPLORED_SO_FAR: Final = ("violation", "states")
"""A search that stops for one of these reasons leaves time and memory to look for lassos in the expanded levels."""


@dataclass
class PropertyChecker:
    """Checks properties under assumptions about the fairness of actions.

    A violation may end the search. Then `violated` is given as the reason why a property has no verdict. With
    `fail_on_vacuity`, the exit code is 10 if a property holds only vacuously, or only because everything is excused.
    """

    builder: ResultBuilder
    fairness: Fairness
    limits: Limits
    violated: str = "an invariant is violated; --continue explores further"
    fail_on_vacuity: bool = False

    def add_to(self, result: Result, paths: Paths, began: float) -> None:
        """Adds the verdict on each property to a result, and updates the result's verdict and exit code.

        `paths` lead through the levels of the local engine. `began` is the value of `time.perf_counter` when the search
        began.
        """
        levels = paths.levels if isinstance(paths, CanonicalPaths) else None
        assert isinstance(levels, NativeLevels), "this engine does not check liveness"
        found: list[Answer] = []
        explored = self.builder.exploration
        open_, why, stopped = self._unexplored(explored), None, None
        known = levels.depth if open_ is None else explored.expanded
        if known and (open_ is None or explored.stopped in EXPLORED_SO_FAR):
            why, stopped = self._ask(levels, known, began, found)
        it, result.fairness = self.builder.interpreter, self.fairness
        by_name = {name: list(of) for name, of in groupby(found, key=lambda answer: answer.question.name)}
        wanted = {name: sum(q.name == name for q in levels.system.questions) for name in it.properties}
        for name in it.properties:
            answered = by_name.get(name, [])
            whole = len(answered) == wanted[name]
            result.liveness[name] = self._property_result(name, answered, open_ or (None if whole and found else why))
        result.peak_rss_bytes = peak_memory()
        _settle(result, None if open_ and stopped != "interrupt" else stopped, self.fail_on_vacuity)

    def _unexplored(self, found: Exploration) -> str | None:
        if found.stopped is None:
            return None
        by = {"violation": self.violated}
        return f"{UNEXPLORED}: {by.get(found.stopped, 'the search did not finish')}"

    def _ask(
        self, levels: NativeLevels, known: int, began: float, found: list[Answer]
    ) -> tuple[str | None, Stop | None]:
        """Adds the answers about the first `known` levels to `exploration`.

        If answers are missing, returns the reason in words and as a `Stop`. If none are missing, returns (None, None).
        """
        system = levels.system
        labels = [t.label for t in (*system.transitions, *system.shut_out)]
        promised = obligations(self.builder.interpreter.model, labels, self.fairness)
        limit, seconds = self.limits.memory, self.limits.seconds
        held = self.builder.exploration.peak_store_bytes
        allowance = Allowance(
            None if limit is None else max(0, limit - held), None if seconds is None else began + seconds
        )
        try:
            found += answers(levels, known, promised, allowance)
        except NotAllowed as stop:
            needs = f"it needs {stop.missing:,} more bytes than allowed (--max-memory)"
            return (needs if stop.reason == "memory" else "the time limit is reached (--max-seconds)"), stop.reason
        except MemoryError:
            return "it needs more memory than this machine has", "memory"
        except KeyboardInterrupt:
            return "interrupted", "interrupt"
        return None, None

    def _property_result(self, name: str, found: Sequence[Answer], why: str | None) -> PropertyResult:
        it = self.builder.interpreter
        method = it.properties[name]
        sentence, kind = sentence_of(method), str(kind_of(method))
        asked = tuple(map(_instance_result, found))
        broken = [answer for answer in found if answer.lasso is not None]
        if not broken:
            if why is not None:
                return PropertyResult("incomplete", sentence, kind, why=why)
            return PropertyResult("holds", sentence, kind, asked)
        shown = min(broken, key=_length)
        assert shown.lasso is not None
        prefix, cycle = shown.lasso.prefix, shown.lasso.cycle
        loop = None if shown.question.stable else len(prefix.instances)
        trace = replace(self.builder.replayed(Path(prefix.start, (*prefix.instances, *cycle))), loop=loop)
        lasso = Lasso(it, trace)
        refusal = lasso.refusal(name, shown.question.choice, self.fairness)
        if refusal is not None:
            raise AssertionError(f"the lasso for {name} was rejected: {refusal}")
        kept = () if loop is None else tuple((k.obligation, k.state) for k in lasso.kept(self.fairness))
        trace_story = story(it.model, trace)
        choice, shortest = shown.question.choice, shown.lasso.shortest
        return PropertyResult(
            "violated", sentence, kind, asked, choice, trace, shortest, kept, canonical=why is None, story=trace_story
        )


def _length(answer: Answer) -> tuple[int, int]:
    """The key by which the shortest lasso is chosen: the length of its prefix, then the length of its cycle."""
    assert answer.lasso is not None
    return len(answer.lasso.prefix.instances), len(answer.lasso.cycle)


def _instance_result(answer: Answer) -> PropertyInstance:
    return PropertyInstance(
        answer.question.choice, answer.vacuous, answer.region, answer.fair_ends, answer.fair_components,
        answer.fair_states, answer.unfair_components, answer.excused_ends, answer.excused_components,
        answer.fairness_used, answer.only_excused,
    )  # fmt: skip


def _settle(result: Result, stopped: Stop | None, fail_on_vacuity: bool) -> None:
    """Updates the verdict and the exit code of a result from the verdicts on its properties.

    If `stopped` is not None, it says why the work on the questions ended early, and a result without a reason gets one.
    """
    verdicts, codes = {each.verdict for each in result.liveness.values()}, {result.exit_code}
    if "violated" in verdicts:
        result.verdict = "violated"
        codes.add(Exit.NOT_LIVE)
    elif "incomplete" in verdicts and result.verdict == "holds":
        result.verdict = "incomplete"
    if fail_on_vacuity and any(each.shows_nothing for each in result.liveness.values()):
        codes.add(Exit.DIFFERENCE)
    if stopped is not None:
        codes.add(Exit.INTERRUPTED if stopped == "interrupt" else Exit.LIMIT)
        result.reason = result.reason or next(x.why for x in result.liveness.values() if x.why)
    if result.failure is not None and codes & Exit.FOUND:
        codes.discard(Exit.OUTPUT)
    result.exit_code = next(code for code in Exit.PRECEDENCE if code in codes)
