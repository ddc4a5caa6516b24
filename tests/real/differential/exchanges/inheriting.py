"""Labels that a pod has from its node: zone and region, once it has a node."""

from __future__ import annotations

from tests.real.differential.objects import Obj, node, pod
from tests.real.differential.steps import Exchange, Step, delete, exchange, get, merge, post

COVERS = ("sandbox/store/core_values.py", "sandbox/store/core_fields.py")

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_LABELS: Obj = {_ZONE: "east", _REGION: "", "failure-domain.beta.kubernetes.io/zone": "old"}
_BOUND = Step(
    "POST",
    "/api/v1/namespaces/$ns/pods/one/binding",
    {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "one"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "$ns"},
    },
)
_ON_NODE: Obj = {"nodeName": "$ns"}


def _on(name: str, labels: Obj, *steps: Step) -> Exchange:
    """On a node with these labels; reports in between give its events time to arrive."""
    made = (post("nodes", node("$ns", labels=labels), compared=False), *[_SEEN] * 3)
    steps = (*made, *steps, delete("nodes", "$ns", compared=False))
    return exchange(name, *steps, masked=("status",))


_SEEN = get("nodes", "$ns", compared=False)

EXCHANGES = (
    *(
        _on(
            f"a pod that is bound has labels of its node {i}",
            labels,
            post("pods", pod(**meta), compared=False),
            _BOUND,
            get("pods", "one"),
        )
        for i, (labels, meta) in enumerate(
            (
                (_LABELS, {}),
                (_LABELS, {"labels": {_ZONE: "west", "a": "b"}}),
                ({_REGION: "here"}, {"labels": {_ZONE: "west"}}),
                ({"a": "c"}, {"labels": {"a": "b"}}),
            )
        )
    ),
    *(
        _on(
            f"a pod that is made with a node has labels of it {i}",
            _LABELS,
            post("pods", pod(spec=_ON_NODE, **meta)),
            merge("pods", "one", {"metadata": {"labels": {_ZONE: None}}}),
        )
        for i, meta in enumerate(({}, {"labels": {_ZONE: "west", "a": "b"}}))
    ),
    exchange(
        "a pod that is made with a node that is not there has its own labels",
        post("pods", pod(spec={"nodeName": "absent-node"}, labels={_ZONE: "west"})),
    ),
)
