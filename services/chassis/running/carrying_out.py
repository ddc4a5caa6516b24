"""Carries out the effects of one decision: side by side, bounded, each with its own back-off.

What something waits for goes first, among the effects of one key here and among all in `gate.py`.

What an effect does is the stage's `carry_out`; here is what its end means:

* a word: done, its failures are forgotten;
* Transient: it waits, then the key is decided again (the effect may not be wanted any more);
* Superseded: the input is newer, so nothing more is started and the key is decided again;
* NotAllowed: logged, and it waits like Transient: an API server that has just started allows
  nothing until it has read its roles;
* Rejected otherwise: logged, tried again as seldom as anything is;
* anything else: a defect, logged with its traceback and treated like Transient.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from contracts.unreadable import ObjectUnreadable
from services.chassis.process.backoff import Backoffs
from services.chassis.process.errors import NotAllowed, Rejected, Superseded, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.running.effect_lines import EffectLines
from services.chassis.running.effect_spans import effect_span
from services.chassis.running.gate import Gate
from services.chassis.running.stage import Decision, Stage, urgency_of
from services.chassis.running.wiring import Runtime
from services.chassis.table.table import Table

EFFECTS_OF_KEY_MAX = 20_000
CRASHED = "crashed"


@dataclass(slots=True)
class CarriedOut:
    """What became of a decision's effects; those that wait for their back-off are not tried."""

    outcomes: list[tuple[Any, str]] = field(default_factory=list)
    crashes: list[tuple[Any, Exception]] = field(default_factory=list)
    retry_at: float | None = None
    decide_again: bool = False

    def wait_until(self, at: float) -> None:
        """Look at the key again at `at` (unix seconds), or sooner."""
        self.retry_at = at if self.retry_at is None else min(self.retry_at, at)


@dataclass(slots=True)
class _Fence:
    """The inputs of the decision; looked at again only when the key was marked since."""

    decided_on: Hashable
    is_broken: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    """The carrying out of one decision."""

    key: Hashable
    snapshot: Any
    fence: _Fence
    lines: EffectLines
    result: CarriedOut


class CarryingOut:
    """Effects of all keys share the slots in flight."""

    def __init__(
        self,
        stage: Stage[Any, Any, Any],
        table: Table,
        runtime: Runtime,
        *,
        is_marked: Callable[[Hashable], bool],
        is_abandoned: Callable[[Hashable], bool],
        effects_in_flight_max: int,
    ) -> None:
        self._stage = stage
        self._table = table
        self._runtime = runtime
        self._is_marked = is_marked
        self._is_abandoned = is_abandoned
        self._in_flight_max = effects_in_flight_max
        self._gate = Gate(effects_in_flight_max)
        self._backoffs: Backoffs[tuple[Hashable, Hashable]] = Backoffs(runtime.random)
        self._log = log_of(stage.name)

    async def run(self, key: Hashable, snapshot: Any, decision: Decision[Any]) -> CarriedOut:
        """Carry out the effects whose back-off is over; returns when all of them have ended."""
        result = CarriedOut()
        due = self._due(key, decision.effects, result)
        if not due:
            return result
        lines = EffectLines(self._log, self._stage, key, decision)
        run = _Run(key, snapshot, _Fence(self._fence_of(key)), lines, result)
        line = iter(sorted(due, key=urgency_of))
        try:
            if len(due) == 1:
                await self._carry_out_line(run, line)
                return result
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._in_flight_max, len(due))):
                    group.create_task(self._carry_out_line(run, line))
        finally:
            lines.close()
        return result

    def _due(self, key: Hashable, effects: Iterable[Any], result: CarriedOut) -> list[Any]:
        now = self._runtime.clock.now()
        due: list[Any] = []
        for effect in dict.fromkeys(effects):
            until = self._backoffs.waiting_until((key, effect), now)
            if until is None:
                due.append(effect)
            else:
                result.wait_until(until)
        if len(due) > EFFECTS_OF_KEY_MAX:
            result.decide_again = True
        return due[:EFFECTS_OF_KEY_MAX]

    async def _carry_out_line(self, run: _Run, line: Iterator[Any]) -> None:
        """One of several that take effects from the same line until it is empty or fenced off."""
        for effect in line:
            async with self._gate.slot(urgency_of(effect)):
                if self._must_stop(run.key, run.fence):
                    run.result.decide_again = True
                    return
                with effect_span(self._runtime, run.lines, effect) as ended:
                    outcome = await self._carry_out_one(run, effect)
                    ended.outcome = outcome
            run.result.outcomes.append((effect, outcome))
            self._runtime.metrics.count(
                "millrace_effects_total", effect=type(effect).__name__, outcome=outcome
            )

    def _must_stop(self, key: Hashable, fence: _Fence) -> bool:
        if self._runtime.stopping.is_set() or self._is_abandoned(key):
            return True
        if not fence.is_broken and self._is_marked(key):
            fence.is_broken = self._fence_of(key) != fence.decided_on
        return fence.is_broken

    def _fence_of(self, key: Hashable) -> Hashable:
        try:
            return self._stage.fence(self._table, key)
        except ObjectUnreadable as problem:
            return problem.why

    async def _carry_out_one(self, run: _Run, effect: Any) -> str:
        who, clock, result, lines = (run.key, effect), self._runtime.clock, run.result, run.lines
        began_s = clock.monotonic()

        def failed(level: str, outcome: str, problem: Exception) -> str:
            lines.write_failed(level, effect, outcome, clock.monotonic() - began_s, problem)
            return outcome

        try:
            outcome = str(await self._stage.carry_out(run.key, run.snapshot, effect))
        except Superseded as problem:
            run.fence.is_broken = True
            result.decide_again = True
            result.wait_until(self._backoffs.mark_superseded(who, clock.now()))
            return failed("debug", "superseded", problem)
        except Transient as problem:
            at_least_s = problem.retry_after_s or 0.0
            result.wait_until(self._backoffs.mark_failed(who, clock.now(), at_least_s=at_least_s))
            return failed("warning", "transient", problem)
        except Rejected as problem:
            may_pass = isinstance(problem, NotAllowed)
            mark = self._backoffs.mark_failed if may_pass else self._backoffs.mark_refused
            result.wait_until(mark(who, clock.now()))
            return failed("error", "rejected", problem)
        except ObjectUnreadable as problem:
            result.wait_until(self._backoffs.mark_refused(who, clock.now()))
            return failed("warning", "unreadable", problem)
        except Exception as defect:  # noqa: BLE001 - it delays only this effect
            result.crashes.append((effect, defect))
            result.wait_until(self._backoffs.mark_failed(who, clock.now()))
            self._runtime.metrics.count("millrace_crashes_total", where="effect")
            lines.write_crashed(effect, CRASHED, clock.monotonic() - began_s)
            return CRASHED
        self._backoffs.mark_succeeded(who)
        lines.write(effect, outcome, clock.monotonic() - began_s)
        return outcome
