"""Mutants of admission: when a job without host constraints has a Placement."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_ADMISSION = "services/fusion_backend/core/admission.py"
_TESTS = ("tests/unit/fusion_backend/test_admission.py",)

MUTANTS = (
    Mutant(
        "a placement is requested for a pod that is unschedulable for a moment",
        _ADMISSION,
        "AdmissionInForce._is_wanted",
        "self.now >= since + UNSCHEDULABLE_S",
        "self.now >= since",
        _TESTS,
    ),
    Mutant(
        "the placement of an unschedulable job goes while its pod is replaced",
        _ADMISSION,
        "_is_without_node",
        "pe.phase in _WITHOUT_NODE and not pe.node",
        "pe.unschedulable_since is not None",
        _TESTS,
    ),
    Mutant(
        "a job that has to fit is not asked about before its record",
        "services/fusion_backend/core/placement_requests.py",
        "is_placed_first",
        "is Admission.REQUIRE",
        "is Admission.IGNORE",
        _TESTS,
    ),
    Mutant(
        "room counts as a node, whatever the scheduler says",
        _ADMISSION,
        "AdmissionInForce.left_out",
        "if self.now >= self._left_out_from(since)",
        "if since > self.now",
        _TESTS,
    ),
    Mutant(
        "a refused edit of spec.admission is taken up",
        "services/fusion_backend/core/spec/editing.py",
        "admission_to_take_up",
        "template = template_to_take_up(spec, inputs, rules, pes)",
        "template = template_of(spec)",
        _TESTS,
    ),
    Mutant(
        "the refusal of PEs that exist already is final",
        "services/hostpool_manager/core/rules.py",
        "Situation.is_final",
        "not placement.is_in_force and not placement.has_pes",
        "not placement.is_in_force",
        ("tests/unit/hostpool_manager/test_choosing.py",),
    ),
)
