"""Looks after own writes that do not come back as facts: after a while each is read again.

A service believes its own writes at once. Where the object is deleted before watch-ingest sees it,
no fact ever says so, and the next full resync may be an hour away; a GET ends the belief.
"""

from __future__ import annotations

from services.chassis.kube.writing import Writer
from services.chassis.process.clock import Clock
from services.chassis.process.errors import ChassisError
from services.chassis.process.log_lines import log_of
from services.chassis.table.table import Table
from services.chassis.table.tombstones import Ref

UNSAID_S = 30.0
GETS_EACH_TIME_MAX = 100


async def confirm_own_writes(table: Table, writer: Writer, clock: Clock) -> None:
    """For ever: what was unsaid `UNSAID_S` ago and still is, is read again."""
    log = log_of("confirming")
    before: dict[Ref, str] = {}
    while True:
        await clock.sleep(UNSAID_S)
        unsaid = table.unconfirmed()
        late = [entry for entry in unsaid if before.get(entry.ref) == entry.uid]
        for entry in late[:GETS_EACH_TIME_MAX]:
            try:
                await writer.reread(entry)
            except ChassisError as problem:
                log.warning("not_confirmed", object="/".join(entry.ref), problem=str(problem))
        before = {entry.ref: entry.uid for entry in unsaid}
