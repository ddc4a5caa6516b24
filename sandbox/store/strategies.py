"""The port through which the store asks what is special about a resource.

builtin.py answers for the core kinds, custom_resources.py for what CRDs define. A strategy never
changes the objects it is given in place below their top level and their metadata: those parts may
be shared with stored versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sandbox.store.errors import Cause

Body = dict[str, Any]


class Strategy(Protocol):
    """What is special about the objects of one resource."""

    def unknown_fields(self, obj: Body) -> list[str]:
        """Paths that the schema does not know; always none where there is no schema."""
        ...

    def admit_new(self, obj: Body) -> Body:
        """The object as it will be stored: defaulted, pruned, without what may not be sent."""
        ...

    def causes_against_new(self, obj: Body) -> list[Cause]:
        """What is wrong with a new object."""
        ...

    def admit_change(self, obj: Body, old: Mapping[str, Any], *, subresource: str) -> Body:
        """The changed object as it will be stored, limited to what `subresource` may write."""
        ...

    def causes_against_change(
        self, obj: Body, old: Mapping[str, Any], *, subresource: str
    ) -> list[Cause]:
        """What is wrong with a change."""
        ...

    def as_stored(self, obj: Body) -> Body:
        """A valid object as it is read back; the one that was given where nothing changes."""
        ...
