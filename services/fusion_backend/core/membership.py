"""Compares the newest plan with what exists: what is missing, what differs, what nobody names.

Children say themselves what they hold (content id, input ports, where a Service leads), so the
comparison asks for no history: it finds the same differences after a crash, half-way through a
resize, or when somebody deleted or edited an object by hand. A PE that was as planned is compared
again when it changed (remembering.py).
"""

from __future__ import annotations

from collections.abc import Container, ItemsView, Iterable, Sequence
from dataclasses import dataclass, replace

from contracts import labels
from planner.numbering.records import PeRecord, PoolRecord
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry, annotation, is_deleting
from services.fusion_backend.core.admission import PLACEMENT
from services.fusion_backend.core.children import (
    is_declared,
    marks_of_job,
    marks_of_regions,
    pack_of,
    pool_spec,
    pools_with_places,
)
from services.fusion_backend.core.clearing import is_owned
from services.fusion_backend.core.effects import AdoptChild, CreateChild, DeleteChild, PatchChild
from services.fusion_backend.core.packs import holds, names_in_use
from services.fusion_backend.core.pe_services import (
    MARKS_OF_JOB_SERVICE,
    has_address,
    is_as_planned,
)
from services.fusion_backend.core.placement_requests import placement_spec
from services.fusion_backend.core.placement_states import placement_of, requests
from services.fusion_backend.core.seen import (
    PeSeen,
    PlacementSeen,
    PoolSeen,
    labels_of,
    owner_uids_of,
)
from services.fusion_backend.core.snapshot import (
    CHILD_KINDS,
    KnownPlan,
    Snapshot,
    plan_recorded_in,
    stamp_of,
)

PLANS_KEPT = 2
_OF_WHOLE_JOB = frozenset({"ParallelRegion", "HostPool", PLACEMENT})


@dataclass(frozen=True, slots=True)
class Difference:
    """What has to be written; `textless` are PEs whose AADL must be rendered first.

    `leaving` counts planned objects that are being deleted: their names are free only later.
    `orphans` are children that name no owner any more, though nobody orphaned them, and those that
    lack labels by which they are found. `unmendable` are children that somebody made into what no
    patch brings back: they go, and their creation follows when they are gone.
    """

    creates: tuple[CreateChild, ...] = ()
    patches: tuple[PatchChild, ...] = ()
    textless: tuple[int, ...] = ()
    port_labels_textless: bool = False
    leaving: int = 0
    orphans: tuple[AdoptChild, ...] = ()
    unmendable: tuple[DeleteChild, ...] = ()

    @property
    def is_writable(self) -> bool:
        """Whether something can be written now."""
        return bool(self.creates or self.patches or self.orphans or self.unmendable)

    @property
    def is_empty(self) -> bool:
        """Whether everything is as planned."""
        is_textless = self.textless or self.port_labels_textless
        return not (self.is_writable or is_textless or self.leaving)


def difference(
    snapshot: Snapshot,
    plan: KnownPlan,
    *,
    confirmed: bool,
    withheld: Container[int] = (),
    kept: Container[int] = (),
    has_placement: bool,
    is_requesting: bool = False,
    other_shares: Container[str] = (),
) -> Difference:
    """What separates the children that exist from those of the plan.

    `withheld` are PEs that are not created again (withholding.py), `kept` those that keep their
    content until they have handed over. `has_placement`: the job has a Placement while the plan is
    in force. `is_requesting`: the Placement asks for a newer plan, or is about to. `other_shares`
    are names of PEs that get another share of the job's resources.
    """
    search = _Search(snapshot, plan, confirmed, withheld, kept, other_shares)
    search.compare_job_config_map()
    search.compare_job_service()
    for name, members in plan.config_maps.items():
        search.compare_contents(name, members)
    search.compare_pes()
    for region in plan.record.regions:
        search.compare_presence("ParallelRegion", labels.pe_name(snapshot.name, region.index))
    for pool in plan.record.pools:
        search.compare_pool(pool, is_requesting=is_requesting)
    if has_placement:
        search.compare_placement(is_requesting=is_requesting)
    found = search.found()
    orphans = _orphans(snapshot, plan, has_placement=has_placement)
    return replace(found, orphans=(*found.orphans, *orphans))


def _orphans(snapshot: Snapshot, plan: KnownPlan, *, has_placement: bool) -> tuple[AdoptChild, ...]:
    """Planned children without any owner, or without our labels.

    A deletion of the Job would leave the former behind, and nobody finds the latter.
    """
    assert snapshot.job is not None, "children belong to a Job"
    marks = marks_of_job(snapshot.job).items()

    def is_sound(entry: Entry) -> bool:
        return bool(owner_uids_of(entry)) and _is_marked(snapshot, entry, marks)

    children = [entry for kind in CHILD_KINDS for entry in snapshot.of(kind).values()]
    sound = plan.sound.among(children, is_sound, (snapshot.name, snapshot.job.uid))
    robbed = [each for each in children if id(each) not in sound and not is_deleting(each)]
    named = _names(snapshot, plan, has_placement=has_placement) if robbed else {}
    return tuple(
        AdoptChild(entry.kind, entry.name, entry.resource_version)
        for entry in robbed
        if entry.name in named[entry.kind]
        or (entry.kind == "ConfigMap" and plan_recorded_in(entry.name, snapshot.name) is not None)
    )


def _is_marked(snapshot: Snapshot, entry: Entry, marks: ItemsView[str, str]) -> bool:
    """Whether a child bears our labels; called for thousands, so it compares names and looks up."""
    seen = labels_of(entry)
    if not seen.get(labels.GENERATION, "").isdecimal() or not marks <= seen.items():
        return False
    if entry.kind in _OF_WHOLE_JOB or entry.name == snapshot.name:
        return True
    is_pack = labels.is_pack_name(entry.name, snapshot.name)
    if entry.kind == "ConfigMap" and (labels.PLAN in seen or is_pack):
        return True
    if entry.kind == "Service" and entry.name == labels.job_service_name(snapshot.name):
        return MARKS_OF_JOB_SERVICE.items() <= seen.items()
    of_pe = f"{snapshot.name}-{seen.get(labels.PE)}"
    is_named_so = entry.name == of_pe or entry.name.startswith(f"{of_pe}-")
    return is_named_so and seen.get(labels.SERVICE_ROLE) == labels.ROLE_PE


def _has_marks(entry: Entry, pe: PeRecord) -> bool:
    """Whether a PE has the labels that it hands on to its pods."""
    return marks_of_regions(pe).items() <= labels_of(entry).items()


class _Search:
    """One pass over the plan; collects what differs."""

    def __init__(
        self,
        snapshot: Snapshot,
        plan: KnownPlan,
        confirmed: bool,
        withheld: Container[int],
        kept: Container[int],
        other_shares: Container[str],
    ) -> None:
        self._withheld = withheld
        self._kept = kept
        self._other_shares = other_shares
        self._snapshot = snapshot
        self._plan = plan
        self._confirmed = confirmed
        self._generation = plan.record.generation
        self._creates: list[CreateChild] = []
        self._patches: list[PatchChild] = []
        self._textless: list[int] = []
        self._port_labels_textless = False
        self._leaving = 0
        self._adopts: list[AdoptChild] = []
        self._unmendable: list[DeleteChild] = []
        self._with_places = pools_with_places(plan.record)

    def found(self) -> Difference:
        """What was collected."""
        return Difference(
            tuple(self._creates),
            tuple(self._patches),
            tuple(self._textless),
            self._port_labels_textless,
            self._leaving,
            tuple(self._adopts),
            tuple(self._unmendable),
        )

    def compare_job_config_map(self) -> None:
        """The port labels; they change with a resize, so this ConfigMap is patched."""
        wanted = self._plan.port_labels_id
        entry = self._snapshot.of("ConfigMap").get(self._snapshot.name)
        if entry is not None and annotation(entry, labels.CONTENT_ID) == wanted:
            self._leaving += is_deleting(entry)
            return
        if wanted not in self._snapshot.texts:
            self._port_labels_textless = True
        elif entry is None:
            self._create("ConfigMap", self._snapshot.name)
        else:
            self._patch(entry)

    def compare_job_service(self) -> None:
        """The Service of all PEs, if the job has one; no resize changes it."""
        if self._plan.service:
            self._compare_service(self._plan.service)

    def compare_pes(self) -> None:
        """Every PE, and its Service if each PE has one."""
        entries, service = self._snapshot.of("ProcessingElement"), self._plan.service
        alike = self._plan.as_planned.among(entries.values(), self._is_as_planned)
        for pe in self._plan.record.pes:
            if not service:
                self._compare_service(pe.name, pe)
            entry = entries.get(pe.name)
            if id(entry) not in alike or pe.name in self._other_shares:
                self._compare_pe(pe, entry)

    def _is_as_planned(self, entry: Entry) -> bool:
        """Whether a PE is one of the plan and nothing is to be done for it, but for its share."""
        pe = self._plan.pes_by_name.get(entry.name)
        if pe is None or entry.unreadable or is_deleting(entry):
            return False
        return self._has_spec(PeSeen(entry), pe) and _has_marks(entry, pe)

    def _compare_pe(self, pe: PeRecord, entry: Entry | None) -> None:
        if entry is None:
            if pe.id not in self._withheld:
                self._create("ProcessingElement", pe.name, pe.id)
        elif is_deleting(entry):
            self._leaving += 1
        elif pe.name in self._other_shares or not self._has_spec(PeSeen(entry), pe):
            if pe.id not in self._kept:
                self._patch(entry, pe.id)
        elif not _has_marks(entry, pe):
            self._adopts.append(AdoptChild(entry.kind, entry.name, entry.resource_version))

    def _has_spec(self, seen: PeSeen, pe: PeRecord) -> bool:
        has_content = seen.content_id == pe.content_id and seen.pack == pack_of(pe)
        return has_content and seen.service_name == self._plan.service

    def compare_presence(self, kind: str, name: str) -> None:
        """A child that is written once."""
        entry = self._snapshot.of(kind).get(name)
        if entry is None:
            self._create(kind, name)
        elif is_deleting(entry):
            self._leaving += 1

    def compare_pool(self, pool: PoolRecord, *, is_requesting: bool) -> None:
        """What the application declares: another mode by hand would free the nodes that it holds.

        A question about a newer plan may have changed the pool of a number (`pools_to_settle`).
        """
        name = labels.pe_name(self._snapshot.name, pool.index)
        self.compare_presence("HostPool", name)
        entry = self._snapshot.of("HostPool").get(name)
        wanted = pool_spec(self._snapshot.name, pool, self._with_places)
        if entry is None or is_deleting(entry) or is_requesting:
            return
        if not is_declared(PoolSeen(entry).spec, wanted):
            self._patch(entry)

    def compare_placement(self, *, is_requesting: bool) -> None:
        """The job's request; it is that of the plan in force unless a newer plan is requested."""
        seen = placement_of(self._snapshot)
        if seen is None:
            self._create(PLACEMENT, self._snapshot.name)
        elif seen.is_deleting:
            self._leaving += 1
        elif not is_requesting and not self._has_request(seen):
            self._patch(seen.entry)

    def _has_request(self, seen: PlacementSeen) -> bool:
        try:
            spec = placement_spec(self._snapshot, self._plan, is_in_force=True)
        except PlanRefused:
            return True  # edits of its PEs made it too large: the request stays
        # The request that was answered before the record came need not be written again.
        return requests(seen, spec) or requests(seen, {**spec, "inForce": False})

    def compare_contents(self, name: str, members: Sequence[PeRecord]) -> None:
        """The ConfigMap with the AADLs of these PEs; nobody can patch its data."""
        entry = self._snapshot.of("ConfigMap").get(name)
        if entry is not None and is_deleting(entry):
            self._leaving += 1
        elif entry is not None and not holds(entry, members):
            self._unmend(entry)
        elif entry is None:
            texts = self._snapshot.texts
            textless = [pe.id for pe in members if pe.content_id not in texts]
            self._textless += textless
            if not textless:
                self._create("ConfigMap", name, members[0].id)

    def _compare_service(self, name: str, pe: PeRecord | None = None) -> None:
        entry, number = self._snapshot.of("Service").get(name), -1 if pe is None else pe.id
        if entry is None:
            self._create("Service", name, number)
        elif is_deleting(entry):
            self._leaving += 1
        elif has_address(entry):
            self._unmend(entry)
        elif not is_as_planned(entry, self._snapshot.name, pe):
            self._patch(entry, number)

    def _create(self, kind: str, name: str, pe: int = -1) -> None:
        self._creates.append(CreateChild(kind, name, self._generation, pe, self._confirmed))

    def _unmend(self, entry: Entry) -> None:
        version = entry.resource_version
        self._unmendable.append(DeleteChild(entry.kind, entry.name, entry.uid, version))

    def _patch(self, entry: Entry, pe: int = -1) -> None:
        self._patches.append(
            PatchChild(entry.kind, entry.name, self._generation, entry.resource_version, pe)
        )


# --------------------------------------------------------------------------- leftovers


def leftovers(
    snapshot: Snapshot, plan: KnownPlan, *, has_placement: bool, is_requesting: bool = False
) -> tuple[DeleteChild, ...]:
    """Children stamped below the plan that it does not name, but for the newest plan records.

    And host pools of a newer plan that was requested and not put in force, once the Placement
    requests the plan again: pools are written before the request, so a cache that lags
    behind does not see a pool that is in force so. And a Placement that the job has no longer.
    """
    record, named = plan.record, _names(snapshot, plan, has_placement=has_placement)
    seen = None if is_requesting else placement_of(snapshot)
    is_back = seen is not None and seen.requested_generation == record.generation
    found = [
        entry
        for kind in CHILD_KINDS
        for name, entry in snapshot.of(kind).items()
        if name not in named[kind]
        and (
            stamp_of(entry) < record.generation
            or (is_back and kind == "HostPool")
            or (kind == PLACEMENT and not is_requesting)
        )
        and is_owned(entry, snapshot.job.uid if snapshot.job else "")
        and not is_deleting(entry)
        and not _is_kept_plan(entry, record.generation)
    ]
    in_use = names_in_use(snapshot) if any(map(_has_contents, found)) else frozenset()
    return tuple(
        DeleteChild(entry.kind, entry.name, entry.uid, entry.resource_version)
        for entry in found
        if not (_has_contents(entry) and entry.name in in_use)
    )


def _has_contents(entry: Entry) -> bool:
    """Whether it may hold AADLs, which pods mount."""
    return entry.kind == "ConfigMap" and labels.PLAN not in labels_of(entry)


def _names(
    snapshot: Snapshot, plan: KnownPlan, *, has_placement: bool
) -> dict[str, Container[str]]:
    record, pes = plan.record, plan.pes_by_name
    return {
        "ConfigMap": {snapshot.name, *plan.config_maps},
        "Service": {plan.service} if plan.service else pes,
        "ProcessingElement": pes,
        "ParallelRegion": _indexed(snapshot.name, (region.index for region in record.regions)),
        "HostPool": _indexed(snapshot.name, (pool.index for pool in record.pools)),
        PLACEMENT: frozenset((snapshot.name,) if has_placement else ()),
    }


def _indexed(job: str, indexes: Iterable[int]) -> frozenset[str]:
    return frozenset(labels.pe_name(job, index) for index in indexes)


def _is_kept_plan(entry: Entry, generation: int) -> bool:
    """The record before the newest stays: a zombie that reads it finds itself superseded."""
    return labels.PLAN in labels_of(entry) and stamp_of(entry) > generation - PLANS_KEPT
