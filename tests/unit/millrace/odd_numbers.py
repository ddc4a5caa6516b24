"""Numbers with one that something is wrong with, and what a sink got of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COUNT = 6
ODD = 3
"""The tuple that something is wrong with."""
GOT: list[Any] = []


@dataclass
class Number:
    value: int


def numbers() -> Iterator[Number]:
    yield from map(Number, range(COUNT))
