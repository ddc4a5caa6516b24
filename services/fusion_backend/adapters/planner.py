"""The planner as a port: a task goes in, a plan or a refusal comes out.

`run_task` is the one piece of code that opens a bundle and plans; it runs in a worker process
(`planning_worker.py`) or, where one event loop with virtual time must drive everything, right here
(`InlinePlanner`). Tasks have a JSON form, since they cross a process boundary; answers are frames
(`answer_frames.py`). Nothing that comes back from a process that read untrusted input is unpickled.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from contracts.bundle_format import BundleTooLarge
from contracts.bundle_limits import OutOfMemory
from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.bundles import open_bundle
from planner.application.model import Application
from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import PlanRecord
from planner.planning import PlanResult, plan
from planner.refusals import PlanRefused
from planner.resizing import refuse_resized_consistency
from services.chassis.process.collecting import collector_paused
from services.fusion_backend.core.spec.dividing import refusal_of_units
from services.fusion_backend.core.spec.inputs import PlanInputs, request
from services.fusion_backend.core.spec.sizing import refusal_of_copies

APPLICATIONS_KEPT = 4


@dataclass(frozen=True, slots=True)
class PlanTask:
    """What a planner needs: inputs, the bundle in the store, the record of the plan before.

    `measured` is the CPU that is in use, for automatic fusion.
    """

    inputs: PlanInputs
    bundle_digest: str
    bundle_path: Path
    previous: PlanRecord | None = None
    measured: MeasuredCpu | None = None

    def to_json(self) -> dict[str, Any]:
        """The task as it crosses to a worker."""
        return {
            "inputs": self.inputs.to_json(),
            "bundleDigest": self.bundle_digest,
            "bundlePath": str(self.bundle_path),
            "previous": self.previous.to_json() if self.previous else None,
            "measured": asdict(self.measured) if self.measured else None,
        }

    @staticmethod
    def from_json(document: dict[str, Any]) -> PlanTask:
        """The task of such a document."""
        previous, measured = document["previous"], document["measured"]
        return PlanTask(
            inputs=PlanInputs.from_json(document["inputs"]),
            bundle_digest=document["bundleDigest"],
            bundle_path=Path(document["bundlePath"]),
            previous=PlanRecord.from_json(previous) if previous else None,
            measured=MeasuredCpu(**measured) if measured else None,
        )


class Planner(Protocol):
    """Plans, somewhere."""

    async def plan(self, task: PlanTask) -> PlanResult:
        """The plan. Raises PlanRefused, and Transient where the planner itself is in trouble."""
        ...


class Applications:
    """Parsed applications by bundle digest: a resize need not parse again."""

    def __init__(self, kept_max: int = APPLICATIONS_KEPT) -> None:
        self._kept_max = kept_max
        self._by_digest: OrderedDict[str, Application] = OrderedDict()

    def of(self, task: PlanTask) -> Application:
        """The application of a task's bundle. Raises PlanRefused."""
        application = self._by_digest.get(task.bundle_digest)
        if application is None:
            application = _application_in(task)
            self._by_digest[task.bundle_digest] = application
            if len(self._by_digest) > self._kept_max:
                self._by_digest.popitem(last=False)
        self._by_digest.move_to_end(task.bundle_digest)
        return application


ABOUT_BUNDLES = frozenset(
    {Reason.ADL_INVALID, Reason.BUNDLE_INVALID, Reason.BUNDLE_TOO_LARGE, Reason.BUNDLE_MISSING}
)


def _application_in(task: PlanTask) -> Application:
    try:
        return read_application(open_bundle(task.bundle_path.read_bytes()))
    except PlanRefused as refusal:
        raise _of_bundle(task, refusal) from refusal
    except OutOfMemory as error:
        raise MemoryError(str(error)) from error  # this process' limit, not one on bundles
    except BundleTooLarge as error:
        memory_refusal = PlanRefused(
            Reason.BUNDLE_TOO_LARGE, field="ADL", value=error.part, message=str(error)
        )
        raise _of_bundle(task, memory_refusal) from error


@collector_paused()
def run_task(task: PlanTask, applications: Applications) -> PlanResult:
    """Open, read, plan. Raises PlanRefused; what is wrong with the bundle names the bundle."""
    wanted = request(
        task.inputs,
        application=applications.of(task),
        bundle_digest=task.bundle_digest,
        previous=task.previous,
        measured=task.measured,
    )
    try:
        refuse_resized_consistency(wanted)
        result = plan(wanted)
    except PlanRefused as refusal:
        # Connections are judged when they are followed, long after the bundle was read.
        if refusal.reason in ABOUT_BUNDLES:
            raise _of_bundle(task, refusal) from refusal
        raise
    if not task.inputs.rendered:  # else the generation is in force, and only its texts are missing
        pes, template = len(result.record.pes), task.inputs.template
        shared: dict[str, Any] = orjson.loads(template) if template else {}
        refused = refusal_of_copies(task.inputs, pes) or refusal_of_units(shared, pes)
        if refused is not None:
            raise refused
    return result


def _of_bundle(task: PlanTask, refusal: PlanRefused) -> PlanRefused:
    source = task.inputs.bundle
    return refusal.within(source.field, source.value)


class InlinePlanner:
    """Plans in this process and this event loop: for simulation, where time is virtual."""

    def __init__(self) -> None:
        self._applications = Applications()

    async def plan(self, task: PlanTask) -> PlanResult:
        """The plan. Raises PlanRefused."""
        return run_task(task, self._applications)
