"""Names the PEs of a message by their operators: people wrote operators, nobody wrote PE 3.

hostpool-manager, which words refusals, knows PEs by their numbers alone; the plan knows more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from contracts.showing import agreeing
from planner.numbering.records import PeRecord, PlanRecord
from planner.refusals import shown

PES_NAMED_MAX: Final = 4
OPERATORS_NAMED_MAX: Final = 3
_PE: Final = re.compile(r"\bPE ([0-9]{1,9})\b")


def do_not_run(pes: Sequence[PeRecord]) -> str:
    """A sentence for PEs that find no node with room: it names the first and counts the others."""
    named = [f"PE {pe.id} ({_operators(pe)})" for pe in pes[:PES_NAMED_MAX]]
    if more := len(pes) - len(named):
        named.append(f"{more} more")
    listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    return f"no node has room for {listed}, which {agreeing(len(pes), 'do not run')}"


def first_and_more(pes: Sequence[int]) -> str:
    """The first of some PEs; the others are counted."""
    first, more = pes[0], len(pes) - 1
    return f"PE {first} and {more} more" if more else f"PE {first}"


def with_operators(message: str, record: PlanRecord) -> str:
    """The message, with the operators of a PE beside its number where it stands first.

    Of the first PEs that are named, and of each the first operators: a message stays readable.
    """
    numbers = dict.fromkeys(int(number) for number in _PE.findall(message))
    if not numbers:
        return message
    named = set(list(numbers)[:PES_NAMED_MAX])
    named_by_id = {pe.id: f"PE {pe.id} ({_operators(pe)})" for pe in record.pes if pe.id in named}
    return _PE.sub(lambda found: named_by_id.pop(int(found[1]), found[0]), message)


def _operators(pe: PeRecord) -> str:
    names = ", ".join(f"'{shown(name)}'" for name in pe.operators[:OPERATORS_NAMED_MAX])
    more = len(pe.operators) - OPERATORS_NAMED_MAX
    return f"{names} and {more} more" if more > 0 else names
