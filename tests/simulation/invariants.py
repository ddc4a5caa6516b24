"""What must hold after every write, whatever goes wrong, and when nothing is written any more."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Protocol

from contracts import labels
from planner.numbering.records import PlanRecord
from sandbox.store.resources import POD
from sandbox.store.store import Store
from services.fusion_backend.core.recording import parts_of, plan_of
from tests.sandboxed import kind_of
from tests.simulation.node_invariants import OVER, ApartWatch, ClaimsWatch

CHILDREN = (
    *("pods", "configmaps", "secrets", "services"),
    *("streamspes", "streamsprs", "streamshostpools", "streamsplacements"),
)
Obj = dict[str, Any]


class StatusWatch:
    """Launch counts and plan generations never fall, for as long as a uid lives."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._highest: dict[tuple[str, str], int] = {}

    def check(self) -> None:
        """Raise AssertionError where a number is lower than it was."""
        for plural, field in (
            ("streamspes", "launchCount"),
            ("streamsjobs", "generation"),
            ("streamsplacements", "generation"),
        ):
            for item in self._store.list(kind_of(self._store, plural), None).items:
                number = (item.get("status") or {}).get(field)
                if number is None:
                    continue
                key = (item["metadata"]["uid"], field)
                known = self._highest.get(key, -1)
                named = f"{plural} {item['metadata']['name']}"
                assert number >= known, f"{field} of {named} fell from {known} to {number}"
                self._highest[key] = number


class JobIdsWatch:
    """No two Jobs of a namespace ever have one id, however often the number was requested."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._job_of: dict[tuple[str, int], str] = {}

    def check(self) -> None:
        """Raise AssertionError where an id was another Job's, or a Job's id changes."""
        for job in self._store.list(kind_of(self._store, "streamsjobs"), None).items:
            meta, number = job["metadata"], (job.get("status") or {}).get("id")
            if number is None:
                continue
            known = self._job_of.setdefault((meta["namespace"], number), meta["uid"])
            assert known == meta["uid"], f"job id {number} of {meta['name']} had been given before"


class PlansWatch:
    """What plan records say, over all generations of a Job: no number is given twice.

    And a width is in force only where a plan says so: one that was refused never replaces it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: set[str] = set()
        self._operators: dict[tuple[str, int], tuple[Any, ...]] = {}
        self._pes: dict[str, set[int]] = {}
        self._high: dict[str, int] = defaultdict(lambda: -1)
        self._generation: dict[str, int] = {}
        self._widths: dict[tuple[str, int], dict[str, int]] = {}

    def check(self) -> None:
        """Read the plan records that are new; hold what regions say against them."""
        self._read_new()
        self._check_widths()

    def _check_widths(self) -> None:
        for region in self._store.list(kind_of(self._store, "streamsprs"), None).items:
            status = region.get("status") or {}
            job_uid = (region["metadata"].get("labels") or {}).get(labels.JOB_UID, "")
            planned = self._widths.get((job_uid, status.get("generation", -1)))
            if planned is None or "width" not in status:
                continue
            alias, said = region["spec"]["alias"], status["width"]
            assert said == planned[alias], f"region {alias} says {said}, planned {planned[alias]}"

    def _read_new(self) -> None:
        config_maps = kind_of(self._store, "configmaps")
        for head in self._store.list(config_maps, None, labels=labels.PLAN).items:
            meta = head["metadata"]
            if meta["uid"] in self._read or "data" not in head:
                continue
            parts = [
                dict(self._store.get(config_maps, meta["namespace"], name))
                for name in parts_of(dict(head))
            ]
            self._read.add(meta["uid"])
            self.note(meta["labels"][labels.JOB_UID], plan_of(dict(head), parts).record)

    def note(self, job_uid: str, record: PlanRecord) -> None:
        """Raise AssertionError where a newer plan gives a number that stood for another thing."""
        widths = {region.name: region.width for region in record.regions}
        self._widths[(job_uid, record.generation)] = widths
        if record.generation <= self._generation.get(job_uid, -1):
            return
        self._generation[job_uid] = record.generation
        for operator in record.operators:
            meaning = (record.bundle_digest, *operator.key)
            known = self._operators.setdefault((job_uid, operator.operator), meaning)
            assert known == meaning, f"operator {operator.operator} was {known}, is {meaning}"
        pes = {pe.id for pe in record.pes}
        reused = {pe for pe in pes - self._pes.get(job_uid, set()) if pe <= self._high[job_uid]}
        assert not reused, f"PEs {reused} of generation {record.generation} had been given before"
        self._pes[job_uid] = pes
        self._high[job_uid] = max(pes | {self._high[job_uid]})


def leftovers(store: Store) -> list[str]:
    """Children of Jobs that do not exist. An orphaning deletion leaves them without an owner."""
    jobs = {
        item["metadata"]["uid"] for item in store.list(kind_of(store, "streamsjobs"), None).items
    }
    found: list[str] = []
    for plural in CHILDREN:
        for item in store.list(kind_of(store, plural), None).items:
            meta = item["metadata"]
            uid = (meta.get("labels") or {}).get(labels.JOB_UID)
            if uid and uid not in jobs and _is_owned(store, item):
                found.append(f"{plural} {meta['name']}")
    return found


def _is_owned(store: Store, item: Obj) -> bool:
    """Whether the object has an owner, and that is none that an orphaning deletion left."""
    owners = item["metadata"].get("ownerReferences") or ()
    pes = {pe["metadata"]["uid"]: pe for pe in store.list(kind_of(store, "streamspes"), None).items}
    return any(
        owner["uid"] not in pes or bool(pes[owner["uid"]]["metadata"].get("ownerReferences"))
        for owner in owners
    )


def _waits_for_others(pe: Obj) -> bool:
    is_first = not (pe.get("status") or {}).get("launchCount")
    return is_first and bool(pe["spec"].get("startsLast"))


def podless(store: Store) -> list[str]:
    """PEs of Submitted jobs that are meant to run and have not exactly one live pod.

    A copy of a PE under another name has none. One that says that a pod of it does not end has none
    until somebody acts, and one that starts last has none until the others are on nodes.
    """
    pods: dict[str, int] = defaultdict(int)
    for pod in store.list(POD, None).items:
        owners = pod["metadata"].get("ownerReferences") or ()
        is_live = (pod.get("status") or {}).get("phase") not in OVER
        if owners and is_live and not pod["metadata"].get("deletionTimestamp"):
            pods[owners[0]["uid"]] += 1
    submitted = {
        item["metadata"]["uid"]
        for item in store.list(kind_of(store, "streamsjobs"), None).items
        if (item.get("status") or {}).get("phase") == "Submitted"
    }
    return [
        f"{pe['metadata']['name']} has {pods[pe['metadata']['uid']]} live pods"
        for pe in store.list(kind_of(store, "streamspes"), None).items
        if (pe["metadata"].get("labels") or {}).get(labels.JOB_UID) in submitted
        and (pe.get("status") or {}).get("phase") in ("Waiting", "Starting", "Running")
        and not _is_stuck(pe)
        and not _waits_for_others(pe)
        and pods[pe["metadata"]["uid"]] != (0 if _is_copy(pe) else 1)
    ]


def _is_copy(pe: Obj) -> bool:
    job = (pe["metadata"].get("labels") or {}).get(labels.JOB)
    return bool(pe["metadata"]["name"] != labels.pe_name(str(job), pe["spec"]["id"]))


def _is_stuck(pe: Obj) -> bool:
    conditions = (pe.get("status") or {}).get("conditions") or ()
    return any(
        (each["type"], each["status"]) == ("StuckTerminating", "True") for each in conditions
    )


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


class Watch(Protocol):
    """Looks at the store after every write."""

    def check(self) -> None:
        """Raise AssertionError where something is broken."""


WATCHES = (LaunchesWatch, StatusWatch, JobIdsWatch, PlansWatch, ClaimsWatch, ApartWatch)
"""Made for a cluster, and asked after every write."""
