"""A world of fusion-backend whose PEs report that they hand over."""

from __future__ import annotations

from typing import Any

from contracts import labels
from tests.unit.fusion_backend.world import JOB, Obj, World

SECONDS = 30


class HandingOver(World):
    """A world whose PEs report that they hand over; `pod-state-machine` waits for them."""

    def __init__(self, *, hands_over: bool = True, **spec: Any) -> None:
        self.hands_over = hands_over
        self.never_launched: dict[str, Obj] = {}
        super().__init__(**spec)
        self.converge()

    def others(self) -> None:
        super().others()
        for name, status in self.never_launched.items():
            self.objects.pop(("Pod", name), None)
            self.objects["ProcessingElement", name]["status"] = dict(status)
        for pod in [obj for (kind, _), obj in self.objects.items() if kind == "Pod"]:
            pe = self.objects.get(("ProcessingElement", pod["metadata"]["name"]))
            if pe is not None and self.hands_over:
                launch = int(pod["metadata"]["labels"][labels.LAUNCH_COUNT])
                if pe["status"].get("runtime", {}).get("launch") != launch:
                    pe["status"]["runtime"] = {"launch": launch, "handsOver": True}

    def _wanted(self, pod: Obj) -> bool:
        pe = self.objects.get(("ProcessingElement", pod["metadata"]["name"]))
        if pe is None or super()._wanted(pod):
            return pe is not None
        scaling = self.objects["Job", JOB]["spec"]["scaling"]
        runtime, hand_over = pe["status"].get("runtime", {}), self.hand_over
        if not scaling.get("handOverSeconds", SECONDS):
            return False
        is_over = hand_over.get("generation", -1) >= pe["spec"]["generation"]
        return bool(runtime.get("handsOver")) and not (is_over and hand_over["complete"])

    @property
    def hand_over(self) -> Obj:
        """What the Job's status records."""
        return dict(self.status().get("handOver") or {})

    def seal(self, *pes: int) -> None:
        """These PEs have sealed their state for the generation that takes over."""
        for name in (labels.pe_name(JOB, pe) for pe in pes):
            if ("ProcessingElement", name) in self.objects:
                runtime = self.objects["ProcessingElement", name]["status"]["runtime"]
                runtime["sealed"] = self.hand_over["generation"]

    def launch_again(self, pe: int) -> int:
        """The next launch of a PE has a pod, and has begun; its number."""
        name = labels.pe_name(JOB, pe)
        self.objects["ProcessingElement", name]["status"]["launchCount"] += 1
        launch = int(self.objects["ProcessingElement", name]["status"]["launchCount"])
        self.objects["Pod", name]["metadata"]["labels"][labels.LAUNCH_COUNT] = str(launch)
        return launch

    def contents(self) -> dict[str, str]:
        """The content of each PE, as its spec has it."""
        names = self.named("ProcessingElement")
        return {
            each: self.objects["ProcessingElement", each]["spec"]["contentId"] for each in names
        }

    def end(self, pe: int) -> None:
        """The pod of a PE fails, and its status says so."""
        name = labels.pe_name(JOB, pe)
        del self.objects["Pod", name]
        self.objects["ProcessingElement", name]["status"]["phase"] = "Failed"

    def launches(self) -> dict[str, int]:
        """The launch of each PE."""
        return {
            name: obj["status"]["launchCount"]
            for (kind, name), obj in self.objects.items()
            if kind == "ProcessingElement"
        }

    def status_writes(self) -> int:
        """How often the Job's status was written."""
        return self.writes.count(("PATCH", "Job", JOB))


def resized_to(width: int = 5, **spec: Any) -> HandingOver:
    """A job with a resize that waits for its PEs."""
    world = HandingOver(width=3, **spec)
    world.writes.clear()
    world.resize(0, width)
    world.converge()
    return world


def listed_in(world: HandingOver) -> list[int]:
    """The PEs of the hand-over."""
    return sorted(map(int, world.hand_over["pes"]))
