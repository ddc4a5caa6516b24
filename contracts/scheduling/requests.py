"""What a pod requests of its node, reckoned as the scheduler of Kubernetes does.

https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers

CPU counts in thousandths, everything else in ones (bytes, devices), both rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from contracts.scheduling.quantities import is_enormous, rounded_up

CPU: Final = "cpu"
PODS: Final = "pods"
"""Each pod takes one, beside what it requests."""
RESIZED: Final = ("cpu", "memory")
"""What Kubernetes changes of a container that runs."""
AMOUNT_MAX: Final = 2**53
"""Of one resource: more is nobody's, and would not be exact in the numbers that are searched."""

Amounts = dict[str, int]


def amount_of(resource: str, written: object) -> int:
    """An amount of a resource; what is no quantity counts as nothing.

    One of a hundred digits is more than any node has, wherever its point stands.
    """
    if is_enormous(written):
        return AMOUNT_MAX
    return min(rounded_up(written, 1000 if resource == CPU else 1), AMOUNT_MAX)


def amounts_of(written: Mapping[str, object]) -> Amounts:
    """The amounts of some resources by name."""
    return {name: amount_of(name, each) for name, each in written.items()}


def with_default_requests(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Resources of a container as the API server completes them: limits are requests, too."""
    limits = resources.get("limits") or {}
    if not limits:
        return dict(resources)
    return {**resources, "requests": {**limits, **(resources.get("requests") or {})}}


def differ_in_place(wanted: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether a container holds another amount of CPU or memory than is wanted for it.

    Amounts are rounded up, so a fraction of a byte, which the API server rounds up, is no
    difference. What `wanted` does not name is not compared.
    """
    return any(
        amount_of(name, amount) != amount_of(name, (held.get(part) or {}).get(name, 0))
        for part, amounts in with_default_requests(wanted).items()
        for name, amount in (amounts or {}).items()
        if name in RESIZED
    )


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    """The requests of a pod with this spec; a container without one requests its limit."""
    total = _sum(_of_container(each) for each in spec.get("containers") or ())
    sidecars: Amounts = {}
    peak: Amounts = {}
    for each in spec.get("initContainers") or ():
        own = _sum((sidecars, _of_container(each)))
        if each.get("restartPolicy") == "Always":
            sidecars = own
        peak = _most(peak, own)
    total = _most(_sum((total, sidecars)), peak)
    total |= amounts_of((spec.get("resources") or {}).get("requests") or {})
    total = _sum((total, amounts_of(spec.get("overhead") or {})))
    return {name: min(amount, AMOUNT_MAX) for name, amount in sorted(total.items()) if amount}


def _of_container(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _sum(each: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in each:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in (*one, *other)}
