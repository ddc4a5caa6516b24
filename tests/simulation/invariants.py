"""What must hold after every write, whatever goes wrong."""

from __future__ import annotations

from collections import defaultdict

from contracts import labels
from sandbox.store.resources import POD
from sandbox.store.store import Store

OVER = ("Succeeded", "Failed")


class LaunchesWatch:
    """One pod per (PE, launch); launch n+1 only when n is over; launch numbers never fall."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[tuple[str, int], str] = {}
        self._highest: dict[str, int] = defaultdict(int)

    def check(self) -> None:
        """Raise AssertionError where a pod that exists now breaks a rule."""
        running: dict[str, list[int]] = defaultdict(list)
        for pod in self._store.list(POD, None).items:
            meta = pod["metadata"]
            if labels.LAUNCH_COUNT not in (meta.get("labels") or {}):
                continue
            pe = meta["ownerReferences"][0]["uid"]
            launch = int(meta["labels"][labels.LAUNCH_COUNT])
            self._check_once(pe, launch, meta["uid"])
            if (pod.get("status") or {}).get("phase") not in OVER:
                running[pe].append(launch)
        twice = {pe: launches for pe, launches in running.items() if len(launches) > 1}
        assert not twice, f"two launches of one PE run at once: {twice}"

    def _check_once(self, pe: str, launch: int, pod: str) -> None:
        first = self._seen.get((pe, launch))
        if first is None:
            assert launch > self._highest[pe], f"launch {launch} of {pe} after {self._highest[pe]}"
            self._seen[(pe, launch)] = pod
            self._highest[pe] = launch
            return
        assert first == pod, f"launch {launch} of {pe} has run as {first} and as {pod}"
