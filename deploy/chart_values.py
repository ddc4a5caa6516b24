"""The values of the Helm chart in the order of the file: default, what is allowed and meaning.

`charting.py` makes `values.yaml`, `values.schema.json` and `docs/chart-values.md` of them.
"""

from __future__ import annotations

from typing import Final

from deploy.chart_kinds import (
    BOOLEAN,
    METRICS_PORT,
    NAME,
    NAME_OR_NONE,
    OBJECTS,
    PORT,
    STRING,
    TEXTS,
    USER,
    Section,
    Tree,
    Value,
)
from deploy.chart_sections import BUNDLES, GIVER, KAFKA, NETWORK, TRACING, service_values
from services.roster import SERVICES

_OF_POOLS: Final = next(row.name for row in SERVICES if row.enabled == "exclusivePools")
VALUES: Final[Tree] = {
    "image": Section(
        "The image of all services.",
        {
            "repository": Value(STRING, "localhost/millrace", "registry and repository"),
            "tag": Value(STRING, "", "empty: the version of the chart's application"),
            "digest": Value(
                {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                "",
                "instead of the tag",
            ),
            "pullPolicy": Value({"enum": ["Always", "IfNotPresent", "Never"]}, "IfNotPresent", ""),
            "pullSecrets": Value(OBJECTS, [], "`[{name: …}]`"),
        },
    ),
    "fullnameOverride": Value(NAME_OR_NONE, "", "what the names of all objects begin with"),
    "namespaces": Value(
        {"type": "array", "items": {"type": "string", "pattern": NAME}, "uniqueItems": True},
        [],
        "where Jobs are run, with Roles in each; empty: everywhere, with ClusterRoles",
    ),
    "exclusivePools": Value(
        BOOLEAN,
        True,
        f"false: no node is labelled or tainted, {_OF_POOLS} is left out, and jobs with "
        "exclusive pools are refused",
    ),
    "peGateway": Section(
        f"{GIVER}, which answers what the runtime in a PE requests over HTTP.",
        {
            "enabled": Value(BOOLEAN, True, "false: it is left out; PEs run without its answers"),
            "namespaces": Value(
                {
                    "type": "array",
                    "items": {"type": "string", "pattern": NAME},
                    "uniqueItems": True,
                },
                [],
                "where a Service `streams-api` leads to it; empty: in each of `namespaces`",
            ),
            "clusterDomain": Value(STRING, "cluster.local", "the domain of the cluster's DNS"),
            "redis": Value(
                BOOLEAN,
                False,
                "true: it also answers `HGET apps BUNDLE` in the protocol of redis at port 6379, "
                "as the image of the original asks at its start; `bundles.store` has to be of "
                "access mode ReadWriteMany",
            ),
        },
    ),
    "podSecurity": Value(
        {"enum": ["privileged", "baseline", "restricted"]},
        "baseline",
        "MILLRACE_POD_SECURITY: the level that pod templates of Jobs keep to",
    ),
    "runtime": Section(
        "What PEs of applications in Python run in.",
        {
            "image": Value(
                STRING,
                "",
                "MILLRACE_RUNTIME_IMAGE: the image of those whose Job names none; empty: "
                "millrace/runtime of the version of the services",
            ),
        },
    ),
    "crds": Section(
        "CustomResourceDefinitions.",
        {"enabled": Value(BOOLEAN, True, "whether they are installed; never uninstalled")},
    ),
    "kafka": KAFKA,
    "bundles": BUNDLES,
    "networkPolicies": NETWORK,
    "disruptionBudgets": Section(
        "PodDisruptionBudgets.",
        {"enabled": Value(BOOLEAN, True, "one pod of a service at a time")},
    ),
    "admissionPolicies": Section(
        "ValidatingAdmissionPolicies: what RBAC cannot say of the accounts.",
        {"enabled": Value(BOOLEAN, True, "needs Kubernetes 1.30")},
    ),
    "user": Value(
        {"type": ["integer", "null"], "minimum": 1},
        USER,
        "uid and gid of the containers; null: the cluster chooses (OpenShift)",
    ),
    "logLevel": Value({"enum": ["DEBUG", "INFO", "WARNING", "ERROR"]}, "INFO", "of all services"),
    "tracing": TRACING,
    "metricsPort": Value(PORT, METRICS_PORT, "of /metrics, /healthz and /readyz"),
    "graceSeconds": Value(
        {"type": "integer", "minimum": 0}, 10, "time for effects in flight at a stop"
    ),
    "priorityClassName": Value(NAME_OR_NONE, "", "of all services"),
    "podAnnotations": Value(TEXTS, {}, "of all pods of services"),
    "podLabels": Value(TEXTS, {}, "of all pods of services"),
    "services": Section(
        "The services, each on its own.",
        {row.name: service_values(row) for row in sorted(SERVICES, key=lambda row: row.name)},
    ),
}
