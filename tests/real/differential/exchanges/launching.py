"""Pods as pod-state-machine writes them, with every constraint: stored whole, and alike."""

from __future__ import annotations

from tests.golden_placements import PLACED, Placed, filled_in
from tests.golden_pods import golden_spec
from tests.real.differential.objects import MEMBER, Obj, pod
from tests.real.differential.steps import exchange, post

COVERS = (
    "sandbox/store/pods.py",
    "sandbox/store/pod_scheduling.py",
    "sandbox/store/config_maps.py",
)

_UID = MEMBER.partition("/")[2]


def launched(placed: Placed) -> Obj:
    """The pod of a PE with a constraint, which no scheduler takes, on a node that is not there."""
    spec = golden_spec("pipe", 1, content_id="c" * 64, bundle="pipe.sab", job_uid="u")
    made = pod(
        spec={**spec, **placed.spec},
        labels={"app": "streams", "streams.ibm.com/job": "pipe", **placed.labels},
        annotations={"streams.ibm.com/node": "{node}"},
    )
    filled: Obj = filled_in(made, job="pipe", node="absent-node", pool=_UID)
    return filled


EXCHANGES = tuple(
    exchange(
        f"the pod of a PE with a constraint: {name}",
        post("pods", launched(placed), fieldValidation="Strict"),
    )
    for name, placed in PLACED.items()
)
