"""How a runtime says that `flush` or `close` of a function failed: for `get` and `why`.

No tuple is at fault then: what the function holds back is in its process alone, so its PE stays and
calls the method again.
"""

from __future__ import annotations

import re
from typing import Final

_FAILED: Final = re.compile(r"operator (?:(?! failed ).)+ failed in (flush|close): ", re.DOTALL)


def method_that_failed(words: str) -> str:
    """`flush` or `close`, where that is what an operator failed in; else empty."""
    found = _FAILED.match(words)
    return found.group(1) if found else ""
