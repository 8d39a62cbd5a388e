"""One browser for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pages.browsing import Browser, browser_in


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser_in(tmp_path_factory.mktemp("profile")) as found:
        yield found
