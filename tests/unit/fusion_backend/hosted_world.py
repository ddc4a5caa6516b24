"""A world whose job asks for hosts, with hostpool-manager played by a function of a few lines.

The operators of the first region run on hosts with the tag `counting`, each on one of its own; so
as many channels fit as there are such hosts.
"""

from __future__ import annotations

from typing import Any

from contracts.id_runs import ids_of
from contracts.reasons import Reason
from contracts.resources import JobPhase
from tests.unit.fusion_backend.shop import APART, IN_POOL
from tests.unit.fusion_backend.world import JOB, Name, Obj, World

PLACEMENT: Name = ("Placement", JOB)
CLOSEST = "node-0 came closest: it lacks 1 CPU"


class HostedWorld(World):
    """One job that asks for hosts."""

    def __init__(self, *, counting: int = 4, asking: str = IN_POOL + APART, **more: Any) -> None:
        self.counting = counting
        self.waits = False
        self.is_answered = True
        self.asked: list[Obj] = []
        super().__init__(**more)
        self.hosts = asking

    def others(self) -> None:
        """The answer to what is asked, then pods."""
        self.answer()
        super().others()

    def answer(self) -> None:
        """Play hostpool-manager: an answer for each new spec of the Placement."""
        placement = self.objects.get(PLACEMENT)
        if placement is None or not self.is_answered:
            return
        meta, status = placement["metadata"], placement.setdefault("status", {})
        if status.get("observedGeneration") == meta["generation"]:
            return
        self.asked.append(dict(placement["spec"]))
        answer = self.answer_to(placement["spec"]) | {"observedGeneration": meta["generation"]}
        self._patch(*PLACEMENT, {"status": answer})

    def answer_to(self, spec: Obj) -> Obj:
        """What hostpool-manager says."""
        counters = [ids_of(each["pes"]) for each in spec["classes"] if each["exLocations"]]
        apart = sum(map(len, counters))
        if apart > self.counting:
            reason = Reason.INSUFFICIENT_CAPACITY if self.waits else Reason.EXLOCATION_IMPOSSIBLE
            return {
                "phase": "Refused",
                "waits": self.waits,
                "reason": reason.value,
                "message": f"{apart} PEs apart, {self.counting} hosts; {CLOSEST}",
            }
        return {
            "phase": "Placed",
            "waits": None,
            "reason": Reason.PLACED.value,
            "message": None,
            "generation": spec["generation"],
        }

    def ask_again(self) -> None:
        """Something changed in the cluster: what waits is decided again."""
        placement = self.objects[PLACEMENT]
        answer = self.answer_to(placement["spec"])
        self._patch(*PLACEMENT, {"status": answer})

    @property
    def asked_for(self) -> int:
        """The generation that the Placement asks for."""
        return int(self.objects[PLACEMENT]["spec"]["generation"])


def hosted(**more: Any) -> HostedWorld:
    """A world whose job is placed, submitted and steady."""
    world = HostedWorld(**more)
    world.converge()
    assert world.status()["phase"] == JobPhase.SUBMITTED
    return world
