"""Values of the Helm chart by section: Kafka, bundles, networks, and each service."""

from __future__ import annotations

from typing import Final

from contracts.servers import SERVERS
from contracts.topics import DEFAULT_PREFIX, PARTITIONS, PARTITIONS_MAX
from deploy.chart_kinds import (
    BOOLEAN,
    LOGS,
    NAME_OR_NONE,
    OBJECT,
    OBJECTS,
    PORT,
    QUANTITY,
    REQUIREMENTS,
    STRING,
    STRINGS,
    TEXTS,
    USER,
    Json,
    Section,
    Value,
)
from deploy.settings import SERVICES as SETTINGS
from services.chassis.process.settings import variable_of
from services.chassis.running.service import Service
from services.roster import NAMES, SERVICES, keeper_of

KEEPER: Final = keeper_of("bundle-store")
"""The service that keeps bundles."""
GIVER: Final = next(row.name for row in SERVICES if row.alias)
"""The service that gives them to pods."""


def _requirements(cpu: str, memory: str, memory_max: str) -> Json:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory_max}}


def client(service: str, what: str) -> Section:
    """How one principal is known to Kafka."""
    keys = "Secret with `username` and `password` (SASL), or `tls.crt` and `tls.key` (SSL)"
    return Section(
        what,
        {
            "secret": Value(NAME_OR_NONE, f"millrace-kafka-{service}", keys),
            "principal": Value(
                {"type": "string", "pattern": "^User:.+$"},
                f"User:millrace-{service}",
                "what brokers call it, for ACLs: `User:` and the name of login or certificate",
            ),
        },
    )


KAFKA: Final = Section(
    "Apache Kafka.",
    {
        "bootstrapServers": Value(
            {"type": "string", "pattern": rf"^({SERVERS})?$"},
            "",
            "HOST:PORT, with commas; required, unless `kafka.embedded.enabled`",
        ),
        "protocol": Value(
            {"enum": ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]},
            "PLAINTEXT",
            "how brokers are talked to; SSL is with a certificate of each client",
        ),
        "saslMechanism": Value(
            {"enum": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]},
            "SCRAM-SHA-512",
            "how a login is proved",
        ),
        "caSecret": Value(
            NAME_OR_NONE,
            "",
            "Secret with `ca.crt`, the authorities of the brokers; empty: the system's",
        ),
        "topicPrefix": Value(
            {"type": "string", "pattern": r"^[a-z0-9][a-z0-9.-]*$"},
            DEFAULT_PREFIX,
            "what the names of topics and groups begin with",
        ),
        "partitions": Value(
            {"type": "integer", "minimum": 1, "maximum": PARTITIONS_MAX},
            PARTITIONS,
            "of the topics that instances share; fixed once they exist, see docs/scaling-out.md",
        ),
        "topics": Section(
            "The Job that makes topics (and ACLs) before the services start.",
            {
                "enabled": Value(BOOLEAN, True, "false: `millrace topics apply` is run by hand"),
                "replication": Value(
                    {"type": "integer", "minimum": 0},
                    0,
                    "replicas of new topics; 0: one a broker, at most 3",
                ),
                "acls": Value(
                    BOOLEAN,
                    False,
                    "whether it also grants each principal what its service does with the topics",
                ),
                "podAnnotations": Value(TEXTS, {}, "of the Job's pod"),
            },
        ),
        "clients": Section(
            "One principal for each service; with PLAINTEXT they are not used.",
            {
                "topics": client("topics", "Of the Job: it may create topics and ACLs."),
                **{service: client(service, f"Of {service}.") for service in sorted(NAMES)},
            },
        ),
        "embedded": Section(
            "One Kafka in a StatefulSet, for trials and tests: no replicas, no TLS, no logins.",
            {
                "enabled": Value(BOOLEAN, False, "true: `kafka.bootstrapServers` is not used"),
                "image": Value(STRING, "docker.io/apache/kafka:4.3.0", "image with Kafka (KRaft)"),
                "format": Value(
                    STRINGS,
                    [
                        "/opt/kafka/bin/kafka-storage.sh",
                        "format",
                        "--ignore-formatted",
                        "--cluster-id",
                        "MkU3OEVBNTcwNTJENDM2Qg",
                        "--config",
                        "/etc/millrace-kafka/server.properties",
                    ],
                    "command that prepares the volume",
                ),
                "command": Value(
                    STRINGS,
                    [
                        "/opt/kafka/bin/kafka-server-start.sh",
                        "/etc/millrace-kafka/server.properties",
                    ],
                    "command of the broker",
                ),
                "env": Value(TEXTS, {"LOG_DIR": LOGS, "KAFKA_HEAP_OPTS": "-Xmx512m"}, "of both"),
                "persistent": Value(BOOLEAN, True, "false: an emptyDir, which dies with the pod"),
                "size": Value(QUANTITY, "8Gi", "of its volume"),
                "storageClass": Value(
                    NAME_OR_NONE, "", "of its volume; empty: the cluster's default"
                ),
                "user": Value(
                    {"type": ["integer", "null"], "minimum": 1},
                    USER,
                    "uid and gid; null: the cluster chooses (OpenShift)",
                ),
                "resources": Value(
                    REQUIREMENTS, _requirements("100m", "512Mi", "1Gi"), "of its container"
                ),
            },
        ),
    },
)

BUNDLES: Final = Section(
    f"Where {KEEPER} finds bundles, and where it keeps them.",
    {
        "rootUrl": Value(
            {"type": "string", "pattern": "^((https?|s3)://.+)?$"},
            "",
            "the bundle root as a URL, http(s) or s3://BUCKET/PREFIX; empty: `bundles.rootClaim`",
        ),
        "rootClaim": Value(
            NAME_OR_NONE,
            "",
            "claim with bundles by name; empty: an empty folder, for Jobs that name URLs",
        ),
        "s3": Section(
            "How a bundle root in S3 is reached.",
            {
                "secret": Value(
                    NAME_OR_NONE,
                    "",
                    "Secret with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (…); empty: the identity "
                    f"of the account (`services.{KEEPER}.accountAnnotations`) or the machine",
                ),
                "region": Value(STRING, "", "AWS_REGION"),
                "endpoint": Value(STRING, "", "AWS_ENDPOINT_URL_S3, of other stores than Amazon's"),
            },
        ),
        "caSecret": Value(
            NAME_OR_NONE, "", "Secret with `ca.crt`, trusted when a bundle is fetched"
        ),
        "store": Section(
            "The volume with every bundle that a job uses; a resize needs it.",
            {
                "kind": Value(
                    {"enum": ["claim", "existingClaim", "emptyDir"]},
                    "claim",
                    "`claim`: one of the release, which an uninstall keeps; `emptyDir`: dies with "
                    "the pod, and bundles are fetched again",
                ),
                "claim": Value(NAME_OR_NONE, "", "its name, with `existingClaim`"),
                "size": Value(QUANTITY, "10Gi", "of `claim`, and the limit of `emptyDir`"),
                "storageClass": Value(NAME_OR_NONE, "", "of `claim`; empty: the cluster's default"),
                "accessMode": Value(
                    {"enum": ["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]},
                    "ReadWriteOnce",
                    f"of the store; more than one {KEEPER} needs ReadWriteMany, and PEs of "
                    f"millrace/runtime too: {GIVER} gives them their bundle from there",
                ),
            },
        ),
    },
)

TRACING: Final = Section(
    "Spans of OpenTelemetry, see docs/observability.md.",
    {
        "endpoint": Value(
            {"type": "string", "pattern": r"^(https?://[^\s/:@]+(:[0-9]{1,5})?(/\S*)?)?$"},
            "",
            "OTEL_EXPORTER_OTLP_ENDPOINT: http://HOST:PORT of a collector; empty: no spans",
        ),
        "headersSecret": Value(
            NAME_OR_NONE,
            "",
            "Secret with `OTEL_EXPORTER_OTLP_HEADERS`, such as a login at the collector",
        ),
    },
)

NETWORK: Final = Section(
    "NetworkPolicies: out to the API server, Kafka, DNS, bundles and spans; in to metrics.",
    {
        "enabled": Value(BOOLEAN, True, "the cluster's network has to enforce them"),
        "apiServer": Value(OBJECTS, [], "peers that are the API server; empty: any address"),
        "apiServerPorts": Value(
            {"type": "array", "items": PORT}, [443, 6443], "behind the Service, not only its own"
        ),
        "kafka": Value(OBJECTS, [], "peers that are the brokers; empty: any address"),
        "kafkaPorts": Value(
            {"type": "array", "items": PORT},
            [],
            "of all brokers; empty: those of `kafka.bootstrapServers`",
        ),
        "dns": Value(OBJECTS, [], "peers that are the DNS; empty: any address"),
        "dnsPorts": Value({"type": "array", "items": PORT}, [53, 5353], "UDP and TCP"),
        "bundles": Value(OBJECTS, [], f"peers that {KEEPER} fetches bundles from; empty: any"),
        "bundlePorts": Value(
            {"type": "array", "items": PORT},
            [80, 443],
            "of these; none: no bundles from other machines",
        ),
        "tracing": Value(
            OBJECTS, [], "peers that are the collector of `tracing.endpoint`; empty: any address"
        ),
        "metricsFrom": Value(OBJECTS, [], "peers that may read metrics and probes; empty: any"),
    },
)


OF_ALL: Final = frozenset(
    {
        "kubeconfig",
        "bus",
        "topic_prefix",
        "partitions",
        "instance",
        "log_level",
        "metrics_port",
        "metrics_host",
        "grace_s",
        "namespaces",
        "lease_namespace",
    }
)
"""Settings that the chart gives every service from other values."""


def settings_of_the_chart(row: Service) -> frozenset[str]:
    """The settings of a service that the chart gives from other values."""
    given = {each.setting for each in row.given if each.is_alone}
    given |= {setting for each in row.ports for setting in (each.setting, each.host_setting)}
    given |= {each.setting for each in row.mounts}
    return OF_ALL.union(given, *(each.settings for each in row.needs))


def service_values(row: Service) -> Section:
    """How one service is run."""
    size = row.resources
    env = {variable_of(setting): value for setting, value in row.defaults.items()}
    return Section(
        "",
        {
            "replicas": Value({"type": "integer", "minimum": 0}, 1, "instances"),
            "resources": Value(
                REQUIREMENTS, _requirements(size.cpu, size.memory, size.memory_max), ""
            ),
            "env": Value(_env_schema(row), env, "settings: docs/settings.md"),
            "accountAnnotations": Value(TEXTS, {}, "of its ServiceAccount"),
            "nodeSelector": Value(TEXTS, {}, ""),
            "tolerations": Value(OBJECTS, [], ""),
            "affinity": Value(OBJECT, {}, ""),
        },
    )


def _env_schema(row: Service) -> Json:
    settings, others = SETTINGS[row.name], settings_of_the_chart(row)
    schemas = settings.model_json_schema()["properties"]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            variable_of(name): _of_setting(schemas[name])
            for name in settings.model_fields
            if name not in others
        },
    }


_KEPT: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "pattern")


def _of_setting(schema: Json) -> Json:
    """What pydantic says of a field; a list is written with commas."""
    kind = schema.get("type", "string")
    kept = {word: schema[word] for word in _KEPT if word in schema}
    return {"type": kind if kind in ("integer", "number", "boolean") else "string"} | kept
