"""A walk through a model in a terminal: each typed line is a question, and the answer is some lines of text."""

from __future__ import annotations

from typing import Any, Final

from isrcheck.checker.report.explorer.walk import Path, Unanswerable, Walking
from isrcheck.checker.report.story_text import WIDTH, wrapped
from isrcheck.checker.results.text_layout import columns
from isrcheck.model.language.errors import EvaluationError, ModelError

HELP: Final = (
    ("N", "take step N"),
    ("u", "undo the last step"),
    ("r", "restart; r N: from initial state N"),
    ("s", "the whole state"),
    ("i", "which invariants hold here, and why others do not"),
    ("w TEXT", "why the actions that begin with TEXT are disabled"),
    ("= TEXT", "the value of an expression here: = quorum.isr"),
    ("p", "the path so far"),
    ("q", "quit"),
)
INNER: Final = "     "
STATUS: Final = {True: "holds", False: "FALSE", None: "undefined"}
MOST: Final = 20


class Terminal:
    """A walk and its current path. `begin` shows the start, `answer` answers a line. A refused line changes nothing."""

    def __init__(self, walking: Walking) -> None:
        self.walking = walking
        self.about = walking.about()
        self.initial, self.steps = 0, list[int]()
        self.here: dict[str, Any] = {}

    def begin(self) -> list[str]:
        """The first lines: the model, how to ask for help, the initial state and the possible steps."""
        count = self.about["initial"]
        more = f" This is initial state 0 of {count}; r N chooses another." if count > 1 else ""
        head = f"{self.about['model']}: {self.about['sentence']}"
        return [head, f"Type a number to take a step, or ? for help.{more}", *self._arrive()]

    def answer(self, line: str) -> list[str] | None:
        """The answer to a line, or None if the line ends the walk."""
        word, _, rest = line.strip().partition(" ")
        try:
            return self._answered(word, rest.strip())
        except (Unanswerable, ModelError, EvaluationError) as error:
            return [" ".join(str(error).split())]

    def _answered(self, word: str, rest: str) -> list[str] | None:
        match word:
            case "q":
                return None
            case "" | "?" | "h":
                return columns(HELP, "  ")
            case "u":
                return self._go(self.initial, self.steps[:-1]) if self.steps else ["this is the initial state"]
            case "r":
                return self._go(self._number(rest or "0"), [])
            case "s":
                return columns(self.walking.whole(self._path()), INNER)
            case "i":
                return self._invariant_lines()
            case "w":
                return self._refused(rest)
            case "p":
                return self._story_lines()
        if word.startswith("="):
            text = f"{word[1:]} {rest}".strip()
            return [f"{INNER}{self.walking.evaluated(self._path(), text)['values'][-1]}"]
        number, choices = self._number(word), self.here["choices"]
        if not 1 <= number <= len(choices):
            raise Unanswerable(f"there is no step {number}; there are {len(choices)}")
        choice = choices[number - 1]
        if choice["error"] is not None:
            raise Unanswerable(choice["error"])
        return self._go(self.initial, [*self.steps, choice["instance"]])

    def _number(self, text: str) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 9:
            raise Unanswerable(f"{text!r} is neither a step nor a command; ? shows help")
        return int(text)

    def _path(self) -> Path:
        return Path.of({"initial": self.initial, "path": self.steps})

    def _go(self, initial: int, steps: list[int]) -> list[str]:
        before = self.initial, self.steps, self.here
        try:
            self.initial, self.steps = initial, steps
            return self._arrive()
        except (Unanswerable, ModelError, EvaluationError):
            self.initial, self.steps, self.here = before
            raise

    def _arrive(self) -> list[str]:
        """The lines about a new current state: the last step with its changes, false invariants, possible steps."""
        self.here = self.walking.state(self._path())
        step = self.here["story"]["steps"][-1]
        lines = ["", *_wrapped(f"{len(self.steps) + 1:>3}  ", step["sentence"] or "initial state")]
        lines += columns(self.walking.changes(self._path()), INNER)
        false = [name for name, holds in self.here["invariants"].items() if holds is False]
        if false:
            lines.append(f"{INNER}FALSE: {', '.join(false)}")
        return [*lines, "", *self._choices()]

    def _choices(self) -> list[str]:
        lines = []
        for number, choice in enumerate(self.here["choices"], 1):
            said = choice["sentence"] if choice["error"] is None else choice["error"]
            breaks = f" (violates {', '.join(choice['breaks'])})" if choice["breaks"] else ""
            lines += _wrapped(f"{number:>5}  ", f"{said}{breaks}")
            lines.append(f"{' ' * 7}{self._text(choice['instance'])}")
        return lines or ["  No action is enabled here: a deadlock."]

    def _text(self, instance: int) -> str:
        return str(self.about["instances"][instance]["text"])

    def _invariant_lines(self) -> list[str]:
        lines = []
        for name, holds in self.here["invariants"].items():
            lines.append(f"  {STATUS[holds]:<10}  {name}")
            if holds is False:
                why = self.walking.violated(self._path(), name)
                choice = ", ".join(f"{n} {x}" for n, x in why["choice"])
                lines += [f"{' ' * 14}for {choice}"] if choice else []
                lines += columns(why["reads"], " " * 14)
        return lines

    def _refused(self, text: str) -> list[str]:
        found = [n for n in self.here["disabled"] if self._text(n).startswith(text)]
        if not text or not found:
            raise Unanswerable(f"no disabled action begins with {text!r}; write the name of an action")
        lines = []
        for number in found[:MOST]:
            why = self.walking.disabled(self._path(), number)
            said = why["reason"] or f"it requires {why['condition']}"
            lines += _wrapped(f"{INNER}{why['text']}: ", said + (f" ({why['where']})" if why["where"] else ""))
            lines += columns(why["values"], " " * 9)
        return lines + ([f"{INNER}and {len(found) - MOST} more"] if len(found) > MOST else [])

    def _story_lines(self) -> list[str]:
        steps = self.here["story"]["steps"]
        return [
            line
            for i, step in enumerate(steps)
            for line in _wrapped(f"{i + 1:>3}  ", step["sentence"] or "initial state")
        ]


def _wrapped(head: str, text: str) -> list[str]:
    first, *rest = wrapped(text, max(WIDTH - len(head), 40)) or [""]
    indent = " " * min(len(head), 9)
    return [head + first, *(indent + line for line in rest)]
