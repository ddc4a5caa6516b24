"""Plays the runtimes of PEs that hand over: they report a start, and seal when they are listed.

What pe-gateway would write of their reports is written into the statuses of the PEs directly. After
every write it is held that no PE is replaced before the hand-over that lists it is complete, and no
hand-over before the PEs that load from it have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from contracts import labels
from contracts.moments import unix_s_of
from millrace.protocol import HAND_OVER_S
from sandbox.store.store import Store
from tests.sandboxed import MERGE, kind_of
from tests.simulation.hands import fail
from tests.simulation.world import Obj, World

JOB = "j"
_LOOK_S = 0.05
_DONE = float("inf")


@dataclass(frozen=True)
class Played:
    """How the runtimes of a job behave: seconds until they seal, and until one that is launched
    again has loaded; PEs that do not seal, or that end once."""

    seals_after_s: float = 0.5
    loads_after_s: float = 0.0
    never: frozenset[int] = frozenset()
    fails: frozenset[int] = frozenset()


@dataclass
class HandOverWatch:
    """A PE that hands over keeps its content until the hand-over is complete.

    It keeps its pod as well, unless that ends itself or somebody restarts it.
    """

    store: Store
    now: Callable[[], float]
    before: Obj = field(default_factory=dict)
    lived: set[tuple[int, int]] = field(default_factory=set)
    contents: dict[tuple[int, int], str] = field(default_factory=dict)
    ended: set[tuple[int, int]] = field(default_factory=set)

    def check(self) -> None:
        """Raise AssertionError where a listed launch was taken away too early."""
        hand_over = hand_over_of(self.store)
        self._check_replaced(hand_over)
        if not hand_over or hand_over["complete"]:
            return
        elements = {
            int(each["spec"]["id"]): dict(each["spec"])
            for each in self.store.list(kind_of(self.store, "streamspes"), None).items
        }
        self._check_contents(hand_over, elements)
        pods = self.store.list(kind_of(self.store, "pods"), None).items
        live = {
            _launch_of(dict(pod)) for pod in pods if not pod["metadata"].get("deletionTimestamp")
        }
        listed = {(int(pe), launch) for pe, launch in hand_over["pes"].items()}
        gone = {each for each in listed if each[0] in hand_over["gone"]}
        self.lived |= live
        restarted = {
            (pe, launch)
            for pe, launch in listed
            if elements.get(pe, {}).get("launchCount", 0) > launch
        }
        lost = (listed & self.lived) - gone - live - self.ended - restarted
        assert not lost, f"(PE, launch) {sorted(lost)} went before the hand-over was complete"

    def _check_contents(self, hand_over: Obj, elements: dict[int, Obj]) -> None:
        """Raise AssertionError where a listed PE has another content already."""
        generation = hand_over["generation"]
        for pe in map(int, hand_over["pes"]):
            content = elements.get(pe, {}).get("contentId", "")
            before = self.contents.setdefault((generation, pe), content)
            assert content == before, f"PE {pe} has new content before it has handed over"

    def _check_replaced(self, hand_over: Obj) -> None:
        """Raise AssertionError where a newer hand-over takes away what a PE has to load."""
        before, self.before = self.before, hand_over
        if not before or before["generation"] == hand_over.get("generation"):
            return
        is_held = before["complete"] and before["sealed"]
        if not is_held or self.now() >= unix_s_of(before["completedAt"]) + HAND_OVER_S:
            return
        for pe in self.store.list(kind_of(self.store, "streamspes"), None).items:
            number, launch = int(pe["spec"]["id"]), _started(dict(pe))
            is_its = pe["metadata"]["labels"][labels.GENERATION] == str(before["generation"])
            is_loaded = launch > before["pes"].get(str(number), 0)
            assert is_loaded or not is_its, f"PE {number} had not loaded what was handed over"


def hand_over_of(store: Store) -> Obj:
    """What the Job's status records; empty before the first hand-over."""
    jobs = [
        each
        for each in store.list(kind_of(store, "streamsjobs"), None).items
        if each["metadata"]["name"] == JOB
    ]
    return dict((jobs[0].get("status") or {}).get("handOver") or {}) if jobs else {}


def _started(pe: Obj) -> int:
    """The launch that has loaded its state; 0: none."""
    return int(((pe.get("status") or {}).get("runtime") or {}).get("launch") or 0)


def _launch_of(pod: Obj) -> tuple[int, int]:
    marks = pod["metadata"]["labels"]
    return int(marks[labels.PE]), int(marks[labels.LAUNCH_COUNT])


class PlayedRuntimes:
    """The runtimes of job j, whatever becomes of its PEs."""

    def __init__(self, world: World, played: Played) -> None:
        self._world = world
        self._played = played
        self._fails = set(played.fails)
        self._watch = HandOverWatch(world.store, world.clock.now)
        self._due: dict[tuple[int, int, int], float] = {}
        self._loaded_at: dict[tuple[int, int], float] = {}
        self._version = -1
        world.watches = (*world.watches, self._watch)

    async def play(self) -> None:
        """Report and seal until the world ends."""
        while True:
            is_due = self._due or any(at != _DONE for at in self._loaded_at.values())
            if self._world.store.version != self._version or is_due:
                self._version = self._world.store.version
                self._look()
            await asyncio.sleep(_LOOK_S)

    def _look(self) -> None:
        pods = self._world.live_pods(JOB)
        for name, pe in self._world.objects("streamspes", JOB).items():
            pod = pods.get(name)
            if pod is not None and pod["status"].get("phase") == "Running":
                self._start(name, pe, _launch_of(pod)[1])
        self._hand_over(pods)

    def _start(self, name: str, pe: Obj, launch: int) -> None:
        runtime = (pe.get("status") or {}).get("runtime") or {}
        if runtime.get("launch") == launch:
            return
        key, now = (int(pe["spec"]["id"]), launch), self._world.clock.now()
        delay_s = self._played.loads_after_s if hand_over_of(self._world.store) else 0.0
        if now >= self._loaded_at.setdefault(key, now + delay_s):
            self._loaded_at[key] = _DONE
            self._report(name, launch=launch, handsOver=True, sealed=None)

    def _hand_over(self, pods: dict[str, Obj]) -> None:
        hand_over, now = hand_over_of(self._world.store), self._world.clock.now()
        if not hand_over or hand_over["complete"]:
            self._due.clear()
            return
        for pe, launch in ((int(pe), launch) for pe, launch in hand_over["pes"].items()):
            name, key = labels.pe_name(JOB, pe), (hand_over["generation"], pe, launch)
            if name not in pods or _launch_of(pods[name]) != (pe, launch):
                continue
            if pe in self._fails:
                self._fails.remove(pe)
                self._watch.ended.add((pe, launch))
                fail(self._world, name)
                continue
            due = self._due.setdefault(key, now + self._played.seals_after_s)
            if now >= due and pe not in self._played.never:
                self._due[key] = _DONE
                self._report(name, sealed=hand_over["generation"])

    def _report(self, name: str, **runtime: object) -> None:
        patch = {"status": {"runtime": runtime}}
        kind, store = self._world.kind("streamspes"), self._world.store
        store.patch(kind, "default", name, patch, MERGE, subresource="status")
