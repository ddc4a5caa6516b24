"""Every exchange there is, from all topics."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from tests.real.differential.steps import Exchange

_FOLDER = Path(__file__).parent / "exchanges"


def _all() -> tuple[Exchange, ...]:
    topics = sorted(found.name for found in pkgutil.iter_modules([str(_FOLDER)]))
    modules = [importlib.import_module(f"{__package__}.exchanges.{name}") for name in topics]
    return tuple(each for module in modules for each in module.EXCHANGES)


EXCHANGES = _all()
