"""Sentences about sources that may have given tuples again: no trouble that anybody can end."""

from __future__ import annotations

from contracts.failures import reported
from contracts.losses import retention_s_of
from contracts.showing import counted
from history.why.case import JOB, PE, Case
from history.why.health import started_s
from history.why.phrases import brief
from history.why.things import Thing

NAMED_MAX = 5
"""How many PEs are named whose sources did."""


def gives_again(case: Case) -> str:
    """Whose sources may have given tuples again in their newest launch; empty where none did.

    As long after its start as lost tuples are shown after their loss.
    """
    pes = case.pes if case.target.kind in (JOB, PE) else ()
    found = [f"{pe.name}: {brief(text)}" for pe in pes if (text := _text_of(case, pe))]
    more = len(found) - NAMED_MAX
    named = found[:NAMED_MAX]
    if more > 0:
        named.append(f"{counted(more, 'more PE')}, whose sources may have given tuples again")
    return "; ".join(named)


def _text_of(case: Case, pe: Thing) -> str:
    pod = case.pod_of(pe)
    began_s = started_s(pod) if pod is not None else None
    shown_s = retention_s_of(case.job.spec if case.job is not None else {})
    if began_s is None or case.gathered.now_s - began_s >= shown_s:
        return ""
    return str(reported(pe.status).get("readsAgain") or "")
