"""Every label, annotation, finalizer and taint key, and how the names of objects are made.

Keys are those of open-source IBM Streams where it has them, so that dashboards and selectors of its
users keep working; ours carry the same prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

PREFIX = "streams.ibm.com"

APP = "app"
APP_VALUE = "streams"
SERVICE_ROLE = "svc"
ROLE_PE = "pe"
PE_CONTAINER = "pe"
"""The name of the container that runs the PE; others in a pod template are sidecars."""
ROLE_ZOMBIE = "zombie"
"""A failed pod that is kept for its logs: it leaves what selects `svc=pe`, as in the original."""

JOB = f"{PREFIX}/job"
JOB_UID = f"{PREFIX}/job-uid"
GENERATION = f"{PREFIX}/generation"
PE = f"{PREFIX}/pe"
LAUNCH_COUNT = f"{PREFIX}/launch-count"
CONSISTENT_REGION = f"{PREFIX}/cr"
PLAN = f"{PREFIX}/plan"
REGION_PREFIX = f"region.{PREFIX}/"
CHANNEL_PREFIX = f"channel.{PREFIX}/"
"""Prefix of the label of a pod that stands for one channel of a region; then the region's index."""

APPLICATION_NAME = f"{PREFIX}/applicationName"
APPLICATION_SCOPE = f"{PREFIX}/applicationScope"
CONTENT_ID = f"{PREFIX}/contentId"
RETRY = f"{PREFIX}/retry"
RESTART = f"{PREFIX}/restart"
"""Annotation of a PE, copied to the pod that it led to: a new value asks for a new launch."""
LOSSES_ACKNOWLEDGED = f"{PREFIX}/lossesAcknowledged"
"""Annotation of a Job: of how many lost tuples somebody took note, as `status.losses` counts."""
INPUT_PORTS = f"{PREFIX}/inputPorts"
"""Annotation of a PE's Service: ids of the input ports that it offers, joined by commas."""

ENDPOINTS = f"{PREFIX}/endpoints"
"""Annotation of a Service of PEs: ports that PEs serve for others, as JSON rows [name, PE id, port,
protocol]."""

BEGUN = f"{PREFIX}/begun"
"""Annotation of a plan record: when its generation was begun, as a moment with microseconds."""

ORPHAN_FINALIZER = "orphan"
"""Kubernetes' own, on an object whose deletion leaves its children alone."""
NODE_CLAIMS_FINALIZER = f"{PREFIX}/node-claims"

EXCLUSIVE_TAINT = f"{PREFIX}/exclusive"
"""Taint of a node that an exclusive host pool holds; its value is the uid of the HostPool."""
MEMBER_PREFIX = f"member.{PREFIX}/"
"""Prefix of the node label of a pool's member; then the HostPool's uid. Its value is the place."""
TAG_PREFIX = f"tag.{PREFIX}/"
"""Prefix of the node label that gives a node a tag; its value says nothing."""
ORIGINAL_TAG = f"{PREFIX}/hostpool"
"""The node label by which the original gives a node its one tag, as the value."""
HOSTNAME = "kubernetes.io/hostname"
"""Kubernetes' own, of a node: mostly its name, and what pods ask for that must run on it."""
ASSIGNED_NODE = f"{PREFIX}/node"
"""Annotation of a pod that is pinned: the name of the node."""

OUT_OF_SERVICE_TAINT = "node.kubernetes.io/out-of-service"
"""Kubernetes' word of people that nothing runs on a node any more."""

PACK = f"{PREFIX}/pack"
"""Annotation of a pod: the pack that it mounts. A pod without it mounts a ConfigMap of its PE."""

CONTENT_IDS = f"{PREFIX}/contentIds"
"""Annotation of a pack: each key with the beginning of its content id, joined by spaces."""

JOB_NAME_MAX_CHARS = 50
_JOB_SERVICE_SUFFIX = "pes"
CONTENT_ID_IN_NAME_CHARS = 10
PACK_DIGEST_IN_NAME_CHARS = 16
JOB_IDS_NAME = "millrace-job-ids"
PORT_LABELS_KEY = "operator_port_labels.properties"
AADL_KEY = "aadl.xml"
CERTIFICATE_KEY = "transport.cert"
PRIVATE_KEY_KEY = "transport.key"


def pe_name(job: str, pe_id: int) -> str:
    """The name of a processing element, the host name of its pods, and the name of its Service.

    A Job's name has at most 50 characters, so it is always a label of the DNS.
    """
    return f"{job}-{pe_id}"


def job_service_name(job: str) -> str:
    """The name of the one Service of a job; a child of another job cannot have it.

    Those end with a number. It is not the name of the Job, which Services of people have.
    """
    return f"{job}-{_JOB_SERVICE_SUFFIX}"


def pe_config_map_name(job: str, pe_id: int, content_id: str) -> str:
    """The name of the ConfigMap that holds one content of a PE, as a release without packs made it.

    Jobs that were submitted under such a release keep them.
    """
    return f"{job}-{pe_id}-{content_id[:CONTENT_ID_IN_NAME_CHARS]}"


def pack_name(job: str, digest: str) -> str:
    """The name of the pack with this digest; a dot cannot occur in a Job's name."""
    return f"{_pack_prefix(job)}{digest[:PACK_DIGEST_IN_NAME_CHARS]}"


def is_pack_name(name: str, job: str) -> bool:
    """Whether a ConfigMap of the job may be a pack."""
    return name.startswith(_pack_prefix(job))


def _pack_prefix(job: str) -> str:
    return f"{job}.pack."


def pack_key(pe_id: int) -> str:
    """The key of a PE's AADL in its pack."""
    return f"pe-{pe_id}.xml"


def plan_name(job: str, generation: int) -> str:
    """The name of the plan record of a generation; a dot cannot occur in a Job's name."""
    return f"{job}.plan.{generation}"


def certificate_name(job: str) -> str:
    """The name of the Secret with a job's certificate and key; like a plan's, it has a dot."""
    return f"{job}.transport"


def plan_part_name(job: str, generation: int, part: int) -> str:
    """The name of one part of a plan record that exceeds a ConfigMap."""
    return f"{plan_name(job, generation)}.{part}"


_DIGEST_DIGITS = 10
_DIGEST = re.compile(rf"[0-9a-f]{{{_DIGEST_DIGITS}}}")


def pod_name(job: str, pe_id: int, pe_uid: str, launch: int) -> str:
    """The name of the pod of one launch: a pure function of PE uid and launch number.

    A launch that is tried twice therefore meets itself (AlreadyExists) instead of running twice.
    """
    digest = hashlib.sha256(f"{pe_uid}/{launch}".encode()).hexdigest()
    return f"{pe_name(job, pe_id)}-{digest[:_DIGEST_DIGITS]}"


def is_pod_name(name: str, pe: str) -> bool:
    """Whether a pod of the PE of this name may be called so; labels alone anybody can write."""
    digest = name.removeprefix(f"{pe}-")
    return f"{pe}-{digest}" == name and _DIGEST.fullmatch(digest) is not None


_HOST_TOKENS = {kind: f"{PREFIX}/host{kind}." for kind in ("colocation", "exlocation", "isolation")}
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE_CHARS_MAX = 63


def host_token_label(
    kind: Literal["colocation", "exlocation", "isolation"], token: str
) -> tuple[str, str]:
    """The pod label (key, value) by which PEs find or avoid each other on hosts.

    The key carries the SHA-1 of the token (of isolation: of the operator's name) and tells tokens
    apart; the value is for people, the token as far as a label can say it.
    """
    digest = hashlib.sha1(token.encode(), usedforsecurity=False).hexdigest()
    return _HOST_TOKENS[kind] + digest, label_value(token)


def label_value(text: str) -> str:
    """A text as the value of a label: the original's rules, then whatever Kubernetes asks for."""
    value = text.replace("[", "-").replace("]", "-").replace("::", ".")
    value = f"u{value}" if value.startswith("_") else value
    value = f"d{value}" if value.startswith(".") else value
    value = f"{value}u" if value.endswith("_") else value
    value = value[:_VALUE_CHARS_MAX]
    if not _VALUE.fullmatch(value):
        value = re.sub(r"[^-A-Za-z0-9_.]", "-", value).strip("-_.")
    return value or "x"


def member_label(pool_uid: str) -> str:
    """The key of the node label of a pool's members: nobody else knows the uid, so none clashes."""
    return f"{MEMBER_PREFIX}{pool_uid}"


def member_places(labels: Mapping[str, str]) -> dict[str, str]:
    """What the labels of a node say of host pools: the place in each, by the HostPool's uid."""
    return {
        key.removeprefix(MEMBER_PREFIX): value
        for key, value in labels.items()
        if key.startswith(MEMBER_PREFIX)
    }


def channel_label(region_index: int) -> str:
    """The pod label that says: this pod stands for one channel of the region with this index."""
    return f"{CHANNEL_PREFIX}{region_index}"


def region_label(region_index: int) -> str:
    """The pod label that says: this pod holds operators of the parallel region with this index."""
    return f"{REGION_PREFIX}{region_index}"
