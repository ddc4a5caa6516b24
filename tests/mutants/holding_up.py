"""Mutants of what holds up a hand-over: who says whom he waits for, and who is given up."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_BACKEND = "services/fusion_backend/core"
_HOLDING = "tests/unit/fusion_backend/test_holding_up.py"
_HELD_UP = "tests/unit/millrace/test_hand_over_held_up.py"
_GATE = "tests/unit/pod_state_machine/test_handing_over.py"

MUTANTS = (
    Mutant(
        "a PE that hangs is waited for until the deadline",
        f"{_BACKEND}/holding_up.py",
        "given_up",
        "if now >= at",
        "if now < at",
        (_HOLDING,),
    ),
    Mutant(
        "a PE that nobody waits for is given up, as when pe-gateway is away",
        f"{_BACKEND}/holding_up.py",
        "_due",
        "for pe in named.intersection(holding)",
        "for pe in holding",
        (_HOLDING,),
    ),
    Mutant(
        "a PE is silent while pe-gateway is away",
        f"{_BACKEND}/holding_up.py",
        "_due",
        "if silent is None or silent > heard_until:",
        "if silent is None:",
        (_HOLDING,),
    ),
    Mutant(
        "an instance of pe-gateway has heard all PEs as soon as it is there",
        "services/pe_gateway/core/reports.py",
        "heard_values",
        "if hears_s >= HEARS_S:",
        "if True:",
        ("tests/unit/pe_gateway/test_reports.py",),
    ),
    Mutant(
        "a PE says once only that it waits",
        "millrace/runtime/noticing.py",
        "tell_awaited",
        " or (awaited and is_step)",
        "",
        (_HELD_UP,),
    ),
    Mutant(
        "all that wait are given up with the one that they wait for",
        f"{_BACKEND}/holding_up.py",
        "_due",
        "if not waiting[pe]]",
        "]",
        (_HOLDING,),
    ),
    Mutant(
        "a silent PE is given up while others are at work",
        f"{_BACKEND}/holding_up.py",
        "_due",
        "silent = None if is_one_at_work else ",
        "silent = ",
        (_HOLDING,),
    ),
    Mutant(
        "a launch that began in the hand-over is taken for one that hangs",
        f"{_BACKEND}/holding_up.py",
        "Times.silent_from",
        " and awaited.started <= self.begun - STARTS_S",
        "",
        (_HOLDING,),
    ),
    Mutant(
        "who waited for a PE that is gone holds up nothing",
        f"{_BACKEND}/holding_up.py",
        "_due",
        " & awaited.keys()",
        "",
        (_HOLDING,),
    ),
    Mutant(
        "what a PE reported of an older hand-over counts",
        f"{_BACKEND}/holding_up.py",
        "unsealed_of",
        ' and runtime.get("restsFor") == generation',
        "",
        (_HOLDING,),
    ),
    Mutant(
        "launches that fail one after another have the time of all others",
        f"{_BACKEND}/holding_up.py",
        "Times.silent_from",
        " or awaited.fails",
        "",
        (_HOLDING,),
    ),
    Mutant(
        "launches that people end one after another are taken for ones that fail",
        f"{_BACKEND}/holding_up.py",
        "unsealed_of",
        ' and bool(status.get("restarts"))',
        "",
        (_HOLDING,),
    ),
    Mutant(
        "a launch that begins as the hand-over does is taken for one that hangs",
        f"{_BACKEND}/holding_up.py",
        "Times.silent_from",
        "self.begun - STARTS_S",
        "self.begun",
        (_HOLDING,),
    ),
    Mutant(
        "a PE that has work of its own says that it waits",
        "millrace/runtime/noticing.py",
        "tell_awaited",
        "() if has_work else ",
        "",
        (_HELD_UP,),
    ),
    Mutant(
        "a PE reports a hand-over that is soon over",
        "millrace/runtime/noticing.py",
        "tell_awaited",
        "    await asyncio.sleep(LOOK_AT_REST_S)\n    known",
        "    report(Resting(quiescing.mark.generation))\n    known",
        (_HELD_UP,),
    ),
    Mutant(
        "a PE at rest names those that brought their mark",
        "millrace/runtime/connections.py",
        "Inlets.missing",
        " - self._marked.get(mark, set())",
        "",
        (_HELD_UP,),
    ),
    Mutant(
        "a launch that hangs has all of its grace period",
        "services/pod_state_machine/core/awaiting.py",
        "silent_launches",
        "return frozenset((launch,))",
        "return frozenset()",
        (_GATE,),
    ),
    Mutant(
        "a PE that is at work and late is killed",
        "services/pod_state_machine/core/awaiting.py",
        "silent_launches",
        " or pe.rests_for == (launch, job.hand_over)",
        "",
        (_GATE,),
    ),
)
