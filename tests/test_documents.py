"""The documents are up to date: their commands are run, and their example is checked."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from isrcheck import check
from isrcheck.checker import LAYERS
from isrcheck.checker.cli import main

ROOT = Path(__file__).parent.parent
SCENARIOS = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("counterexamples/*/**/README.md"))
DOCS = sorted(path for path in (ROOT / "docs").rglob("*.md") if "findings" not in path.parts)
FINDINGS = sorted((ROOT / "docs/findings").glob("*.md"))
COURSE = sorted((ROOT / "counterexamples").rglob("*.md"))
LINKED = [
    str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *DOCS, *FINDINGS, *COURSE, ROOT / "benchmarks/DIARY.md"]
]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/explanation/liveness.md",
    "docs/explanation/refinement.md",
    "docs/how-to/large-models.md",
    "docs/how-to/review.md",
    "docs/how-to/traces.md",
    "docs/reference/language.md",
    *SCENARIOS,
]


def shown(page: str) -> list[tuple[str, list[str]]]:
    """Each `$ isrcheck ...` of a page, with the lines of output below it."""
    text = (ROOT / page).read_text()
    found = []
    for block in re.findall(r"^```(?:text|console)\n(.*?)^```", text, re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.splitlines()
            found.append((command, [line for line in lines if line.strip()]))
    return found


EXAMPLES = [(page, command, lines) for page in PAGES for command, lines in shown(page)]
SLOW = (
    "isrcheck review ",
    "isrcheck simulate kip-320 -s replicas=5 ",
    "isrcheck refine kip-101 --profile bare -s replicas=2 -s log_size=3 ",
    "isrcheck check truncate-to-hw -s replicas=2 --invariant strong-isr --engine symbolic ",
    "isrcheck check kip-320 -s log_size=1 --symmetry ",
)
"""Commands that take seconds: about fifty questions about two models, or thousands of walks."""
MARKED = [pytest.param(*x, marks=[pytest.mark.exhaustive] * x[1].startswith(SLOW)) for x in EXAMPLES]


@pytest.mark.parametrize(("page", "command", "lines"), MARKED, ids=[f"{p} {c}" for p, c, _ in EXAMPLES])
def test_a_page_shows_real_output(page: str, command: str, lines: list[str]) -> None:
    program, *arguments = shlex.split(command)
    assert program == "isrcheck"
    output = iter(CliRunner().invoke(main, arguments).output.splitlines())
    for line in lines:
        # `[...]` stands for lines left out; what is shown stands there in this order.
        assert line.strip() == "[...]" or line in output, f"{line!r} is not in the output, or not in this place"


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/contributing.md"])
def test_what_a_page_says_of_the_code_is_there(page: str) -> None:
    text = (ROOT / page).read_text()
    files = re.findall(r"`((?:model|invariants|checker|tests|benchmarks|docs)/[\w/.]*)`", text)
    modules = re.findall(r"python -m ([\w.]+)", text)
    assert files
    for name in [*files, *(f"{module.replace('.', '/')}.py" for module in modules if module.startswith("tests."))]:
        assert (ROOT / name).exists(), name


def test_the_page_for_those_who_change_the_code_names_the_layers() -> None:
    assert f"({', '.join(LAYERS)})" in (ROOT / "docs/how-to/contributing.md").read_text()


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(page: Path) -> set[str]:
    """The anchors of a page as GitHub makes them: from its headings, and those that are written out."""
    text = without_code(page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert len(slugs) == len(headings), f"{page}: two headings have the same anchor"
    return slugs | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("page", LINKED)
def test_what_a_page_links_to_is_there(page: str) -> None:
    text = re.sub(r"`[^`\n]+`", "", without_code((ROOT / page).read_text(encoding="utf-8")))
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^]\n]+\]: (\S+)$", text, re.M)
    for link in links:
        if link.startswith(("http:", "https:")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_a_page_is_in_the_folder_of_its_kind_and_on_the_index() -> None:
    index = ROOT / "docs/index.md"
    listed = {(index.parent / x).resolve() for x in re.findall(r"\]\(([\w./-]+\.md)[)#]", index.read_text())}
    kinds = {"tutorials", "how-to", "reference", "explanation"}
    assert {page.parent.name for page in DOCS if page != index} == kinds
    assert {*DOCS, FINDINGS[0].parent / "index.md"} - {index} <= listed
    assert len(DOCS) <= 20


def test_a_page_without_examples_is_not_written_anew_in_silence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.regenerate_documents", "docs/none.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("no examples in docs/none.md; pages: README.md, ")


def test_there_are_examples() -> None:
    assert {page for page, _, _ in EXAMPLES} == set(PAGES)


def test_the_example_of_the_language_page_is_a_model(tmp_path: Path) -> None:
    code, parts = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/reference/language.md").read_text(), re.S | re.M)
    (tmp_path / "lock.py").write_text(code)
    result = check(str(tmp_path / "lock.py"))
    # One of two brokers takes the lock for good: the free lock, and one state for each holder.
    assert (result.verdict, result.distinct, result.goals_never_reached) == ("holds", 3, [])
    assert result.bounds == {}
    (tmp_path / "lamps.py").write_text(parts)
    # One of two lamps is lit, then none or both, then one: each switch turns odd into even or back.
    assert check(str(tmp_path / "lamps.py")).distinct == 1 + 2 + 2
