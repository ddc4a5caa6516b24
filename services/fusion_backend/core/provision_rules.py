"""What the PEs of a job share, a certificate and redis servers: when it is looked at or made.

The times are those of provisions_due.py. What is found is written into the status of the Job, so
it waits for a status that is due otherwise.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always, rule_for
from services.fusion_backend.core.effects import Effect, FindServers
from services.fusion_backend.core.provisions_due import provisions_due, servers_awaited
from services.fusion_backend.core.rules import NOT_GOING_ON, JobRule, leave
from services.fusion_backend.core.situation import BEGUN, Situation
from services.fusion_backend.core.status_rules import STATUS_RULES


class ProvisionObservation(Enum):
    """What the PEs of a job share shows; a rule has one each."""

    STATUS_DUE = "the status of the Job is written first"
    SERVERS_UNKNOWN = (
        "nothing is planned, and the redis servers of the checkpoints are not found yet"
    )
    DUE = "the certificate or the servers are due to be looked at"
    NOT_DUE = "nothing is due"


def find_servers(at: Situation) -> tuple[Effect, ...]:
    """Ask the DNS for the redis servers."""
    request = servers_awaited(at.snapshot)
    assert request is not None, "observed: servers that are not known"
    return (FindServers(at.job.uid, request),)


def provide(at: Situation) -> tuple[Effect, ...]:
    """Look at the certificate and make or renew it; ask the DNS for redis servers."""
    return provisions_due(at.snapshot, at.now)


def _is_status_due(at: Situation) -> bool:
    return rule_for(STATUS_RULES, at, at.phase).action is not leave


_O = ProvisionObservation
PROVISION_RULES: Final[tuple[JobRule, ...]] = (
    *NOT_GOING_ON,
    Rule(_O.STATUS_DUE, _is_status_due, leave, Reason.WAITING, BEGUN),
    Rule(_O.SERVERS_UNKNOWN, lambda at: at.awaits_servers, find_servers, Reason.WAITING, BEGUN),
    Rule(
        _O.DUE,
        lambda at: bool(provisions_due(at.snapshot, at.now)),
        provide,
        Reason.WAITING,
        BEGUN,
    ),
    Rule(_O.NOT_DUE, always, leave, Reason.NOTHING_TO_CHANGE, BEGUN),
)
