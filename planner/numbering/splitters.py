"""Which splitter is which for the life of a job, as a plan record keeps it."""

from __future__ import annotations

from typing import NamedTuple

PathStep = tuple[int, int, int, int]
"""(region index, input port, ordinal among equals, channel of it that leads on or -1)."""


class SplitterKey(NamedTuple):
    """The lasting identity of a splitter: its output port and the path to it."""

    operator: int
    port: int
    path: tuple[PathStep, ...]


class SplitterRecord(NamedTuple):
    """The index of a splitter, local to the output port."""

    key: SplitterKey
    id: int
