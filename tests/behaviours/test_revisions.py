"""A file from a git revision, with the files beside it at that revision, with today's packages, and with links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.changes.mutation.mutant_verdicts import Question
from isrcheck.checker.changes.mutation.mutation_run import families_of
from isrcheck.checker.changes.review.model_differences import differences
from isrcheck.checker.registry.loader import LoadedModel, load_model_class
from isrcheck.checker.registry.revisions import load_at
from isrcheck.model.language.errors import UnknownName
from tests.behaviours.test_command import git
from tests.cli.running import COUNTER, run

BASIS = COUNTER.replace('"""A number', 'abstract = True\n    """A number').replace("s.value < self.top", "has_room(s)")
DESIGN = '"""A design upon a basis."""\n\nfrom basis import Counter\n\n\nclass Design(Counter):\n    """A counter."""\n'


def basis(least: int) -> str:
    return f"{BASIS}\n\ndef has_room(s):\n    return s.value < {least}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a design, its base in a file beside it and a link to the base, in two versions of the guard."""
    folder = tmp_path / "designs"
    folder.mkdir()
    (folder / "design.py").write_text(DESIGN)
    (folder / "basis.py").write_text(basis(5))
    (folder / "linked.py").symlink_to("basis.py")
    (folder / "dangling.py").symlink_to("nowhere.py")
    (folder / "by_link.py").write_text(DESIGN.replace("from basis", "from linked"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "five")
    (folder / "basis.py").write_text(basis(4))
    return folder


@pytest.fixture
def revision(tmp_path: Path) -> Path:
    (tmp_path / "revision").mkdir()
    return tmp_path / "revision"


def last_value(loaded: LoadedModel) -> Any:
    """The limit to which a model counts, from the code of its action."""
    return vars(loaded.cls.__base__)["count"].__globals__["has_room"].__code__.co_consts[-1]


def test_what_changed_beside_a_design_is_written_otherwise(repository: Path, revision: Path) -> None:
    now = load_model_class(str(repository / "design.py"))
    before = load_at(str(repository / "design.py"), "main", revision)
    assert (last_value(before), last_value(now)) == (5, 4)
    found = differences(before.cls(), now.cls())
    assert [(f.name, f.where.partition(":")[0]) for f in found.changed] == [("has_room", "basis.py")]
    assert found.actions == (("count", "requires otherwise"),)


def test_two_designs_each_with_the_basis_beside_it(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "others"
    other.mkdir()
    (other / "design.py").write_text(DESIGN)
    (other / "basis.py").write_text(basis(7))
    first, second, again = (load_model_class(str(f / "design.py")) for f in (repository, other, repository))
    assert (last_value(first), last_value(second), last_value(again)) == (4, 7, 4)


def test_what_is_mutated_is_that_of_the_revision(repository: Path, revision: Path) -> None:
    """The model is loaded again after a model on today's base."""
    load_model_class(str(repository / "design.py"))
    spec = str(load_at(str(repository / "design.py"), "main", revision).source_file)
    loaded = load_model_class(spec)
    assert last_value(loaded) == 5
    (family,) = families_of(Question(spec, {}, None, ("count",)), loaded)
    assert {m.edit.file for m in family.mutants} == {str(revision / "basis.py")}
    assert "s.value <= 5, not s.value < 5" in {m.edit.words for m in family.mutants}


def test_links_are_followed_and_a_folder_is_no_file(repository: Path, revision: Path) -> None:
    (repository / "folder.py").mkdir()
    (repository / "folder.py" / "x.py").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "a folder that is called so")
    assert last_value(load_at(str(repository / "by_link.py"), "HEAD~1", revision)) == 5
    assert sorted(p.name for p in revision.glob("*.py")) == ["basis.py", "by_link.py", "design.py", "linked.py"]
    with pytest.raises(UnknownName, match=r"folder\.py does not exist in revision HEAD; choose a file that does"):
        load_at(str(repository / "folder.py"), "HEAD", revision)


def test_packages_beside_the_file_are_those_of_today(repository: Path) -> None:
    (repository / "rules").mkdir()
    (repository / "rules" / "__init__.py").write_text("")
    (repository / "rules" / "rooms.py").write_text("def has_room(s):\n    return s.value < 3\n")
    file = repository / "packaged.py"
    file.write_text("from rules.rooms import has_room\n" + BASIS.replace("abstract = True\n    ", ""))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "a package")
    said = run("review", "--behaviours", file, "--a-ref", "HEAD", "--visible", "value", "--quiet")
    assert (said.code, said.err) == (0, "")


def test_a_function_of_a_revision_that_imports_what_is_beside_it_is_refused(repository: Path) -> None:
    """The function would run later and import today's base."""
    here = "        return per_mille(s) >= 0\n"
    lazy = basis(5).replace(here, f"        import math\n        from linked import Counter\n{here}")
    (repository / "basis.py").write_text(lazy)
    git(repository, "commit", "-q", "-a", "-m", "within a function")
    said = run("review", "--behaviours", repository / "design.py", "--a-ref", "HEAD", "--visible", "value")
    line = 1 + lazy.splitlines().index("        from linked import Counter")
    what = "linked is imported inside a function, which would not load the file of the revision"
    assert (said.code, said.err) == (150, f"isrcheck: basis.py:{line}: {what}; import it at the top of the file\n")
