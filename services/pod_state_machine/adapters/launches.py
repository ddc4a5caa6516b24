"""The newest launch of each PE that was seen or created here, whatever became of its pod.

A pod that is deleted by force before any status speaks of it leaves nothing in Kubernetes that says
it was there: without this its launch would seem to be still to come, and run twice. The memory is
this process's: what a crash takes of it is the hole that the README names.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from services.pod_state_machine.core.snapshot import Launched, Pod

LAUNCHES_KEPT_MAX = 50_000


class Launches:
    """What was launched, by the uid of the PE."""

    def __init__(self, kept_max: int = LAUNCHES_KEPT_MAX) -> None:
        self._kept_max = kept_max
        self._newest: OrderedDict[str, Launched] = OrderedDict()

    def newest(self, pe_uid: str) -> Launched | None:
        """The newest launch of a PE that is known of."""
        return self._newest.get(pe_uid)

    def note_seen(self, pods: Iterable[Pod]) -> None:
        """Remember the launches of pods that exist."""
        for pod in pods:
            self.note(pod.owner_uid, Launched(pod.launch, pod.name, pod.content_id))

    def note(self, pe_uid: str, launched: Launched) -> None:
        """Remember a launch, unless a newer one is known."""
        known = self._newest.get(pe_uid)
        if known is None or known.launch < launched.launch:
            self._newest[pe_uid] = launched
        self._newest.move_to_end(pe_uid)
        if len(self._newest) > self._kept_max:
            self._newest.popitem(last=False)
