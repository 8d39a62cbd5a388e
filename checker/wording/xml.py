"""Text that XML can have: JUnit's reports and GraphML are made of it."""

from __future__ import annotations

import re
from typing import Final

REFUSED: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have, not even escaped."""


def clean(text: str) -> str:
    """Text without what XML cannot have; markup is escaped where the document is written."""
    return REFUSED.sub("\ufffd", text)
