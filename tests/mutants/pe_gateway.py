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
        "require_newest",
        "sender.launch < sender.pe.launch",
        "False",
        (f"{_UNIT}/test_trusting.py", "-k", "older_launch"),
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
        "not report.is_newer_than(pe.connectivity)",
        "False",
        (f"{_UNIT}/test_deciding.py", "-k", "first_rule"),
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
        "if number is None:",
        "if not number:",
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
    Mutant(
        "a state that was saved waits two seconds",
        f"{_CORE}/reports.py",
        "is_urgent",
        "return is_sealed or",
        "return",
        (f"{_UNIT}/test_reports.py", "-k", "first_rule"),
    ),
    Mutant(
        "what one launch saved counts for the next one",
        f"{_CORE}/reports.py",
        "runtime_after",
        "if known.get(LAUNCH) != report.launch:",
        "if False:",
        (f"{_UNIT}/test_reports.py", "-k", "another_launch_begins"),
    ),
    Mutant(
        "lost tuples are found again",
        f"{_CORE}/reports.py",
        "_laid_over",
        "value is not None and name in _RISING",
        "False",
        (f"{_UNIT}/test_reports.py", "-k", "never_falls"),
    ),
    Mutant(
        "an older launch reports for its PE",
        f"{_CORE}/trusting.py",
        "require_launch",
        "if launch < pe.launch:",
        "if False:",
        (f"{_UNIT}/test_trusting.py", "-k", "older_launch"),
    ),
    Mutant(
        "a PE is sent to a pod that ends",
        f"{_CORE}/runtime_views.py",
        "address_in",
        "each.has_ended or each.is_deleting",
        "each.has_ended",
        (f"{_UNIT}/test_runtime_views.py", "-k", "newest_live_launch"),
    ),
    Mutant(
        "a request that waits wakes by every change of its objects",
        f"{_ADAPTERS}/watching.py",
        "Watching.note",
        "if says != watched.says:",
        "if True:",
        (f"{_UNIT}/test_watching.py", "-k", "nothing_else"),
    ),
    Mutant(
        "a file of the name of a bundle is the bundle",
        f"{_ADAPTERS}/bundle_files.py",
        "BundleFiles._find",
        "self._digest_of(path) == digest",
        "path.is_file()",
        (f"{_UNIT}/test_bundle_files.py", "-k", "replaced"),
    ),
)
