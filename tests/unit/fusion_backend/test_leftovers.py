"""What a complete generation cleans up: its own older children, and nothing of anybody else."""

from __future__ import annotations

from contracts import labels
from services.chassis.table.entries import Entry
from services.fusion_backend.core.membership import leftovers
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from tests.builders import a_config_map, a_job
from tests.unit.fusion_backend.test_children import RECORD

PLAN = KnownPlan(
    RECORD,
    PlanInputs(
        RECORD.job_name,
        RECORD.job_id,
        RECORD.generation,
        BundleSource("shop.sab"),
        RECORD.fusion,
    ),
    "",
)


def _old(pe: int, *, stamp: int, owned: bool = True) -> Entry:
    builder = a_config_map("shop", pe, "fedcba9876543210")
    builder = builder.with_label(labels.GENERATION, str(stamp))
    return (builder if owned else builder.orphaned()).entry()


def _cleaned(*entries: Entry) -> set[str]:
    snapshot = Snapshot(
        "default",
        "shop",
        job=JobSeen.of(a_job("shop").with_status(phase="Resizing").entry()),
        children={"ConfigMap": {entry.name: entry for entry in entries}},
    )
    return {effect.name for effect in leftovers(snapshot, PLAN, has_placement=False)}


def test_what_an_older_generation_wrote_and_no_plan_names_goes() -> None:
    entry = _old(9, stamp=RECORD.generation - 1)
    assert _cleaned(entry) == {entry.name}


def test_what_this_generation_or_a_newer_one_wrote_stays() -> None:
    """A plan that we have not read yet may name it."""
    for newer in (0, 1):
        assert not _cleaned(_old(9, stamp=RECORD.generation + newer))


def test_what_bears_the_marks_of_the_job_and_names_no_owner_stays() -> None:
    """Somebody made it, or orphaned it on purpose."""
    assert not _cleaned(_old(9, stamp=0, owned=False))
