"""Mutants of host pools, of references to Jobs, and of what automatic fusion chooses from."""

from __future__ import annotations

from tests.mutants.planting import Mutant

MUTANTS = (
    Mutant(
        "strange text in a host pool of the ADL is ignored in silence",
        "planner/application/adl_pools.py",
        "_unread_here",
        "(element.text, *(child.tail for child in element))",
        '("",)',
        ("tests/unit/planner/test_adl_rules.py",),
    ),
    Mutant(
        "a plan keeps to itself which parts of the ADL are ignored",
        "planner/planning.py",
        "_warnings",
        "*request.application.warnings,",
        "",
        ("tests/unit/planner/test_adl_rules.py",),
    ),
    Mutant(
        "the root certificate of a github source is not read",
        "services/fusion_backend/core/spec/inputs.py",
        "_behind",
        'ca.config_map_name if ca else ""',
        'ca.config_map_name if ca and source.url_field == "http.url" else ""',
        ("tests/unit/fusion_backend/test_bundle_sources.py",),
    ),
)
