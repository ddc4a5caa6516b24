"""What effects found out that is no Kubernetes object: plans read, the planner's answers, texts.

Everything here can be computed or read again after a crash, so it is memory and nothing more. It
is kept by the Job's uid and let go when the job needs it no longer: the texts of a job of 500 PEs
are megabytes.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Final, cast

from contracts import labels
from contracts.reasons import Reason
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.chassis.table.table import Entry
from services.fusion_backend.core.effects import RequestedWidths
from services.fusion_backend.core.recording import port_labels_id
from services.fusion_backend.core.snapshot import Damage, KnownPlan, Outcome, Trouble
from services.fusion_backend.core.spec.inputs import PlanInputs
from services.fusion_backend.core.spec.provisions import Provisions

GONE_MAX: Final = 4_096
"""Uids of Jobs that are remembered to be gone."""
UNPLACED_MAX: Final = 64
"""Requested widths of a job that are known to have no placement."""


@dataclass
class JobAnswers:
    """What is known of one Job (one uid); `planning` is the planner at work for it.

    `texts_of`: the texts by the digest of inputs; AADLs stay compressed until they are written.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    unplaced: dict[tuple[str, RequestedWidths], PlanRefused] = field(default_factory=dict)
    texts_of: dict[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    troubled: dict[str, Trouble] = field(default_factory=dict)
    troubles: dict[str, Trouble] = field(default_factory=dict)
    plans: dict[str, KnownPlan] = field(default_factory=dict)
    damaged: dict[str, Damage] = field(default_factory=dict)
    planning: asyncio.Task[None] | None = None
    newest: KnownPlan | None = None
    name_taken: str = ""
    launches: dict[str, int] = field(default_factory=dict)
    provisions: Provisions = field(default_factory=Provisions)

    def learn(self, inputs: PlanInputs, outcome: Outcome) -> None:
        """Keep the planner's answer, and the texts that came with it."""
        self.outcomes[inputs.digest] = outcome
        self.troubled.pop(inputs.digest, None)
        if isinstance(outcome, PlanRefused):
            return
        port_labels = {port_labels_id(outcome.port_labels): outcome.port_labels}
        pe_of = {pe.content_id: pe.id for pe in outcome.record.pes}
        self.texts_of[inputs.digest] = (port_labels, outcome.aadls.found_by(pe_of))

    def learn_unplaced(
        self, inputs: PlanInputs, widths: RequestedWidths, refusal: PlanRefused
    ) -> None:
        """Keep that these widths have no placement, until regions report it; the newest only."""
        self.unplaced[inputs.digest, widths] = refusal
        while len(self.unplaced) > UNPLACED_MAX:
            del self.unplaced[next(iter(self.unplaced))]

    @property
    def texts(self) -> Mapping[str, str]:
        """AADLs and port labels of all answers by content id, as they are now."""
        maps = [each for texts in self.texts_of.values() for each in texts]
        return ChainMap(*cast("list[MutableMapping[str, str]]", maps))  # nobody writes into it

    def know(self, head_uid: str, plan: KnownPlan) -> None:
        """Keep a plan whose record was read or written under this uid."""
        self.plans[head_uid] = plan
        if self.newest is None or plan.record.generation >= self.newest.record.generation:
            self.newest = plan

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
        self.launches[pe] = max(launch, self.launches.get(pe, 0))

    def note_trouble(self, subject: str, reason: Reason, text: str, now: float) -> None:
        """An effect failed; the first of several failures in a row says since when."""
        known = self.troubles.get(subject)
        since = known.since if known is not None else now
        self.troubles[subject] = Trouble(reason, text, since)

    def note_done(self, subject: str) -> None:
        """An effect did not fail."""
        self.troubles.pop(subject, None)

    def close(self) -> None:
        """Nobody waits for the planner any more."""
        if self.planning is not None:
            self.planning.cancel()

    def settle(self) -> None:
        """The newest generation is complete: its texts are in Kubernetes, refusals still count."""
        self.texts_of.clear()
        self.troubled.clear()
        self.troubles.clear()
        for digest in [key for key, each in self.outcomes.items() if isinstance(each, PlanResult)]:
            del self.outcomes[digest]


class Answers:
    """What is known, by the uid of the Job."""

    def __init__(self) -> None:
        self._by_uid: dict[str, JobAnswers] = {}
        self._gone: dict[str, None] = {}

    def of(self, job_uid: str) -> JobAnswers:
        """What is known of a Job; remembered from now on."""
        return self._by_uid.setdefault(job_uid, JobAnswers())

    def forget(self, job_uid: str) -> None:
        """The attempt is over, or the Job is gone."""
        known = self._by_uid.pop(job_uid, None)
        if known is not None:
            known.close()

    def learn_gone(self, job_uid: str) -> None:
        """Remember that a Job does not exist; of many the newest."""
        self._gone[job_uid] = None
        while len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]

    def is_gone(self, job_uid: str) -> bool:
        """Whether somebody looked for a Job and did not find it."""
        return job_uid in self._gone

    def keep_only(self, job_uids: Iterable[str]) -> None:
        """Forget every other Job."""
        kept = set(job_uids)
        for job_uid in [each for each in self._by_uid if each not in kept]:
            self.forget(job_uid)
