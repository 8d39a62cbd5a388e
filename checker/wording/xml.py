"""Text that XML allows, for JUnit reports, GraphML and SVG."""

from __future__ import annotations

import re
from typing import Final

REFUSED: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""


def clean(text: str) -> str:
    """The text with U+FFFD in place of each character that XML 1.0 does not allow. The caller escapes markup."""
    return REFUSED.sub("\ufffd", text)
