"""What effects found out that is no Kubernetes object: plans read, the planner's answers, texts.

Everything here can be computed or read again after a crash, so it is memory and nothing more. It
is kept by the Job's uid and let go when the job needs it no longer: the texts of a job of 500 PEs
are megabytes. Whatever changes it is an observation (`core/answered.py`), which enters by the door
before it counts; `take` lets it count, here and in a replay.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final, cast

from contracts import labels
from contracts.reasons import Reason
from planner.compressing import CompressedTexts
from planner.numbering.records import PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry
from services.fusion_backend.core.answered import (
    Answered,
    BundleSeen,
    EffectFailed,
    EffectSucceeded,
    Forgotten,
    JobGone,
    LaunchSeen,
    NameTaken,
    PlanDamaged,
    PlanDeclined,
    PlanKnown,
    PlanMade,
    PlanningBegan,
    PlanningEnded,
    PlanningFailed,
    ProvisionsSeen,
    RecordKept,
    ReferenceNoted,
    ResizingFound,
    Settled,
)
from services.fusion_backend.core.effects import RefusalKept, RequestedWidths, WidthsUnplaced
from services.fusion_backend.core.recording import port_labels_id
from services.fusion_backend.core.snapshot import (
    Damage,
    KnownPlan,
    NotedReference,
    Outcome,
    Trouble,
)
from services.fusion_backend.core.spec.inputs import PlanInputs
from services.fusion_backend.core.spec.provisions import Provisions

GONE_MAX: Final = 4_096
"""Uids of Jobs that are remembered to be gone."""
UNPLACED_MAX: Final = 64
"""Requested widths of a job that are known to have no placement."""
NOTED_MAX: Final = 4_096
"""Objects whose references are known to be wrong."""
RECORDS_KEPT_MAX: Final = 10_000
"""Plan records that are known to have been kept whole."""

Texts = tuple[Mapping[str, str], ...]


class JobAnswers:
    """What is known of one Job (one uid); `planning` is the planner at work for it.

    `texts_of`: the texts by the digest of inputs; AADLs stay compressed until they are written.
    """

    def __init__(self, job_uid: str, all_answers: Answers) -> None:
        self.job_uid = job_uid
        self._all = all_answers
        self.outcomes: dict[str, Outcome] = {}
        self.unplaced: dict[tuple[str, RequestedWidths], PlanRefused] = {}
        self.texts_of: dict[str, Texts] = {}
        self.troubled: dict[str, Trouble] = {}
        self.troubles: dict[str, Trouble] = {}
        self.plans: dict[str, KnownPlan] = {}
        self.damaged: dict[str, Damage] = {}
        self.planning: asyncio.Task[None] | None = None
        self.is_planning = False
        self.newest: KnownPlan | None = None
        self.name_taken = ""
        self.launches: dict[str, int] = {}
        self.provisions = Provisions()
        self.is_bundle_there = False
        self._resizing: ResizingFound | None = None

    @property
    def texts(self) -> Mapping[str, str]:
        """AADLs and port labels of all answers by content id, as they are now."""
        maps = [each for texts in self.texts_of.values() for each in texts]
        return ChainMap(*cast("list[MutableMapping[str, str]]", maps))  # nobody writes into it

    # ------------------------------------------------------------------ what is learnt

    def learn(self, inputs: PlanInputs, outcome: Outcome) -> None:
        """Keep the planner's answer, and the texts that came with it."""
        if isinstance(outcome, PlanRefused):
            self._observe(PlanDeclined(self.job_uid, inputs.digest, RefusalKept.of(outcome)))
            return
        port_labels = {port_labels_id(outcome.port_labels): outcome.port_labels}
        pe_of = {pe.content_id: pe.id for pe in outcome.record.pes}
        texts = (port_labels, outcome.aadls.found_by(pe_of))
        names = tuple(sorted(name for each in texts for name in each))
        record = self._all.kept(outcome.record)
        made = PlanMade(self.job_uid, inputs, record, names, outcome.warnings)
        self._all.enter(made)
        self._learn(inputs.digest, outcome, texts)

    def begin_planning(self, planning: asyncio.Task[None]) -> None:
        """The planner works for the job."""
        self.planning = planning
        self._observe(PlanningBegan(self.job_uid))

    def end_planning(self) -> None:
        """The planner does not work for the job any more."""
        self.planning = None
        self._observe(PlanningEnded(self.job_uid))

    def note_planning_trouble(self, digest: str, trouble: Trouble) -> None:
        """The planner failed for reasons of its own."""
        self._observe(PlanningFailed(self.job_uid, digest, trouble))

    def know(self, head_uid: str, plan: KnownPlan) -> None:
        """Keep a plan whose record was read or written under this uid."""
        record = self._all.kept(plan.record)
        known = PlanKnown(
            self.job_uid, head_uid, plan.inputs, record, plan.port_labels_id, plan.warnings
        )
        self._all.enter(known)
        self._know(head_uid, plan)

    def note_damage(self, head_uid: str, damage: Damage) -> None:
        """A plan record cannot be read."""
        self._observe(PlanDamaged(self.job_uid, head_uid, damage.text, damage.is_lost))

    def note_name_taken(self, child: str) -> None:
        """The name of a child belongs to somebody else."""
        self._observe(NameTaken(self.job_uid, child))

    def see_launches(self, pes: Iterable[Entry], pods: Iterable[Entry]) -> None:
        """Remember the highest launch of each PE: one that is deleted by hand goes on from it."""
        for entry in pes:
            launched = entry.data["status"].get("launchCount")
            if launched is not None:
                self._see_launch(entry.name, int(launched))
        for entry in pods:
            marks = entry.data["metadata"]["labels"]
            launch = str(marks.get(labels.LAUNCH_COUNT, ""))
            if launch.isdecimal():
                self._see_launch(f"{marks[labels.JOB]}-{marks.get(labels.PE)}", int(launch))

    def _see_launch(self, pe: str, launch: int) -> None:
        if launch > self.launches.get(pe, -1):
            self._observe(LaunchSeen(self.job_uid, pe, launch))

    def note_trouble(self, subject: str, reason: Reason, text: str, now: float) -> None:
        """An effect failed; the first of several failures in a row says since when."""
        known = self.troubles.get(subject)
        since = known.since if known is not None else now
        self._observe(EffectFailed(self.job_uid, subject, Trouble(reason, text, since)))

    def note_done(self, subject: str) -> bool:
        """An effect did not fail; whether it had failed before."""
        has_failed = subject in self.troubles
        if has_failed:
            self._observe(EffectSucceeded(self.job_uid, subject))
        return has_failed

    def see_certificate(self, seen_at: float) -> None:
        """The certificate was seen as it should be (unix seconds)."""
        refusal = self.provisions.refusal
        kept = RefusalKept.of(refusal) if refusal is not None else None
        self._observe(ProvisionsSeen(self.job_uid, seen_at, kept))

    def refuse_servers(self, refusal: PlanRefused) -> None:
        """The redis servers cannot be used."""
        seen_at = self.provisions.certificate_seen_at
        self._observe(ProvisionsSeen(self.job_uid, seen_at, RefusalKept.of(refusal)))

    def see_bundle(self) -> None:
        """The bundle that the last attempt lacked is there."""
        self._observe(BundleSeen(self.job_uid))

    def find_resizing(self, generation: int, is_possible: bool) -> None:
        """Whether the cluster resizes pods in place, for the plan of this generation."""
        self._observe(ResizingFound(self.job_uid, generation, is_possible))

    def resizes_in_place(self, generation: int) -> bool | None:
        """What was found for a plan; None before."""
        found = self._resizing
        return found.is_possible if found and found.generation == generation else None

    def settle(self) -> None:
        """The newest generation is complete: its texts are in Kubernetes, refusals still count."""
        self._observe(Settled(self.job_uid))

    def close(self) -> None:
        """Nobody waits for the planner any more."""
        if self.planning is not None:
            self.planning.cancel()

    # ------------------------------------------------------------------ what counts then

    def _observe(self, answered: Answered) -> None:
        self._all.enter(answered)
        self.take(answered)

    def take(self, answered: Answered) -> None:
        """Let an observation count that was entered."""
        match answered:
            case PlanMade():
                record = self._all.record(answered.record)
                result = PlanResult(record, CompressedTexts(), "", answered.warnings)
                self._learn(answered.inputs.digest, result, (dict.fromkeys(answered.texts, ""),))
            case PlanDeclined():
                self._learn(answered.digest, answered.refusal.refusal())
            case WidthsUnplaced():
                self.unplaced[answered.digest, answered.widths] = answered.refusal.refusal()
                while len(self.unplaced) > UNPLACED_MAX:
                    del self.unplaced[next(iter(self.unplaced))]
            case PlanningBegan() | PlanningEnded():
                self.is_planning = isinstance(answered, PlanningBegan)
            case PlanningFailed():
                self.troubled[answered.digest] = answered.trouble
            case EffectFailed():
                self.troubles[answered.subject] = answered.trouble
            case EffectSucceeded():
                self.troubles.pop(answered.subject, None)
            case PlanKnown():
                known = (answered.inputs, answered.port_labels_id, answered.warnings)
                plan = KnownPlan(self._all.record(answered.record), *known)
                self._know(answered.head_uid, plan)
            case PlanDamaged():
                self.damaged[answered.head_uid] = Damage(answered.text, answered.is_lost)
            case NameTaken():
                self.name_taken = answered.child
            case LaunchSeen():
                self.launches[answered.pe] = answered.launch
            case ProvisionsSeen():
                refusal = answered.refusal.refusal() if answered.refusal is not None else None
                self.provisions = Provisions(answered.certificate_seen_at, refusal)
            case BundleSeen():
                self.is_bundle_there = True
            case ResizingFound():
                self._resizing = answered
            case Settled():
                self._settle()

    def _learn(self, digest: str, outcome: Outcome, texts: Texts = ()) -> None:
        self.outcomes[digest] = outcome
        self.troubled.pop(digest, None)
        if texts:
            self.texts_of[digest] = texts

    def _know(self, head_uid: str, plan: KnownPlan) -> None:
        self.plans[head_uid] = plan
        if self.newest is None or plan.record.generation >= self.newest.record.generation:
            self.newest = plan

    def _settle(self) -> None:
        self.texts_of.clear()
        self.troubled.clear()
        self.troubles.clear()
        for digest in [key for key, each in self.outcomes.items() if isinstance(each, PlanResult)]:
            del self.outcomes[digest]


class Answers:
    """What is known, by the uid of the Job; `enter` is the door of observations."""

    def __init__(self, enter: Callable[[str, Any], None] = lambda _what, _content: None) -> None:
        self._enter = enter
        self._by_uid: dict[str, JobAnswers] = {}
        self._gone: dict[str, None] = {}
        self.noted: dict[str, NotedReference] = {}
        self._kept: OrderedDict[str, None] = OrderedDict()
        self._records: dict[str, PlanRecord] = {}

    def of(self, job_uid: str) -> JobAnswers:
        """What is known of a Job; remembered from now on."""
        known = self._by_uid.get(job_uid)
        if known is None:
            known = self._by_uid[job_uid] = JobAnswers(job_uid, self)
        return known

    def enter(self, answered: Answered) -> None:
        """Pass an observation through the door."""
        self._enter(type(answered).__name__, answered)

    def observe(self, answered: Answered) -> None:
        """Pass an observation through the door, and let it count."""
        self.enter(answered)
        self.take(answered)

    def take(self, answered: Answered) -> None:
        """Let an observation count that was entered, as in a replay."""
        match answered:
            case Forgotten():
                self._forget(answered.job_uid)
            case JobGone():
                self._learn_gone(answered.job_uid)
            case ReferenceNoted():
                self._note_reference(answered)
            case _:
                self.of(answered.job_uid).take(answered)

    def forget(self, job_uid: str) -> None:
        """The attempt is over, or the Job is gone."""
        if job_uid in self._by_uid:
            self.observe(Forgotten(job_uid))

    def _forget(self, job_uid: str) -> None:
        known = self._by_uid.pop(job_uid, None)
        if known is not None:
            known.close()

    def learn_gone(self, job_uid: str) -> None:
        """Remember that a Job does not exist; of many the newest."""
        self.observe(JobGone(job_uid))

    def _learn_gone(self, job_uid: str) -> None:
        self._gone[job_uid] = None
        while len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]

    def _note_reference(self, noted: ReferenceNoted) -> None:
        self.noted.pop(noted.uid, None)
        if noted.message:
            self.noted[noted.uid] = NotedReference(noted.message, noted.since)
        while len(self.noted) > NOTED_MAX:
            del self.noted[next(iter(self.noted))]

    def is_gone(self, job_uid: str) -> bool:
        """Whether somebody looked for a Job and did not find it."""
        return job_uid in self._gone

    def keep_only(self, job_uids: Iterable[str]) -> None:
        """Forget every other Job."""
        kept = set(job_uids)
        for job_uid in [each for each in self._by_uid if each not in kept]:
            self.forget(job_uid)

    # ------------------------------------------------------------------ plan records

    def kept(self, record: PlanRecord) -> RecordKept:
        """A plan record as observations have it: whole once, then by its digest."""
        kept = RecordKept.of(record, self._kept)
        self._kept[kept.sha256] = None
        if len(self._kept) > RECORDS_KEPT_MAX:
            self._kept.popitem(last=False)
        return kept

    def record(self, kept: RecordKept) -> PlanRecord:
        """The plan record of an observation."""
        record = kept.record(self._records)
        self._records[kept.sha256] = record
        return record
