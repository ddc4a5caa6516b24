"""Which fields the messages have that kubectl sends as protobuf, by their numbers.

Taken from the files `generated.proto` of Kubernetes 1.36 (k8s.io/api, k8s.io/apimachinery). In the
tables `name=number:type`; no type is text, `type?` says that an empty value is written out too
(a pointer in Go), `[type]` a list, `{type}` a map from text. A kind that has
other fields in an older version has a table with that version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message; `type` is text, bytes, flag, int, Quantity, a time, or a message."""

    name: str
    type: str
    optional: bool = False
    repeated: bool = False
    is_map: bool = False


Message = Mapping[int, Field]

_TABLES = {
    "Unknown": "typeMeta=1:TypeMeta raw=2:bytes contentEncoding=3 contentType=4",
    "TypeMeta": "apiVersion=1 kind=2",
    "ObjectMeta": "name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 "
    "generation=7:int creationTimestamp=8:Time deletionTimestamp=9:Time "
    "deletionGracePeriodSeconds=10:int? labels=11:{text} annotations=12:{text} "
    "ownerReferences=13:[OwnerReference] finalizers=14:[text]",
    "OwnerReference": "kind=1 name=3 uid=4 apiVersion=5 controller=6:flag? "
    "blockOwnerDeletion=7:flag?",
    "DeleteOptions": "gracePeriodSeconds=1:int? preconditions=2:Preconditions "
    "orphanDependents=3:flag? propagationPolicy=4:text? dryRun=5:[text]",
    "Preconditions": "uid=1:text? resourceVersion=2:text?",
    "Namespace": "metadata=1:ObjectMeta spec=2:NamespaceSpec status=3:NamespaceStatus",
    "NamespaceSpec": "finalizers=1:[text]",
    "NamespaceStatus": "phase=1",
    "ConfigMap": "metadata=1:ObjectMeta data=2:{text} binaryData=3:{bytes} immutable=4:flag?",
    "Secret": "metadata=1:ObjectMeta data=2:{bytes} type=3 stringData=4:{text} immutable=5:flag?",
    "ServiceAccount": "metadata=1:ObjectMeta secrets=2:[ObjectReference] "
    "imagePullSecrets=3:[LocalObjectReference] automountServiceAccountToken=4:flag?",
    "ObjectReference": "kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7",
    "LocalObjectReference": "name=1",
    "Service": "metadata=1:ObjectMeta spec=2:ServiceSpec",
    "ServiceSpec": "ports=1:[ServicePort] selector=2:{text} clusterIP=3 type=4 "
    "externalIPs=5:[text] sessionAffinity=7 loadBalancerIP=8 "
    "loadBalancerSourceRanges=9:[text] externalName=10 externalTrafficPolicy=11 "
    "healthCheckNodePort=12:int publishNotReadyAddresses=13:flag "
    "sessionAffinityConfig=14:SessionAffinityConfig ipFamilyPolicy=17:text? clusterIPs=18:[text] "
    "ipFamilies=19:[text] allocateLoadBalancerNodePorts=20:flag? loadBalancerClass=21:text? "
    "internalTrafficPolicy=22:text? trafficDistribution=23:text?",
    "ServicePort": "name=1 protocol=2 port=3:int targetPort=4:IntOrString nodePort=5:int "
    "appProtocol=6:text?",
    "SessionAffinityConfig": "clientIP=1:ClientIPConfig",
    "ClientIPConfig": "timeoutSeconds=1:int?",
    "Binding": "metadata=1:ObjectMeta target=2:ObjectReference",
    "Eviction": "metadata=1:ObjectMeta deleteOptions=2:DeleteOptions",
    "Event": "metadata=1:ObjectMeta involvedObject=2:ObjectReference reason=3 message=4 "
    "source=5:EventSource firstTimestamp=6:Time lastTimestamp=7:Time count=8:int type=9 "
    "eventTime=10:MicroTime series=11:EventSeries action=12 related=13:ObjectReference "
    "reportingComponent=14 reportingInstance=15",
    "EventSource": "component=1 host=2",
    "EventSeries": "count=1:int lastObservedTime=2:MicroTime",
    "Lease": "metadata=1:ObjectMeta spec=2:LeaseSpec",
    "LeaseSpec": "holderIdentity=1:text? leaseDurationSeconds=2:int? acquireTime=3:MicroTime "
    "renewTime=4:MicroTime leaseTransitions=5:int? strategy=6:text? preferredHolder=7:text?",
    "HorizontalPodAutoscaler": "metadata=1:ObjectMeta spec=2:HorizontalPodAutoscalerSpec",
    "HorizontalPodAutoscalerSpec": "scaleTargetRef=1:CrossVersionObjectReference "
    "minReplicas=2:int? maxReplicas=3:int metrics=4:[MetricSpec]",
    "CrossVersionObjectReference": "kind=1 name=2 apiVersion=3",
    "MetricSpec": "type=1 resource=4:ResourceMetricSource",
    "ResourceMetricSource": "name=1 target=2:MetricTarget",
    "MetricTarget": "type=1 value=2:Quantity averageValue=3:Quantity averageUtilization=4:int?",
    "autoscaling/v1 HorizontalPodAutoscaler": "metadata=1:ObjectMeta spec=2:AutoscalerSpecOfV1",
    "AutoscalerSpecOfV1": "scaleTargetRef=1:CrossVersionObjectReference minReplicas=2:int? "
    "maxReplicas=3:int targetCPUUtilizationPercentage=4:int?",
    "SelfSubjectAccessReview": "metadata=1:ObjectMeta spec=2:SelfSubjectAccessReviewSpec",
    "SelfSubjectAccessReviewSpec": "resourceAttributes=1:ResourceAttributes "
    "nonResourceAttributes=2:NonResourceAttributes",
    "ResourceAttributes": "namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7",
    "NonResourceAttributes": "path=1 verb=2",
    "SelfSubjectReview": "metadata=1:ObjectMeta",
}


def _message(table: str) -> Message:
    found: dict[int, Field] = {}
    for word in table.split():
        name, _, rest = word.partition("=")
        number, _, kind = rest.partition(":")
        bare = kind.strip("?[]{}") or "text"
        found[int(number)] = Field(
            name,
            bare,
            optional=kind.endswith("?"),
            repeated=kind.startswith("["),
            is_map=kind.startswith("{"),
        )
    return found


MESSAGES: Mapping[str, Message] = {name: _message(table) for name, table in _TABLES.items()}
