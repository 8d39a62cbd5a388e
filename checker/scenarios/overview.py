"""A page with an overview of scenarios: the outcome of each scenario, its story, and its interactive trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isrcheck.checker.report.pages.page import page
from isrcheck.checker.scenarios.scenario import Scenario


@dataclass(frozen=True)
class PageRow:
    """A scenario on the page: its outcome in words (`status`, `found`), and messages about what is wrong (`lines`).

    `scenario` is None if the scenario's file cannot be read. `verdict` is empty if the scenario could not run.
    """

    name: str
    folder: str
    status: str
    found: str
    verdict: str
    lines: list[str]
    scenario: Scenario | None
    story: dict[str, Any] | None

    def to_page(self) -> dict[str, Any]:
        """The data about the scenario that the page's template reads."""
        scenario = self.scenario
        about: dict[str, Any] = {"model": "", "title": "", "story": "", "note": "", "source": (), "fixed_versions": ()}
        if scenario is not None:
            about = {name: getattr(scenario, name) or nothing for name, nothing in about.items()}
        words = " ".join([self.name, self.status, self.found, about["model"], about["title"]]).lower()
        return {
            **about,
            "name": self.name,
            "status": self.status,
            "verdict": self.verdict,
            "found": self.found,
            "lines": self.lines,
            "words": words,
            "command": f"isrcheck check --scenario {self.folder}",
        }


def overview_page(total: str, shown: list[PageRow]) -> str:
    """The page of an overview. Scenarios with the same name all show the first trace found among them."""
    stories: dict[str, Any] = {}
    for each in shown:
        if each.story is not None:
            stories.setdefault(each.name, each.story)
    return page("overview.html", stories, total=total, scenarios=[each.to_page() for each in shown], stories=stories)
