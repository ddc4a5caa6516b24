"""`tools/`, the workshop: what builds and runs the real pair. A checkout has it, a wheel does not.

Modules of the command name the workshop, and never import it: it is loaded by the first use.
"""

from __future__ import annotations

import sys
from pkgutil import resolve_name
from typing import Any, Final

from cli.failing import Misused
from cli.resources import resource

CHECKOUT: Final = resource("cli", "..").resolve()
_PINNED: Final = "tools/real/pinned"


def load(where: str) -> Any:
    """What `module:attribute` names; raises Misused for the workshop where there is none."""
    if where.startswith("tools."):
        if not (CHECKOUT / _PINNED).is_dir():
            raise Misused(
                "the real pair is built by tools that are in no wheel: it needs a checkout of the "
                "source of millrace. Say `make venv` there, and use its .venv/bin/millrace."
            )
        if str(CHECKOUT) not in sys.path:  # an environment of a checkout knows what wheels have
            sys.path.insert(0, str(CHECKOUT))
    return resolve_name(where)
