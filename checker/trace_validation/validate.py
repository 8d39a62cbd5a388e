"""Answers whether a model explains a recording. Every path that an answer shows is replayed and has a story."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.result import Exit, Step, Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.text_layout import plural
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.step_replay import replay
from isrcheck.checker.trace_validation.line_matches import Question, question
from isrcheck.checker.trace_validation.recording_file import Place, Recording
from isrcheck.checker.trace_validation.rejected_lines import Allowance, Refusing, state_of
from isrcheck.checker.trace_validation.validation_result import (
    EXIT,
    Answer,
    Explanation,
    Frontier,
    MatchedLines,
    similar_scenarios,
)
from isrcheck.checker.trace_validation.validation_search import Limits, Node, SearchResult, Tell, search
from isrcheck.model.language.errors import EvaluationError, ModelError
from isrcheck.model.semantics.concrete_state import holds
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace

HIDDEN = 3
"""The default limit on hidden steps (steps without a line of the recording) in a row."""
_STOPPED = {
    "states": "the limit on states is reached; raise it with --max-states",
    "time": "the time limit is reached",
    "interrupt": "interrupted",
}


def validate(
    recording: Recording,
    loaded: LoadedModel,
    settings: dict[str, Any],
    file: str,
    at_most: int = HIDDEN,
    limits: Limits = Limits(),
    tell: Tell | None = None,
) -> Answer:
    """Answers whether a model at some settings allows the recorded run.

    Raises `UnknownName` for names and values that the model does not have.
    """
    began = time.perf_counter()
    model = loaded.cls(**settings)
    interpreter = Interpreter(model, loaded.chosen(None))
    asked = question(recording, interpreter, trace(model))
    prepared = time.perf_counter()
    until = None if limits.seconds is None else began + limits.seconds
    seconds = None if until is None else max(0.0, until - prepared)
    found = search(asked, at_most, replace(limits, seconds=seconds), tell)
    searched = time.perf_counter()
    answer = Answer(
        file, loaded.name, dict(model.settings), recording.lines, at_most, found.visited, "incomplete", Exit.LIMIT
    )
    _fill(answer, asked, found, Allowance(limits.nodes - found.visited, until, found.stopped))
    answer.seconds = {
        "prepare": prepared - began,
        "search": searched - prepared,
        "tell": time.perf_counter() - searched,
    }
    return answer


def _fill(answer: Answer, asked: Question, found: SearchResult, allowance: Allowance) -> None:
    if found.end is not None:
        answer.explanation = explained(answer.model, asked, found.end)
        answer.verdict = "explained"
        answer.exit_code = Exit.VIOLATED if answer.explanation.violated else Exit.HOLDS
        return
    answer.frontier = _frontier(asked, found, answer.at_most, allowance)
    if found.stopped is not None:
        answer.reason = _STOPPED[found.stopped]
        answer.exit_code = Exit.INTERRUPTED if found.stopped == "interrupt" else Exit.LIMIT
    elif found.failing is not None:
        node, label = found.failing
        answer.reason, answer.exit_code = _no_meaning(asked, node, label_text(label), label), Exit.EVALUATION
    else:
        answer.verdict, answer.exit_code = "unexplained", EXIT["unexplained"]
        if allowance.used_up is not None:
            answer.reason = f"{_STOPPED[allowance.used_up]}; which line is wrong was not searched to the end"
        if allowance.used_up == "interrupt":
            answer.exit_code = Exit.INTERRUPTED


def _no_meaning(asked: Question, node: Node, text: str, label: Any) -> str:
    interpreter = asked.interpreter
    try:
        interpreter.step(state_of(asked, node), interpreter.labels.index(label))
    except EvaluationError as error:
        what = f"{error.where}: {error.what}"
        return f"the model is undefined after {plural(len(node.path) - 1, 'step')}, in {text}: {what}"
    raise AssertionError(f"{text} is defined in the reference semantics")


# --- the story ------------------------------------------------------------------------------------------------------


def explained(name: str, asked: Question, end: Node) -> Explanation:
    path_trace, matched = _trace_to(asked, end)
    _require_whole(asked, end)
    first_violations, unasked = _first_violations(asked.interpreter, [step.state for step in path_trace.steps])
    return Explanation(
        path_trace,
        story(asked.interpreter.model, path_trace),
        matched,
        end.hidden,
        end.longest,
        tuple(n for n, state in first_violations.items() if state is None),
        {n: state for n, state in first_violations.items() if state is not None},
        unasked,
        similar_scenarios(name, path_trace),
    )


def _trace_to(asked: Question, end: Node) -> tuple[Trace, tuple[MatchedLines, ...]]:
    """The path to a node as a trace, and the lines that each state explains. The model's own methods check the path."""
    interpreter, path = asked.interpreter, end.path
    numbers = {label: i for i, label in enumerate(interpreter.labels)}
    steps = [Step(None, None, state_of(asked, path[0]))]
    for node in path[1:]:
        assert node.label is not None
        number = numbers[node.label]
        after = interpreter.step(steps[-1].state, number)
        assert after is not None, f"the search takes {node.label} where it is not enabled"
        steps.append(Step(node.label, interpreter.actors[number], after))
    matched = _matched_lines(asked, path)
    _require_as_seen(asked, steps, matched)
    found = Trace(tuple(interpreter.model.domains.items()), tuple(steps))
    refusal = replay(interpreter, found).refusal
    assert refusal is None, f"the search found an invalid path: {refusal}"
    return found, matched


def _matched_lines(asked: Question, path: Sequence[Node]) -> tuple[MatchedLines, ...]:
    """For each state of a path, the lines that the state explains."""
    found = []
    for i, node in enumerate(path):
        before = list(path[i - 1].positions) if i else [0] * len(asked.process_logs)
        step = None
        if node.process_log is not None:
            step = asked.process_logs[node.process_log][before[node.process_log]].line
            before[node.process_log] += 1
        rows = zip(asked.process_logs, before, node.positions, strict=True)
        found.append(MatchedLines(step, tuple(seen.line for lines, a, b in rows for seen in lines[a:b])))
    return tuple(found)


def _require_as_seen(asked: Question, steps: Sequence[Step], matched: Sequence[MatchedLines]) -> None:
    """Checks that a path agrees with the lines in `matched`. So a mistake of the search is never shown as an answer."""
    known = {seen.line.place: seen for lines in asked.process_logs for seen in lines}
    passed: set[Place] = set()
    for step, each in zip(steps, matched, strict=True):
        if each.step is not None:
            assert set(each.step.after) <= passed, f"{each.step.title} comes too early"
            assert step.label in (known[each.step.place].labels or ()), f"{each.step.title} is not {step.label}"
        else:
            assert step.label is None or step.label in asked.hidden, f"{step.label} is not hidden"
        here = [*each.held] if each.step is None else [each.step, *each.held]
        passed |= {line.place for line in here}
        for line in here:
            assert set(line.after) <= passed, f"{line.title} comes too early"
            for check in known[line.place].checks:
                assert check.found(step.state) == check.value, f"{line.title}: {check.path} differs"


def _require_whole(asked: Question, end: Node) -> None:
    assert end.positions == tuple(map(len, asked.process_logs)), "lines are left"


def _first_violations(
    interpreter: Interpreter, states: Sequence[State]
) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """For each invariant, the first state (from 1) in which it is false, or None if there is no such state.

    The second result names the invariants that are undefined in at least one of the states, or have no meaning at the
    settings. The first result leaves these invariants out.
    """
    found: dict[str, int | None] = {}
    unasked = []
    for name, predicate in interpreter.invariants.items():
        try:
            answers = [holds(interpreter.model, state, predicate).value for state in states]
        except (ModelError, EvaluationError):
            unasked.append(name)
        else:
            found[name] = next((i for i, answer in enumerate(answers, 1) if not answer), None)
    return found, tuple(unasked)


def _frontier(asked: Question, found: SearchResult, at_most: int, allowance: Allowance) -> Frontier | None:
    if not found.furthest:
        return None
    refusing = Refusing(asked, found.furthest)
    path_trace, matched = _trace_to(asked, refusing.nodes[0])
    return Frontier(
        path_trace,
        story(asked.interpreter.model, path_trace),
        matched,
        refusing.nodes[0].explained,
        len(refusing.nodes),
        refusing.refused(at_most, allowance),
        refusing.waiting,
        refusing.nearest(),
    )
