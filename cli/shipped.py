"""Reads the YAML files of this package, which are large: definitions, roles and manifests.

The parser of libyaml reads them in a tenth of the time of PyYAML's own; builds of PyYAML without it
fall back. Files of users are read by PyYAML, whose errors show the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents_in(file: Path) -> Iterator[dict[str, Any]]:
    """The documents of a file."""
    yield from documents_of(file.read_text(encoding="utf-8"))


def documents_of(text: str) -> Iterator[dict[str, Any]]:
    """The documents of a text."""
    yield from yaml.load_all(text, _LOADER)


def document_in(file: Path) -> dict[str, Any]:
    """The only document of a file. Raises ValueError where there are several."""
    (document,) = documents_in(file)
    return document
