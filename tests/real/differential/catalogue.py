"""Every exchange there is, from all topics."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path

from tests.real.differential.steps import Exchange

_FOLDER = Path(__file__).parent / "exchanges"


def _by_topic() -> Mapping[str, tuple[Exchange, ...]]:
    topics = sorted(found.name for found in pkgutil.iter_modules([str(_FOLDER)]))
    modules = {name: importlib.import_module(f"{__package__}.exchanges.{name}") for name in topics}
    return {name: module.EXCHANGES for name, module in modules.items()}


BY_TOPIC = _by_topic()
EXCHANGES = tuple(each for topic in BY_TOPIC.values() for each in topic)
