"""Fenced effects: creates with deterministic names, patches under a version, deletes under a uid.

Every response is projected and enters the table at once, so a service reads its own writes. What
is written, and when, is the stage's business; how facts come back is the table's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from services.chassis.kube import Kube, Resource
from services.chassis.table import Entry, Table

Project = Callable[[str, Mapping[str, Any]], dict[str, Any] | None]


class Outcome(StrEnum):
    """How a write ended; a stage's `carry_out` may return it as it is."""

    CREATED = "created"
    EXISTED = "existed"
    RESTAMPED = "restamped"
    PATCHED = "patched"
    UNCHANGED = "unchanged"
    DELETING = "deleting"
    GONE = "gone"


class Writer:
    """The only way of a stage to write objects that its table knows."""

    def __init__(self, kube: Kube, table: Table, project: Project) -> None:
        self._kube = kube
        self._table = table
        self._project = project

    async def create(
        self, resource: Resource, namespace: str, body: Mapping[str, Any], *, stamp: str = ""
    ) -> Outcome:
        """POST; `stamp` is the label key whose number says which generation wrote the object.

        AlreadyExists is resolved by a GET: same controller uid and stamp → EXISTED; older stamp →
        labels and annotations are patched (RESTAMPED), or Superseded for an object with a spec,
        which its stage patches itself; newer stamp → Superseded; being deleted or its owner gone
        → Transient; somebody else's → NameTaken.
        """
        raise NotImplementedError

    async def patch(
        self, entry: Entry, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Outcome:
        """Merge patch of an entry's object under the version that was decided on.

        409 with an unchanged projection is tried again under the new version, a bounded number of
        times; with a changed one, or on 404, the table learns it and Superseded is raised.
        """
        raise NotImplementedError

    async def delete(
        self,
        entry: Entry,
        *,
        with_version: bool = False,
        propagation: str = "Background",
        grace_s: int | None = None,
    ) -> Outcome:
        """DELETE under the entry's uid, and under its version where a re-stamping competes."""
        raise NotImplementedError

    async def delete_collection(
        self, resource: Resource, namespace: str, *, label_selector: str
    ) -> Outcome:
        """DELETE by collection; what is gone comes back as facts."""
        raise NotImplementedError

    async def confirm_absent(self, resource: Resource, namespace: str, name: str) -> bool:
        """GET a deterministic name: True if there is none; else the table learns what is there."""
        raise NotImplementedError

    async def emit_event(
        self,
        regarding: Entry | Mapping[str, Any],
        *,
        reason: str,
        message: str,
        generation: int,
        warning: bool = False,
    ) -> Outcome:
        """A core/v1 Event whose name is made of object, reason and generation: once, ever."""
        raise NotImplementedError


def resource_of(kind: str) -> Resource:
    """The resource behind a kind of fact (contracts/facts.py)."""
    raise NotImplementedError
