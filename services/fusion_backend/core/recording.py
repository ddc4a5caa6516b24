"""The plan record as ConfigMaps: one immutable head, and parts for what exceeds it.

Parts are written before the head that names them, so a head is always complete: creating it *is*
the generation. Gzip is made without a time, so that equal records give equal objects.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from contracts import labels
from contracts.moments import micro_moment_of
from contracts.reasons import WARNED_OF, Reason, warned_of
from contracts.resources.fields import NAMES_MAX
from planner.numbering.records import SCHEMA_VERSION, PlanRecord, schema_of
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.fusion_backend.core.children import Body, metadata
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan
from services.fusion_backend.core.spec.inputs import PlanInputs

PART_BYTES_MAX = 640 * 1024
"""Of gzip in one ConfigMap: 900 KiB and less once base64 has added a third."""
PARTS_MAX = 16
RECORD_BYTES_MAX = 256 * 1024 * 1024
"""Of a record in JSON: gzip of some hundred kilobytes may hold gigabytes."""
WARNINGS_MAX = 20
RECORD_KEY = "record.json.gz"
ABOUT_KEY = "about.json"


@dataclass(frozen=True, slots=True)
class RecordObjects:
    """The ConfigMaps of one plan record; `parts` are written first."""

    head: Body
    parts: tuple[Body, ...]


def port_labels_id(port_labels: str) -> str:
    """The content id of the job's port labels."""
    return hashlib.sha256(port_labels.encode()).hexdigest()


def known_plan(inputs: PlanInputs, result: PlanResult) -> KnownPlan:
    """The plan as it will be read back."""
    labels_id = port_labels_id(result.port_labels)
    return KnownPlan(result.record, inputs, labels_id, kept_warnings(result.warnings))


def objects_of(job: JobSeen, plan: KnownPlan, *, now: float) -> RecordObjects:
    """The ConfigMaps of a plan that is begun now. Raises PlanRefused (PLAN_TOO_LARGE)."""
    _refuse_regions(len(plan.record.regions))
    generation = plan.record.generation
    text = plan.record.to_bytes()
    is_readable = len(text) < RECORD_BYTES_MAX
    packed = gzip.compress(text, mtime=0)
    del text
    chunks = [packed[at : at + PART_BYTES_MAX] for at in range(0, len(packed), PART_BYTES_MAX)]
    if len(chunks) > PARTS_MAX or not is_readable:
        raise PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field="spec.parallelRegions",
            value=f"{len(packed)} bytes",
            message=f"the plan record of {len(plan.record.pes)} PEs has {len(packed)} bytes packed,"
            f" the limit is {PARTS_MAX * PART_BYTES_MAX} ({RECORD_BYTES_MAX} as text)",
        )
    parts = [
        _config_map(job, labels.plan_part_name(job.name, generation, number), generation, chunk)
        for number, chunk in enumerate(chunks[1:], start=1)
    ]
    head = _config_map(job, labels.plan_name(job.name, generation), generation, chunks[0])
    head["metadata"]["annotations"] = {labels.BEGUN: micro_moment_of(now)}
    head["data"] = {
        ABOUT_KEY: orjson.dumps(_about(plan, parts), option=orjson.OPT_SORT_KEYS).decode()
    }
    return RecordObjects(head, tuple(parts))


def _refuse_regions(regions: int) -> None:
    if regions > NAMES_MAX:
        raise PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field="parallel regions of the application",
            value=regions,
            message=f"the application has {regions} parallel regions, replicas counted: the status"
            f" of a job names {NAMES_MAX} at most",
        )


def _about(plan: KnownPlan, parts: list[Body]) -> dict[str, Any]:
    return {
        "inputs": plan.inputs.to_json(),
        "portLabelsId": plan.port_labels_id,
        "parts": [part["metadata"]["name"] for part in parts],
        "warnings": list(plan.warnings),
    }


def _config_map(job: JobSeen, name: str, generation: int, chunk: bytes) -> Body:
    meta = metadata(job, name, generation)
    meta["labels"][labels.PLAN] = str(generation)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "immutable": True,
        "binaryData": {RECORD_KEY: base64.b64encode(chunk).decode()},
    }


class RecordDamaged(Exception):
    """A plan record cannot be read. `is_lost`: by nobody; else by a release that knows its form."""

    def __init__(self, message: str, *, is_lost: bool = True) -> None:
        super().__init__(message)
        self.is_lost = is_lost


def parts_of(head: Body) -> tuple[str, ...]:
    """The names of the parts that a head names. Raises RecordDamaged."""
    names = _document(head).get("parts")
    if not isinstance(names, list):
        raise RecordDamaged(f"{_named(head)} does not say its parts")
    if len(names) >= PARTS_MAX:
        raise RecordDamaged(f"{_named(head)} has {len(names)} parts; {PARTS_MAX - 1} are the most")
    return tuple(str(name) for name in names)


def plan_of(head: Body, parts: list[Body]) -> KnownPlan:
    """The plan that these ConfigMaps hold. Raises RecordDamaged."""
    about = _document(head)
    try:
        packed = b"".join(
            base64.b64decode(each["binaryData"][RECORD_KEY], validate=True)
            for each in (head, *parts)
        )
        text = _unpacked(packed)
        if (schema := schema_of(text)) > SCHEMA_VERSION:
            newer = f"{_named(head)} is of schema version {schema}, of a newer release of millrace"
            raise RecordDamaged(f"{newer}: run that, or one after it", is_lost=False)
        record = PlanRecord.from_json(text)
        inputs = PlanInputs.from_json(about["inputs"])
        return KnownPlan(record, inputs, str(about["portLabelsId"]), tuple(about["warnings"]))
    except (KeyError, TypeError, ValueError, OSError, EOFError, zlib.error) as error:
        raise RecordDamaged(
            f"{_named(head)} is damaged ({type(error).__name__}: {error})"
        ) from error


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    text = unpacking.decompress(packed, RECORD_BYTES_MAX)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError(f"no gzip of less than {RECORD_BYTES_MAX} bytes")
    return text


def _named(head: Body) -> str:
    return f"plan record {head['metadata']['name']}"


def _document(head: Body) -> dict[str, Any]:
    try:
        about = orjson.loads(head["data"][ABOUT_KEY])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordDamaged(f"{_named(head)} has no {ABOUT_KEY} that can be read") from error
    if not isinstance(about, dict):
        raise RecordDamaged(f"{_named(head)} has no {ABOUT_KEY} that can be read")
    return about


def kept_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """The warnings that a record has room for.

    Those of WARNED_OF come last, and are always kept: conditions and commands look for them.
    """
    named = [each for each in warnings if warned_of(each)[0] in WARNED_OF]
    others = [each for each in warnings if each not in named]
    return (*others[: WARNINGS_MAX - len(named)], *named)
