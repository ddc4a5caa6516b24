"""What is remembered of children between decisions saves comparisons, and decides nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from contracts import labels
from contracts.facts import project
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.chassis.table.viewing import Views
from services.fusion_backend.adapters.folding import BOUND_POD, RoomFold
from services.fusion_backend.adapters.intake import INDEXES, JobKey, snapshot_of
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.membership import difference
from services.fusion_backend.core.provisions_due import servers_awaited
from services.fusion_backend.core.remembering import Remembered
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.snapshot import Snapshot
from tests.unit.fusion_backend.world import JOB, NAMESPACE, World


def entry(name: str, version: int = 1) -> Entry:
    return Entry("ProcessingElement", NAMESPACE, name, f"uid-{name}", version, {})


class Noting:
    """A predicate that notes the entries that it looks at."""

    def __init__(self, *failing: str) -> None:
        self.names: list[str] = []
        self._failing = failing

    def __call__(self, each: Entry) -> bool:
        self.names.append(each.name)
        return each.name not in self._failing


def test_only_what_changed_or_failed_is_looked_at_again() -> None:
    """An entry that is in the table still is as it was."""
    remembered, entries = Remembered(), [entry("a"), entry("b"), entry("c")]
    assert {each.name for each in remembered.among(entries, Noting("b")).values()} == {"a", "c"}
    looked = Noting()
    entries[2] = entry("c", 2)
    assert len(remembered.among(entries, looked)) == 3
    assert looked.names == ["b", "c"]


def test_what_is_gone_is_forgotten() -> None:
    """A job that lives for years must not collect what it once had."""
    remembered, gone = Remembered(), entry("a")
    remembered.among([gone], Noting())
    assert not remembered.among([], Noting())
    looked = Noting()
    remembered.among([gone], looked)
    assert looked.names == ["a"]


def test_a_predicate_about_something_else_looks_at_everything() -> None:
    """Labels that are right for one Job are wrong for the next of its name."""
    remembered, entries = Remembered(), [entry("a")]
    remembered.among(entries, Noting(), "uid-1")
    assert not remembered.among(entries, Noting("a"), "uid-2")


# --------------------------------------------------------------------------- decisions


class KeptWorld(World):
    """A world whose table is kept from one snapshot to the next, as in a service."""

    def __init__(self, width: int) -> None:
        self.table, self.fold = Table(INDEXES), RoomFold()
        self._views = Views(self.table, (self.fold,), lambda _ref: None)
        self._known: dict[tuple[str, str], int] = {}
        super().__init__(width=width)

    def snapshot(self) -> Snapshot:
        for ref in [each for each in self._known if each not in self.objects]:
            kind, name = ref
            for of_kind in (kind, BOUND_POD) if kind == "Pod" else (kind,):
                gone = self.table.get(of_kind, NAMESPACE, name)
                if gone is not None:
                    self.table.observe_gone(gone.ref, gone.uid)
            del self._known[ref]
        for (of_kind, name), obj in self.objects.items():
            meta = obj["metadata"]
            if self._known.get((of_kind, name)) == meta["resourceVersion"]:
                continue
            self._known[of_kind, name] = meta["resourceVersion"]
            for kind in (of_kind, BOUND_POD) if of_kind == "Pod" else (of_kind,):
                if (data := project(kind, obj)) is not None:
                    self.table.observe(
                        kind,
                        meta.get("namespace", ""),
                        name,
                        uid=meta["uid"],
                        resource_version=int(meta["resourceVersion"]),
                        data=data,
                    )
        self._views.fold_all()
        return snapshot_of(
            self.table,
            JobKey(NAMESPACE, JOB),
            self.answers,
            width_max=self.width_max,
            pod_rules=self.pod_rules,
            rooms=self.fold.rooms,
        )


def without_memory(snapshot: Snapshot) -> Snapshot:
    """The same snapshot for a service that has just been started."""
    plans = {number: replace(plan) for number, plan in snapshot.plans.items()}
    return replace(snapshot, plans=plans)


def _hands(world: KeptWorld, draw: random.Random) -> list[Callable[[], object]]:
    """What somebody may do to a job and to its children."""
    pes = [name for kind, name in world.objects if kind == "ProcessingElement"]
    maps = [name for kind, name in world.objects if kind == "ConfigMap" and name != JOB]
    if not pes or not maps or ("ParallelRegion", f"{JOB}-0") not in world.objects:
        return [world.step]
    pe, config_map = draw.choice(pes), draw.choice(maps)
    others = {"metadata": {"labels": {labels.CONSISTENT_REGION: "true"}}}
    return [
        lambda: world.resize(0, draw.randint(1, 6)),
        lambda: world.edit("ProcessingElement", pe, contentId="somebody's"),
        lambda: world.edit("ProcessingElement", pe, serviceName="elsewhere"),
        lambda: world.edit("ProcessingElement", pe, transportSecurityType="TLSv1.2"),
        lambda: world._patch("ProcessingElement", pe, others),
        lambda: world._patch("ProcessingElement", pe, {"metadata": {"labels": {labels.JOB: "x"}}}),
        lambda: world._patch("ConfigMap", config_map, {"metadata": {"ownerReferences": []}}),
        lambda: world.mark_deleted("ProcessingElement", pe),
        lambda: world.remove("ProcessingElement", pe),
        lambda: world.remove("ConfigMap", config_map),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_decisions_are_the_same_as_those_of_a_service_that_remembers_nothing(seed: int) -> None:
    """Whatever changed in between, by our own writes or by hand."""
    draw, world = random.Random(seed), KeptWorld(3)
    for _ in range(60):
        snapshot = world.snapshot()
        decision = decide(snapshot, world.now)
        assert decision == decide(without_memory(snapshot), world.now)
        if draw.random() < 0.3:
            draw.choice(_hands(world, draw))()
        else:
            world.step()


def test_a_job_at_rest_is_not_compared_again() -> None:
    """A look at a job in which one PE changed compares that PE."""
    world = KeptWorld(8)
    world.converge()
    snapshot = world.snapshot()
    decide(snapshot, world.now)
    plan = snapshot.newest
    assert plan is not None
    pes = snapshot.of("ProcessingElement").values()
    world._patch("ProcessingElement", f"{JOB}-3", {"status": {"message": "It runs on."}})
    changed = Noting()
    plan.as_planned.among(world.snapshot().of("ProcessingElement").values(), changed)
    assert (changed.names, len(pes) > 8) == ([f"{JOB}-3"], True)


def test_a_remembered_pe_that_is_being_deleted_is_awaited() -> None:
    """Its name is free only later, so the job is not complete without it."""
    world = KeptWorld(3)
    world.converge()
    world.mark_deleted("ProcessingElement", f"{JOB}-1")
    assert Situation(world.snapshot(), world.now).difference.leaving == 1


def test_a_remembered_pe_that_gets_another_share_is_patched() -> None:
    """Its share follows from the whole job, and not from its own entry."""
    world = KeptWorld(3)
    world.converge()
    snapshot = world.snapshot()
    plan, name = snapshot.newest, f"{JOB}-1"
    assert plan is not None
    found = difference(snapshot, plan, confirmed=True, has_placement=False, other_shares={name})
    assert [patch.name for patch in found.patches] == [name]


def test_a_remembered_pe_that_needs_redis_since_an_edit_is_noticed() -> None:
    """The servers are looked up as for a new job."""
    world = KeptWorld(3)
    world.converge()
    assert servers_awaited(world.snapshot()) is None
    redis = {"service": "redis", "replicaCount": 1, "shardCount": 1}
    world.edit("ProcessingElement", f"{JOB}-1", checkpointRepository={"redis": redis})
    request = servers_awaited(world.snapshot())
    assert request is not None
    assert request.place.startswith(f"ProcessingElement {JOB}-1")
