"""Selectors: what label and field selectors find, and how they are refused."""

from __future__ import annotations

from tests.real.differential.exchanges.listing import PODS, THREE, WIDGETS
from tests.real.differential.steps import Exchange, Step, exchange, get

COVERS = (
    "sandbox/store/label_selectors.py",
    "sandbox/store/selecting.py",
    "sandbox/controllers/selectors.py",
)

_LABELS = (
    "app=x",
    "app==x",
    "app!=x",
    "app in (x,y)",
    "app notin (x)",
    "app",
    "!tier",
    "app=x,tier=back",
    "app in (x), tier",
    "app=x,",
    "app=,",
    "app = x",
    "app in ()",
    "app in x",
    "=x",
    "app=a b",
    "-app=x",
    "app>1",
    "app>x",
    "app<5",
    "a/b/c=x",
    "app in (x,)",
    "app=-x",
    ",",
)
_FIELDS = (
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.namespace=$ns",
    "metadata.name==a,metadata.namespace=$ns",
    "metadata.uid=x",
    "data.a=b",
    "metadata.name",
    "metadata.name=a,",
    "=",
    "metadata.name=",
)
_POD_FIELDS = (
    "status.phase=Pending",
    "spec.nodeName=",
    "spec.restartPolicy=Never",
    "spec.schedulerName=nobody",
    "status.podIP=",
    "spec.hostNetwork=false",
    "spec.image=x",
    "status.phase!=Running",
)
_WIDGET_FIELDS = (
    "spec.mode=slow",
    "spec.size=2",
    "spec.ratio=1",
    "metadata.name=a",
    "spec.mode!=slow",
)
_MORE_LABELS = (
    " app = x ",
    "app in (x,)",
    "app notin (,x)",
    "app in (,)",
    "app in (x,,y)",
    "app in (x",
    "app in (x=)",
    "app in (=",
    "app in (in, notin)",
    "in",
    "in in (in)",
    "!",
    "!!app",
    "!app=x",
    "app!",
    "app!=",
    "app<>5",
    "app>-5",
    "app>+5",
    "app<99999999999999999999",
    "app>",
    "app=x=y",
    "app=!",
    "app=(x)",
    "app)",
    "(app)",
    "app x",
    "app,,tier",
    "app==x,tier",
    "app===x",
    "example.com/app=x",
    "/app=x",
    "example.com/=x",
    "Example.com/app=x",
    "app=x;y",
    "app=\u00e4",
    "app=" + "x" * 64,
    "y" * 64,
    "app in (x, -y, z-)",
    "\tapp\n",
    "app notin x",
    "app in",
    "app\u00a0=x",
)
_MORE_FIELDS = (
    " metadata.name=a",
    "metadata.name= a",
    "metadata.name=a\\,b",
    "metadata.name=a\\=b",
    "metadata.name=a\\x",
    "metadata.name=a\\",
    "metadata.name=a=b",
    "metadata.name=!a",
    "metadata.name!==a",
    "metadata.name===a",
    "metadata.name!=a,metadata.name!=b,metadata.name!=kube-root-ca.crt",
    "metadata.name=a,metadata.name=b",
    "=x",
    "!=",
    "b.c=d,a.b=c",
    "metadata.name=a,x",
    "spec.nodeName",
    ',,metadata.name="a"',
    'a"b=c',
)


def _lists(title: str, plural: str, before: tuple[Step, ...], **query: object) -> Exchange:
    return exchange(title, *before, get(plural, **query))


EXCHANGES = (
    *(_lists(f"labelSelector {s!r}", "configmaps", THREE, labelSelector=s) for s in _LABELS),
    *(_lists(f"fieldSelector {s!r}", "configmaps", THREE, fieldSelector=s) for s in _FIELDS),
    *(_lists(f"fieldSelector of Pods {s!r}", "pods", PODS, fieldSelector=s) for s in _POD_FIELDS),
    *(
        _lists(f"fieldSelector of widgets {s!r}", "widgets", WIDGETS, fieldSelector=s)
        for s in _WIDGET_FIELDS
    ),
    exchange(
        "label selectors", *THREE, *(get("configmaps", labelSelector=s) for s in _MORE_LABELS)
    ),
    exchange(
        "field selectors", *THREE, *(get("configmaps", fieldSelector=s) for s in _MORE_FIELDS)
    ),
    exchange(
        "field selectors of every kind",
        *(
            get(plural, fieldSelector=field)
            for plural in ("nodes", "namespaces", "pods", "services", "events", "secrets", "sites")
            for field in (
                "metadata.namespace=none",
                "metadata.uid=x",
                "spec.host=none",
                "type=none",
            )
        ),
    ),
)
