"""Planted bugs in the shares of a job's resources, and in pods that are resized in place."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_SHARES = "services/fusion_backend/core/shares.py"
_RESIZING = "services/pod_state_machine/core/resizing.py"
_PLAYED = "tests/simulation/test_shares.py"
_DECIDED = "tests/unit/pod_state_machine/test_resizing.py"
_SERVED = "tests/unit/sandbox/store/test_pod_resizing.py"

MUTANTS = (
    Mutant(
        "PEs that a resize does not change keep a larger share",
        _SHARES,
        "Shares.to_patch",
        "return self.outdated if self.is_in_place else frozenset()",
        "return frozenset()",
        (_PLAYED, "-k", "share_the_whole and none_is_launched"),
    ),
    Mutant(
        "where pods cannot be resized new PEs get an equal share beside larger ones",
        _SHARES,
        "Shares.of_new",
        "if not self.whole or self.is_in_place or not self._kept:",
        "if True:",
        (_PLAYED, "-k", "what_is_left_is_divided"),
    ),
    Mutant(
        "the pods of a job have too much and it reports nothing",
        _SHARES,
        "Shares.excess",
        "if has - whole >= len(self.held):",
        "if False:",
        (_PLAYED, "-k", "by_how_much"),
    ),
    Mutant(
        "a pod that runs does not take its share in place",
        _RESIZING,
        "ResizeSituation.is_different",
        "return pod is not None and differ_in_place(self.wanted, pod.resources)",
        "return False",
        (_PLAYED, "-k", "share_the_whole and none_is_launched"),
    ),
    Mutant(
        "resources that the API server refused are sent again and again",
        _RESIZING,
        "ResizeSituation.is_refused",
        "return stated is not None and",
        "return stated is None and",
        (_PLAYED, "-k", "by_how_much"),
    ),
    Mutant(
        "a resize of the sandbox changes the QoS class of a pod",
        "sandbox/store/pod_resizing.py",
        "causes",
        'if qos_class(obj["spec"]) != old["status"]["qosClass"]:',
        "if False:",
        (_SERVED, "-k", "qos"),
    ),
    Mutant(
        "a pod counts with its new share although its kubelet does not put it in force",
        "contracts/projections.py",
        "_resources",
        'seen["heldResources"] = held or {}',
        "pass",
        (_PLAYED, "-k", "words_of_a_kubelet"),
    ),
    Mutant(
        "a refusal is withdrawn while the kubelet holds the resize back",
        _RESIZING,
        "RESIZE_RULES",
        "lambda at: at.refusal is not None and not at.is_pending,",
        "lambda at: at.refusal is not None,",
        (_DECIDED, "-k", "not_withdrawn"),
    ),
)
