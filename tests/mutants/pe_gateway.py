"""Mutants of pe-gateway: whom it believes, which reports count, and whose endpoints are whose."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/pe_gateway"
_CORE = "services/pe_gateway/core"
_ADAPTERS = "services/pe_gateway/adapters"
_SIMULATED = "tests/simulation/test_pe_gateway.py"

MUTANTS = (
    Mutant(
        "a pod of an older launch speaks for its PE",
        f"{_CORE}/trusting.py",
        "sender_of",
        "if pod.has_ended or pod.launch < pe.launch:",
        "if pod.has_ended:",
        (f"{_UNIT}/test_trusting.py", "-k", "no_live_launch"),
    ),
    Mutant(
        "a PE speaks for its neighbour",
        f"{_CORE}/trusting.py",
        "require_own",
        "if sender.pe is not None and sender.pe.uid != pe.uid:",
        "if sender.pe is not None and sender.pe.job != pe.job:",
        (f"{_UNIT}/test_trusting.py", "-k", "speaks_for_itself"),
    ),
    Mutant(
        "a token for another audience is taken",
        f"{_CORE}/trusting.py",
        "bound_to",
        'if not status.get("authenticated") or audience not in audiences:',
        'if not status.get("authenticated"):',
        (f"{_UNIT}/test_trusting.py", "-k", "other_tokens"),
    ),
    Mutant(
        "a report of an older launch enters the status of the next one",
        f"{_CORE}/report_rules.py",
        "_is_older",
        "0 < report.launch < pe.launch",
        "False",
        (f"{_UNIT}/test_deciding.py", "-k", "first_rule"),
    ),
    Mutant(
        "a report that was overtaken comes back",
        f"{_CORE}/report_rules.py",
        "_is_overtaken",
        "pe.connectivity != report.before",
        "False",
        (_SIMULATED, "-k", "overtaken"),
    ),
    Mutant(
        "a PE that connects within two seconds costs two writes",
        f"{_CORE}/report_rules.py",
        "_is_unsettled",
        "at.now < at.settles_at",
        "False",
        (_SIMULATED, "-k", "within_two_seconds"),
    ),
    Mutant(
        "the first job of a namespace is not found by its id",
        f"{_ADAPTERS}/reading.py",
        "job_of",
        "None if number is None else",
        "None if not number else",
        (_SIMULATED, "-k", "widths_and_endpoints"),
    ),
    Mutant(
        "a name of an endpoint is taken from the PE that has it",
        f"{_CORE}/endpoints.py",
        "added",
        "is_own = other.name == service.name and each.pe == request.pe",
        "is_own = other.name == service.name",
        (_SIMULATED, "-k", "widths_and_endpoints"),
    ),
    Mutant(
        "a body of any size is read",
        f"{_ADAPTERS}/serving.py",
        "_body_of",
        "if size > BODY_BYTES_MAX:",
        "if not size:",
        (f"{_UNIT}/test_serving.py", "-k", "too_long"),
    ),
)
