"""The newest launch of each owner that this process observed or created.

A pod that is force-deleted before any status records it leaves no trace in Kubernetes. Without
this memory, the service would repeat the launch. A crash loses the memory: then the DELETION of the
pod shows that it was (`gone_pods.py`). If no DELETION was published either, since watch-ingest was
away as well, the launch is repeated under the same number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from services.launching.core.pods import Pod
from services.launching.core.snapshot import Launched

LAUNCHES_KEPT_MAX = 50_000
LAUNCHED: Final = "launched"
"""The kind of observation: a pod of a launch was observed or created."""


class Launches:
    """The newest launches, by the uid of the owner."""

    def __init__(
        self,
        enter: Callable[[str, Mapping[str, Any]], None] = lambda _what, _content: None,
        kept_max: int = LAUNCHES_KEPT_MAX,
    ) -> None:
        self._enter = enter
        self._kept_max = kept_max
        self._newest: OrderedDict[str, Launched] = OrderedDict()

    def newest(self, owner_uid: str) -> Launched | None:
        """The newest known launch of an owner, if any."""
        return self._newest.get(owner_uid)

    def note_pods(self, pods: Iterable[Pod]) -> None:
        """Remember the launches of pods that exist."""
        for pod in pods:
            self.note(pod.owner_uid, Launched(pod.launch, pod.name, pod.content_id))

    def note(self, owner_uid: str, launched: Launched) -> None:
        """Remember a launch, unless a newer one is known."""
        known = self._newest.get(owner_uid)
        if known is None or known.launch < launched.launch:
            content = {"ownerUid": owner_uid, "launch": launched.launch, "pod": launched.pod}
            self._enter(LAUNCHED, content | {"contentId": launched.content_id})
            self._newest[owner_uid] = launched
        self._newest.move_to_end(owner_uid)
        if len(self._newest) > self._kept_max:
            self._newest.popitem(last=False)

    def take_in(self, content: Mapping[str, Any]) -> None:
        """Remember a launch that was entered before."""
        launched = Launched(content["launch"], content["pod"], content["contentId"])
        self._newest[content["ownerUid"]] = launched
