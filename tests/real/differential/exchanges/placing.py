"""What Pods may ask of the scheduler."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import MEMBER, TAINT, Obj, pod
from tests.real.differential.steps import Exchange, Step, exchange, merge, post

COVERS = (
    "sandbox/store/pod_scheduling.py",
    "sandbox/store/nodes.py",
    "sandbox/controllers/feasibility.py",
)

LONG = "a" * 64
_HOST = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _expression(key: str, operator: str, *values: str) -> Obj:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


_EXPRESSIONS: tuple[Obj, ...] = (
    _expression("a", "In", "b"),
    _expression("a", "In", "b", "c"),
    _expression("a", "In"),
    _expression("a", "NotIn", "b"),
    _expression("a", "NotIn"),
    _expression("a", "Exists"),
    _expression("a", "Exists", "b"),
    _expression("a", "DoesNotExist"),
    _expression("a", "DoesNotExist", "b"),
    _expression("a", "Gt", "5"),
    _expression("a", "Gt", "five"),
    _expression("a", "Lt", "5", "6"),
    _expression("a", "Lt"),
    _expression("a", "Is", "b"),
    _expression("a", "in", "b"),
    _expression("", "Exists"),
    _expression("a b", "Exists"),
    _expression("-/a", "In", "b"),
    _expression(LONG, "In", "-b", LONG),
    _expression(MEMBER, "In", "0"),
    {"key": "a"},
    {"operator": "In", "values": ["b"]},
    {"key": "a", "operator": "In", "values": [""]},
    {"key": "a", "operator": "In", "values": [1]},
)
_FIELDS: tuple[Obj, ...] = (
    _expression("metadata.name", "In", "node-1"),
    _expression("metadata.name", "In", "node-1", "node-2"),
    _expression("metadata.name", "NotIn", "node-1"),
    _expression("metadata.name", "Exists"),
    _expression("metadata.name", "Gt", "5"),
    _expression("metadata.name", "In"),
    _expression("metadata.name", "In", "Node_1"),
    _expression("metadata.uid", "In", "x"),
    _expression("", "In", "x"),
)
_NODE_SELECTORS: tuple[Any, ...] = (
    {"nodeSelectorTerms": []},
    {},
    {"nodeSelectorTerms": [{}]},
    {"nodeSelectorTerms": [{"matchExpressions": [], "matchFields": []}]},
    {
        "nodeSelectorTerms": [
            {"matchExpressions": [_EXPRESSIONS[0]], "matchFields": [_FIELDS[0]]},
            {"matchExpressions": [_EXPRESSIONS[2]], "matchFields": [_FIELDS[3]]},
        ]
    },
    {"nodeSelectorTerms": "a"},
    [],
)


def _term(**changed: Any) -> Obj:
    """A term of pod affinity, with fields changed or (None) left out."""
    term = {"topologyKey": _HOST, "labelSelector": {"matchLabels": {"a": "b"}}, **changed}
    return {key: value for key, value in term.items() if value is not None}


_TERMS: tuple[Obj, ...] = (
    _term(),
    _term(topologyKey=None),
    _term(topologyKey=""),
    _term(topologyKey="a b"),
    _term(topologyKey="topology.kubernetes.io/zone"),
    _term(labelSelector=None),
    _term(labelSelector={}),
    _term(labelSelector={"matchLabels": {"a b": "c"}}),
    _term(labelSelector={"matchLabels": {"a": "-"}}),
    _term(namespaces=["one", "two"]),
    _term(namespaces=["One"]),
    _term(namespaces=["a.b"]),
    _term(namespaces=[""]),
    _term(namespaces=[]),
    _term(namespaceSelector={}),
    _term(namespaceSelector={"matchLabels": {"a": "b"}}),
    _term(namespaceSelector={"matchExpressions": [_expression("a", "In")]}),
    _term(matchLabelKeys=["color"]),
    _term(matchLabelKeys=["absent"]),
    _term(mismatchLabelKeys=["color"]),
    _term(matchLabelKeys=["color"], mismatchLabelKeys=["shape"]),
    _term(matchLabelKeys=["color"], mismatchLabelKeys=["color"]),
    _term(matchLabelKeys=["a b"]),
    _term(matchLabelKeys=["color"], labelSelector=None),
    _term(matchLabelKeys=["color"], labelSelector={"matchLabels": {"color": "red"}}),
    _term(
        matchLabelKeys=["shape", "color"],
        labelSelector={"matchExpressions": [_expression("color", "Exists")]},
    ),
    _term(mismatchLabelKeys=["color"], labelSelector={"matchLabels": {"color": "red"}}),
    _term(unknown=1),
    {},
)
_WEIGHTS = (0, -1, 1, 100, 101, 2147483648, "1", None)
_TOLERATIONS: tuple[Any, ...] = (
    {**TAINT, "operator": "Equal"},
    TAINT,
    {"operator": "Exists"},
    {"key": "a", "operator": "Exists"},
    {"key": "a", "operator": "Exists", "value": "b"},
    {"key": "a", "operator": "Exists", "value": ""},
    {"operator": "Equal", "value": "b"},
    {},
    {"key": "a"},
    {"key": "a", "operator": "Equal"},
    {"key": "a", "operator": "Is", "value": "b"},
    {"key": "a", "operator": "Gt", "value": "5"},
    {"key": "a b", "operator": "Exists"},
    {"key": "a", "value": "-"},
    {"key": "a", "value": LONG},
    {"key": "a", "value": "-" + LONG},
    {"key": "a", "value": "b", "effect": "Never"},
    {"key": "a", "value": "b", "effect": ""},
    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -30},
    {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 30},
    {"key": "a", "operator": "Exists", "tolerationSeconds": 0},
    {"key": "a", "operator": "Exists", "tolerationSeconds": "30"},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
)


def _affine(kind: str, when: str, term: Any) -> Obj:
    return {"affinity": {kind: {when: term}}}


def _asking(name: str, spec: Any, **options: Any) -> Exchange:
    made = pod(spec=spec, labels={"color": "red", "shape": "round"})
    return exchange(name, post("pods", made), **options)


def _tolerant(*tolerations: Obj) -> Step:
    return post("pods", pod(spec={"tolerations": list(tolerations)}), compared=False)


_A: Obj = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
_NOT_READY = {**_A, "key": "node.kubernetes.io/not-ready", "tolerationSeconds": 300}
_UNREACHABLE = {**_A, "key": "node.kubernetes.io/unreachable", "tolerationSeconds": 300}
_GIVEN = [_NOT_READY, _UNREACHABLE]
_PREFERENCE = {"matchExpressions": [_EXPRESSIONS[0]]}

EXCHANGES = (
    *(
        _asking(
            f"required node affinity, expression {i}",
            _affine(
                "nodeAffinity", _REQUIRED, {"nodeSelectorTerms": [{"matchExpressions": [each]}]}
            ),
        )
        for i, each in enumerate(_EXPRESSIONS)
    ),
    *(
        _asking(
            f"required node affinity, field {i}",
            _affine("nodeAffinity", _REQUIRED, {"nodeSelectorTerms": [{"matchFields": [each]}]}),
        )
        for i, each in enumerate(_FIELDS)
    ),
    *(
        _asking(f"required node affinity {i}", _affine("nodeAffinity", _REQUIRED, each))
        for i, each in enumerate(_NODE_SELECTORS)
    ),
    *(
        _asking(
            f"preferred node affinity, expression {i}",
            _affine(
                "nodeAffinity",
                _PREFERRED,
                [{"weight": 1, "preference": {"matchExpressions": [each]}}],
            ),
        )
        for i, each in enumerate(_EXPRESSIONS)
    ),
    *(
        _asking(
            f"preferred node affinity of weight {each!r}",
            _affine("nodeAffinity", _PREFERRED, [{"weight": each, "preference": _PREFERENCE}]),
        )
        for each in _WEIGHTS
    ),
    _asking(
        "preferred node affinity without a weight",
        _affine("nodeAffinity", _PREFERRED, [{"preference": _PREFERENCE}]),
    ),
    _asking(
        "preferred node affinity without a preference",
        _affine("nodeAffinity", _PREFERRED, [{"weight": 1}]),
    ),
    *(
        _asking(f"required {kind} {i}", _affine(kind, _REQUIRED, [each]))
        for kind in ("podAffinity", "podAntiAffinity")
        for i, each in enumerate(_TERMS)
    ),
    *(
        _asking(
            f"required podAntiAffinity, expression {i}",
            _affine(
                "podAntiAffinity",
                _REQUIRED,
                [_term(labelSelector={"matchExpressions": [each]})],
            ),
        )
        for i, each in enumerate(_EXPRESSIONS)
    ),
    *(
        _asking(
            f"preferred {kind} {i}",
            _affine(kind, _PREFERRED, [{"weight": 100, "podAffinityTerm": each}]),
        )
        for kind in ("podAffinity", "podAntiAffinity")
        for i, each in enumerate(_TERMS[:6])
    ),
    *(
        _asking(
            f"preferred podAffinity of weight {each!r}",
            _affine("podAffinity", _PREFERRED, [{"weight": each, "podAffinityTerm": _term()}]),
        )
        for each in _WEIGHTS
    ),
    _asking(
        "preferred podAffinity without a term", _affine("podAffinity", _PREFERRED, [{"weight": 1}])
    ),
    _asking(
        "everything wrong at once",
        {
            "nodeSelector": {"a b": "c"},
            "nodeName": "Node_1",
            "hostname": "Host_1",
            "subdomain": "a.b",
            "affinity": {
                "nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}},
                "podAffinity": {_REQUIRED: [{}]},
                "podAntiAffinity": {_PREFERRED: [{"weight": 101, "podAffinityTerm": _term()}]},
            },
            "tolerations": [{"key": "a", "operator": "Is"}],
            "restartPolicy": "Sometimes",
        },
    ),
    *(
        _asking(f"node selector {i}", {"nodeSelector": each})
        for i, each in enumerate(
            ({"a": "b"}, {"a": ""}, {"a b": "c"}, {"a": "-"}, {MEMBER: "0"}, {"": ""}, {"a": 1})
        )
    ),
    *(
        _asking(f"node name {each!r}", {"nodeName": each})
        for each in ("absent-node", "Node_1", "a.b", "a" * 254, "")
    ),
    *(
        _asking(f"{field} {each[:9]!r} {len(each)}", {field: each})
        for field in ("hostname", "subdomain")
        for each in (
            "shop-0",
            "Shop",
            "a.b",
            "-a",
            "a" * 63,
            "a" * 64,
            "A" * 64,
            "a." * 40 + "a",
            "",
        )
    ),
    *(_asking(f"toleration {i}", {"tolerations": [each]}) for i, each in enumerate(_TOLERATIONS)),
    *(
        exchange(
            f"tolerations are changed {i}",
            _tolerant(_A),
            merge("pods", "one", {"spec": {"tolerations": each}}),
        )
        for i, each in enumerate(
            (
                [_A, *_GIVEN, TAINT],
                [TAINT, _A, *_GIVEN],
                [_A, *_GIVEN],
                _GIVEN,
                [],
                None,
                [{**_A, "tolerationSeconds": 5}, *_GIVEN],
                [{**_A, "effect": ""}, *_GIVEN],
                [_A, *_GIVEN, {"key": "b", "operator": "Is"}],
                [_A, {**_NOT_READY, "tolerationSeconds": 7}, _UNREACHABLE],
                [{"key": "b", "operator": "Is"}],
            )
        )
    ),
    exchange(
        "a node selector is changed",
        post("pods", pod(), compared=False),
        merge("pods", "one", {"spec": {"nodeSelector": {"a": "b"}}}),
    ),
    exchange(
        "an affinity is changed",
        post("pods", pod(), compared=False),
        merge("pods", "one", {"spec": _affine("podAffinity", _REQUIRED, [_term()])}),
    ),
)
