"""Keys whose code crashes repeatedly: reported on the object, not only in logs.

A crash is a defect of ours: users cannot see why nothing happens. After `CRASHES_REPORTED` of one
kind in a row (the decision of a key, or one of its effects) the stage says so wherever it can, with
the class of the exception, and takes it back when that succeeds or is not wanted any more. What an
exception says is for the log: it may quote anything.

A key that rests because an object cannot be read is reported in the same place, at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from contracts.reasons import Reason
from contracts.unreadable import ObjectUnreadable
from services.chassis.process.errors import Rejected, Superseded, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.running.carrying_out import CRASHED, CarriedOut
from services.chassis.running.rules import RuleDefect

CRASHES_REPORTED = 3
REMEMBERED_KEYS_MAX = 20_000
RULES_AGAIN_S = 60.0
"""After this time a key that no rule decides is decided again, if nothing changes before."""
_DECISION = "its decision"


@runtime_checkable
class ReportsStalled(Protocol):
    """A stage that has a place for it."""

    async def report_stalled(self, key: Any, why: str, *, reason: Reason) -> None:
        """Say on the object of a key why nothing comes of it; with nothing, that it does not stall.

        Called after every run of a key: it must write only what is not reported yet.
        """
        ...


@dataclass(slots=True)
class _Crash:
    count: int
    error: str


class Crashes:
    """Counts crashes of each key in a row, and has them reported."""

    def __init__(self, stage: Any, name: str) -> None:
        self._stage = stage
        self._name = name
        self._log = log_of(name)
        self._unresolved: OrderedDict[Hashable, dict[Hashable, _Crash]] = OrderedDict()

    async def note_crashed(self, key: Hashable, error: Exception) -> bool:
        """The decision of a key crashed, in an `except` block.

        Returns whether it is a defect of rules. That is reported at once, and the key does not back
        off: another input, such as a corrected status, must be decided on when it comes.
        """
        if isinstance(error, RuleDefect):
            self._log.error("rules_do_not_fit", key=str(key), problem=str(error))
            what = f"{error}: a defect of millrace, or an edited status; nothing is done meanwhile"
            await self._tell(key, f"{self._name}: {what}", reason=Reason.CONTRADICTORY)
            return True
        self._log.exception("key_crashed", key=str(key))
        self._count(key, _DECISION, error)
        await self._tell(key, self._why(key))
        return False

    async def note_unreadable(self, key: Hashable, why: str) -> None:
        """A key was not decided, because an object that it needs cannot be read."""
        await self._tell(key, f"{self._name}: {why}", reason=Reason.OBJECT_UNREADABLE)

    async def note_run(
        self, key: Hashable, wanted: Collection[Hashable], carried_out: CarriedOut
    ) -> None:
        """A key was decided; what crashed before and is waited for still stands."""
        unresolved = self._unresolved.get(key)
        if unresolved is not None:
            done = {effect for effect, outcome in carried_out.outcomes if outcome != CRASHED}
            for who in [who for who in unresolved if who in done or who not in wanted]:
                del unresolved[who]
            if not unresolved:
                del self._unresolved[key]
        for effect, error in carried_out.crashes:
            self._count(key, effect, error)
        await self._tell(key, self._why(key))

    def _count(self, key: Hashable, who: Hashable, error: Exception) -> None:
        crash = self._unresolved.setdefault(key, {}).setdefault(who, _Crash(0, ""))
        crash.count, crash.error = crash.count + 1, type(error).__name__
        if len(self._unresolved) > REMEMBERED_KEYS_MAX:
            self._unresolved.popitem(last=False)

    async def _tell(self, key: Hashable, why: str, *, reason: Reason = Reason.CRASHING) -> None:
        if not isinstance(self._stage, ReportsStalled):
            return
        try:
            await self._stage.report_stalled(key, why, reason=reason)
        except ObjectUnreadable:
            return  # its status cannot be read either; watch-ingest reports that on the object
        except (Transient, Rejected, Superseded) as problem:
            self._log.warning("stall_unreported", key=str(key), problem=str(problem))
        except Exception:  # noqa: BLE001 - a report that fails must not end the key
            self._log.exception("stall_unreported", key=str(key))

    def _why(self, key: Hashable) -> str:
        for who, crash in self._unresolved.get(key, {}).items():
            if crash.count >= CRASHES_REPORTED:
                what = who if isinstance(who, str) else type(who).__name__
                return (
                    f"{self._name}: {what} crashed {CRASHES_REPORTED} times in a row and more"
                    f" ({crash.error}), which is a defect of millrace; it is tried again, and the"
                    " log of the service has the traceback"
                )
        return ""
