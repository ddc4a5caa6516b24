"""Describing: what `kubectl describe` and `kubectl events` tell of an object and around it."""

from __future__ import annotations

from typing import Any

from tests.real.differential.kubectl import Script
from tests.real.differential.objects import Obj, config_map, custom, lease, pod, service, widget


def _event(name: str, about: Obj, reason: str, /, **rest: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": about["metadata"]["name"],
            "namespace": "$ns",
        },
        "type": "Normal",
        "reason": reason,
        "message": f"{reason} happened.",
        "source": {"component": "tester"},
        "firstTimestamp": "2020-01-01T00:00:00Z",
        "lastTimestamp": "2020-01-02T00:00:00Z",
        "count": 2,
        **rest,
    }


_WIDGET = widget("w", {"size": 2, "tags": ["a", "b"], "parts": [{"name": "p"}]}, labels={"a": "x"})
_POD = pod(
    "p",
    {
        "containers": [
            {
                "name": "main",
                "image": "image:1",
                "command": ["run"],
                "args": ["a", "b"],
                "ports": [{"containerPort": 80, "name": "http"}],
                "env": [{"name": "A", "value": "b"}, {"name": "EMPTY"}],
                "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}},
                "volumeMounts": [{"name": "config", "mountPath": "/config"}],
            }
        ],
        "volumes": [{"name": "config", "configMap": {"name": "c"}}],
        "nodeSelector": {"none": "such"},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
    },
    labels={"app": "p"},
    annotations={"note": "long"},
)
_JOB = custom("Job", "job", {"processingElement": {"imagePullPolicy": "Never"}})
SCRIPTS = (
    Script(
        "describe",
        (
            "create -f -",
            "describe widget w",
            "describe widgets",
            "describe widget/w cm/c",
            "describe cm c",
            "describe cm -l a=x",
            "describe svc one",
            "describe svc ports",
            "describe pod p",
            "describe pod p --show-events=false",
            "describe lease one",
            "describe secret s",
            "describe sa default",
            "describe ns $ns",
            "describe ev first",
            "describe stj job",
            "describe stpr job-0",
            "describe widget nothing",
            "describe nothing",
            "describe widgets -l none=such",
            "describe -f -",
        ),
        (
            _WIDGET,
            config_map("c", {"k": "v", "long": "a\nb\n"}, labels={"a": "x"}),
            service(),
            service("ports", {"clusterIP": "None", "ports": [{"port": 80, "name": "http"}]}),
            _POD,
            lease(spec={"holderIdentity": "me", "leaseDurationSeconds": 5}),
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "s"},
                "data": {"a": "Yg=="},
            },
            _JOB,
            custom("ParallelRegion", "job-0", {"width": 3, "jobName": "job", "regionIndex": 0}),
            _event("first", _WIDGET, "First"),
        ),
    ),
    Script(
        "events",
        (
            "create -f -",
            "get events",
            "get events -o wide",
            "get events --sort-by=.lastTimestamp -o name",
            "get events --field-selector involvedObject.name=w",
            "get events --field-selector reason=Second,type=Warning",
            "get events --field-selector involvedObject.kind=Job -o name",
            "events",
            "events --for widget/w",
            "events --types=Warning",
            "events --for job.streams.ibm.com/job",
            "events -o name",
            "describe stj job",
            "describe widget w",
            "get event first -o yaml",
            "events -n no-such-namespace",
        ),
        (
            _WIDGET,
            _JOB,
            _event("first", _WIDGET, "First"),
            _event("second", _WIDGET, "Second", type="Warning", count=1),
            _event("third", _JOB, "Third"),
        ),
    ),
)
