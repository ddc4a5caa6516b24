"""The scenarios that a test of this folder shows through the Kubernetes API, by number.

They are those that a compatible system has to pass: what open-source IBM Streams does, and what it
should have done. A test says which it shows: `@pytest.mark.scenario(18)`; `pytest -m scenario` runs
them all, and `test_scenarios.py` holds that each has its test, or names the feature it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping

SCENARIOS: Mapping[int, str] = {
    1: "manual 1: one PE with one launch, one pod, its ConfigMap, the job's, its Service",
    2: "manual 3; manual 20 with widths 5/6/7; legacy has a PE for each channel and two more",
    3: "16 parallel submissions are all submitted, with unique ids",
    4: "width override, wildcard override, submission-time value, and which wins",
    5: "a host constraint raises the number of PEs above the request",
    6: "missing bundle, malformed bundle, missing ADL: the Job fails, and says why",
    7: "no PE at all is refused",
    8: "counts and names of imports, exports, host pools and consistent regions",
    9: "labels, annotations and owner of every child; a deletion removes everything",
    10: "the content id of PE, ConfigMap and pod is the digest of the stored text",
    11: "the pod of a PE in full: default, and one variant for each option",
    12: "resources of a job, divided among its PEs or not, tiny values too",
    13: "a failed pod, for each restartFailedPod and restartable flag",
    14: "deleteFailedPod false keeps the failed pod beside the new one",
    15: "completed and deleted pods, for each flag; no restart twice for one end",
    16: "a deleted PE, Service or region comes back, but not while the job is deleted",
    17: "a raised launchCount launches exactly one new pod",
    18: "a resize restarts what it must: ids, pod names, launch counts; chains; one PE",
    19: "two quick widths of one region, of two, and one during the submission: the last wins",
    20: "a width that cannot be says why in the region's status and touches no PE",
    21: "an export property that was changed at run time survives a resize",
    22: "tags, hosts, addresses, colocation, exlocation and isolation",
    23: "pools with a size, exclusive, indexed and explicit",
    24: "imports find exports in any order, and follow their changes",
    25: "endpoints, state and subscriptions over REST",
    26: "services killed before and after each step of a submission converge to the same end",
    27: "a pod that dies after the services were restarted is launched again",
    28: "a pod that the API server refuses delays no other job",
    29: "an annotated HostPool launches no pods",
}

WAITS_FOR: Mapping[int, str] = {
    8: "imports, exports and consistent regions",
    21: "imports and exports",
    24: "imports and exports",
    25: "the REST interface of the runtime",
}
"""What is not built yet; a test for each skips and says so."""

PARTLY_WAITS_FOR: Mapping[int, str] = {
    16: "imports and exports",
}
"""Shown as far as it goes: imports and exports that come back."""
