"""Worker processes plan as the inline planner does, and die alone."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from contracts.bundle_format import pack
from contracts.reasons import Reason
from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from services.chassis.process.errors import Transient
from services.fusion_backend.adapters import answer_frames, planning_worker
from services.fusion_backend.adapters.answer_frames import from_frames, to_frames
from services.fusion_backend.adapters.planner import InlinePlanner, PlanTask
from services.fusion_backend.adapters.planning_worker import WorkerLimits, WorkerPlanner
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from tests.patience import patient
from tests.places import ROOT
from tests.unit.planner.test_consistent import channels

INPUTS = PlanInputs("shop", 0, 0, BundleSource("shop.sab"), Fusion.legacy())


@pytest.fixture
def task(tmp_path: Path) -> PlanTask:
    """The example, to be planned."""
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    path = tmp_path / "shop.sab"
    path.write_bytes(pack(adl.read_bytes()))
    return PlanTask(INPUTS, "digest", path)


async def test_a_worker_plans_what_the_inline_planner_plans(task: PlanTask) -> None:
    inline = await InlinePlanner().plan(task)
    async with WorkerPlanner() as planner:
        first = await planner.plan(task)
        again = replace(
            INPUTS, generation=1, previous=0, bundle_digest="digest", widths=(("Counted", 5),)
        )
        second = await planner.plan(replace(task, inputs=again, previous=first.record))
    assert first == inline
    assert second.record.widths == {"Counted": 5}
    assert len(second.aadls) < len(second.record.pes), "only what changes is rendered"


def test_what_was_measured_crosses_to_a_worker(task: PlanTask) -> None:
    measured = replace(task, measured=MeasuredCpu(1_500, 4_000, 250))
    for each in (task, measured):
        assert PlanTask.from_json(orjson.loads(orjson.dumps(each.to_json()))) == each


async def test_another_width_within_a_consistent_region_is_refused(task: PlanTask) -> None:
    """By field and value; whatever else is resized goes on."""
    task.bundle_path.write_bytes(pack(channels(with_sink=True).text().encode()))
    first = await InlinePlanner().plan(task)
    inputs = replace(INPUTS, generation=1, previous=0, bundle_digest="digest", widths=(("N", 4),))
    with pytest.raises(PlanRefused) as caught:
        await InlinePlanner().plan(replace(task, inputs=inputs, previous=first.record))
    assert caught.value.reason is Reason.CONSISTENT_REGION
    assert caught.value.message.startswith("ParallelRegion N spec.width is 4")


async def test_texts_cross_in_frames_as_they_were_compressed(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame ends where it is large enough, so that no text is in two."""
    outcome = await InlinePlanner().plan(task)
    monkeypatch.setattr(answer_frames, "FRAME_BYTES", 400)
    frames = list(to_frames(outcome))
    assert len(frames) > 4
    assert all(frames), "an empty frame would end the answer"
    assert sum(map(len, frames[3:])) == sum(map(len, outcome.aadls.compressed.values()))
    again = from_frames(frames)
    assert again == outcome
    assert again.aadls.compressed == outcome.aadls.compressed


async def test_a_plan_that_changes_nothing_crosses_as_well(task: PlanTask) -> None:
    first = await InlinePlanner().plan(task)
    same = replace(INPUTS, generation=1, previous=0, bundle_digest="digest")
    second = await InlinePlanner().plan(replace(task, inputs=same, previous=first.record))
    assert not second.aadls
    assert from_frames(list(to_frames(second))) == second


async def test_a_refusal_comes_back_as_it_was_raised(task: PlanTask) -> None:
    task.bundle_path.write_bytes(b"no bundle")
    with pytest.raises(PlanRefused) as expected:
        await InlinePlanner().plan(task)
    async with WorkerPlanner() as planner:
        with pytest.raises(PlanRefused) as caught:
            await planner.plan(task)
        assert caught.value.reason is expected.value.reason
        assert caught.value.message == expected.value.message


async def test_a_connection_that_leads_nowhere_is_refused_by_the_bundle_that_brought_it(
    task: PlanTask,
) -> None:
    """What is found out only while planning names field and file as well."""
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    text = adl.read_text()
    wrong = re.sub(r'(<connection [^>]*portIndex=")0(")', r"\g<1>7\2", text)
    assert wrong != text
    task.bundle_path.write_bytes(pack(wrong.encode()))
    with pytest.raises(PlanRefused) as caught:
        await InlinePlanner().plan(task)
    assert caught.value.reason is Reason.ADL_INVALID
    assert (caught.value.field, caught.value.value) == ("spec.bundle.name", "shop.sab")
    assert caught.value.message.startswith("spec.bundle.name: shop.sab: ")


async def test_a_worker_that_died_is_trouble_of_one_task(task: PlanTask) -> None:
    async with WorkerPlanner() as planner:
        (worker,) = planner._idle
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(Transient, match="PlanningFailed"):
            await planner.plan(task)
        assert (await planner.plan(task)).record.job_name == "shop"


@pytest.mark.parametrize("answer", [[], [b"{"], [b"{}"], [b"{}", b"{}"]])
async def test_a_worker_whose_answer_is_none_is_not_requested_again(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch, answer: list[bytes]
) -> None:
    async def answered(_: planning_worker._Worker, __: bytes) -> list[bytes]:
        return answer

    async with WorkerPlanner() as planner:
        with monkeypatch.context() as broken:
            broken.setattr(planning_worker._Worker, "ask", answered)
            with pytest.raises(Transient, match="cannot be read"):
                await planner.plan(task)
        assert planner._idle == []
        assert (await planner.plan(task)).record.job_name == "shop"


@pytest.fixture
def heavy(task: PlanTask) -> PlanTask:
    """A bundle whose file alone is larger than a narrow worker."""
    os.truncate(task.bundle_path, 512 * 1024 * 1024)
    return task


async def test_a_plan_that_needs_too_much_memory_is_refused_with_the_limit(heavy: PlanTask) -> None:
    """Another try would need as much; the second is in a process that did nothing else before."""
    limits = WorkerLimits(memory_bytes_max=400 * 1024 * 1024)
    async with WorkerPlanner(limits=limits) as planner:
        with pytest.raises(PlanRefused) as caught:
            await planner.plan(heavy)
        assert planner._idle == [], "no worker is used again whose memory was exhausted"
    assert caught.value.reason is Reason.PLANNING_LIMIT_EXCEEDED
    assert (caught.value.field, caught.value.value) == ("spec.bundle.name", "shop.sab")
    assert "more than 400 MiB of memory" in caught.value.message
    assert "MILLRACE_PLANNER_MEMORY_BYTES_MAX" in caught.value.message


async def test_memory_that_only_a_used_worker_lacks_is_no_reason_to_refuse(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a worker has kept of other tasks is not this task's."""
    begun, start, ask = [], planning_worker._Worker.start, planning_worker._Worker.ask

    async def started(limits: WorkerLimits) -> planning_worker._Worker:
        begun.append(await start(limits))
        return begun[-1]

    async def full(worker: planning_worker._Worker, message: bytes) -> list[bytes]:
        if worker is begun[0]:
            raise EOFError
        return await ask(worker, message)

    monkeypatch.setattr(planning_worker._Worker, "start", staticmethod(started))
    monkeypatch.setattr(planning_worker._Worker, "ask", full)
    monkeypatch.setattr(
        planning_worker._Worker, "is_out_of_memory", property(lambda worker: worker is begun[0])
    )
    async with WorkerPlanner() as planner:
        assert (await planner.plan(task)).record.job_name == "shop"
    assert len(begun) == 2


def exhaust(
    monkeypatch: pytest.MonkeyPatch, *, tries: int, by: signal.Signals = signal.SIGXCPU
) -> list[int]:
    """The kernel ends the worker in the first tries; the budgets that were asked with."""
    ask, budgets = planning_worker._Worker.ask, []

    async def exhausted(worker: planning_worker._Worker, message: bytes) -> list[bytes]:
        budgets.append(orjson.loads(message)["cpuSecondsMax"])
        if len(budgets) <= tries:
            os.kill(worker.pid, by)
        return await ask(worker, message)

    monkeypatch.setattr(planning_worker._Worker, "ask", exhausted)
    return budgets


async def test_a_task_that_needs_more_time_goes_on_among_the_slow_ones(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = exhaust(monkeypatch, tries=1)
    async with WorkerPlanner(limits=WorkerLimits(first_cpu_s_max=3, cpu_s_max=70)) as planner:
        assert (await planner.plan(task)).record.job_name == "shop"
        assert (await planner.plan(task)).record.job_name == "shop"
    assert budgets == [3, 70, 70], "what was slow once is not tried as a quick one again"


async def test_a_task_that_exceeds_every_budget_is_refused_with_the_limit(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = exhaust(monkeypatch, tries=2)
    async with WorkerPlanner() as planner:
        with pytest.raises(PlanRefused, match="more than 120 s of CPU time") as caught:
            await planner.plan(task)
    assert caught.value.reason is Reason.PLANNING_LIMIT_EXCEEDED
    assert "spec.bundle.name: shop.sab" in caught.value.message
    assert "MILLRACE_PLANNER_CPU_S_MAX" in caught.value.message
    assert budgets == [5, 120]


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGABRT])
async def test_a_task_that_breaks_a_second_process_of_its_own_is_refused(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch, by: signal.Signals
) -> None:
    """As libraries in C do where memory ends; what broke one by chance is planned by another."""
    exhaust(monkeypatch, tries=1, by=by)
    async with WorkerPlanner() as planner:
        assert (await planner.plan(task)).record.job_name == "shop"
    exhaust(monkeypatch, tries=2, by=by)
    async with WorkerPlanner() as planner:
        with pytest.raises(PlanRefused, match=f"4096 MiB of memory.*signal {by.value}") as caught:
            await planner.plan(task)
    assert caught.value.reason is Reason.PLANNING_LIMIT_EXCEEDED


async def test_slow_tasks_never_have_all_workers(
    task: PlanTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many large jobs wait, a small one is planned at once."""
    asked = planning_worker.WorkerPlanner._ask
    ends = asyncio.Event()

    async def held(
        planner: WorkerPlanner, worker: planning_worker._Worker, each: PlanTask, cpu_s_max: int
    ) -> list[bytes]:
        if each.inputs.digest in planner._slow:
            await ends.wait()
        return await asked(planner, worker, each, cpu_s_max)

    monkeypatch.setattr(planning_worker.WorkerPlanner, "_ask", held)
    large = [replace(task, inputs=replace(INPUTS, job_id=number)) for number in (1, 2, 3)]
    async with WorkerPlanner(workers=2) as planner:
        planner._slow.update(dict.fromkeys(each.inputs.digest for each in large))
        waiting = [asyncio.create_task(planner.plan(each)) for each in large]
        await asyncio.sleep(0)  # all of them have requested a worker
        async with asyncio.timeout(patient(60)):
            assert (await planner.plan(task)).record.job_name == "shop"
        ends.set()
        assert len(await asyncio.gather(*waiting)) == 3
