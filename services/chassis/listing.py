"""The list-watch loop: list in pages, watch from the list's version, relist when it expired."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.chassis.clock import Clock
from services.chassis.kube import Json, KubeClient, Resource, WatchEvent


@dataclass(frozen=True, slots=True)
class Watched:
    """What is listed and watched; `namespace` None means all."""

    resource: Resource
    namespace: str | None = None
    label_selector: str = ""
    metadata_only: bool = False


class Sink(Protocol):
    """Who is told what was seen."""

    async def listed(self, items: Sequence[Json], resource_version: str) -> None:
        """Everything that existed at `resource_version`."""
        ...

    async def seen(self, event: WatchEvent) -> None:
        """ADDED, MODIFIED or DELETED, in order; bookmarks are not told."""
        ...


async def list_all(kube: KubeClient, watched: Watched) -> tuple[list[Json], str]:
    """Every object, and the version at which the list was true."""
    raise NotImplementedError


class ListWatch:
    """One list-watch that survives everything; `relist()` asks for a new list."""

    def __init__(
        self, kube: KubeClient, watched: Watched, *, clock: Clock, random: random.Random
    ) -> None:
        raise NotImplementedError

    def relist(self) -> None:
        """End the watch and list again."""
        raise NotImplementedError

    async def run(self, sink: Sink) -> None:
        """Run for ever; an exception of the sink ends it."""
        raise NotImplementedError
