"""What a DELETE means: grace, finalizers and what happens to dependents.

Pure decisions on one object; store.py carries them out, and the garbage collector (a controller)
follows the finalizers `orphan` and `foregroundDeletion` that are set here.
https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.store.errors import (
    Cause,
    bad_request,
    conflict,
    forbidden,
    invalid,
    json_type,
    not_supported,
)
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION, ResourceType
from sandbox.store.timestamps import rfc3339, unix_seconds

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
OF_DEFINITIONS = "customresourcecleanup.apiextensions.k8s.io"
POLICIES = ("Background", "Foreground", "Orphan")
POD_GRACE_S = 30
IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


@dataclass(frozen=True)
class DeleteOptions:
    """meta/v1 DeleteOptions, as far as it has an effect here."""

    grace_period_s: int | None = None
    propagation: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False

    @classmethod
    def from_body(cls, body: Mapping[str, Any] | None) -> DeleteOptions:
        """Read the body of a DELETE; 400 or 422 if it cannot be meant."""
        if not body:
            return cls()
        grace = body.get("gracePeriodSeconds")
        if grace is not None and (not isinstance(grace, int) or isinstance(grace, bool)):
            raise bad_request(f"gracePeriodSeconds cannot be of type {json_type(grace)}")
        preconditions = body.get("preconditions") or {}
        return cls(
            grace_period_s=grace,
            propagation=_policy(body),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            dry_run=bool(body.get("dryRun")),
        )


@dataclass(frozen=True)
class Deletion:
    """What to do with the object: store `marked` first (if any), then remove it if `gone`."""

    marked: dict[str, Any] | None
    gone: bool


class _DeleteOptionsName:
    group, plural, kind = "meta.k8s.io", "deleteoptions", "DeleteOptions"


def _policy(body: Mapping[str, Any]) -> str | None:
    policy = body.get("propagationPolicy")
    if policy is not None and body.get("orphanDependents") is not None:
        text = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be '
        cause = Cause("propagationPolicy", f"{text}both set")
        raise invalid(_DeleteOptionsName(), "", [cause])
    if (dry_run := body.get("dryRun")) not in (None, [], ["All"]):
        cause = not_supported("dryRun", dry_run, ("All",))
        raise invalid(_DeleteOptionsName(), "", [cause])
    if policy is None:
        orphan = body.get("orphanDependents")
        return None if orphan is None else ("Orphan" if orphan else "Background")
    if policy not in POLICIES:
        cause = not_supported(
            "propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil")
        )
        raise invalid(_DeleteOptionsName(), "", [cause])
    return str(policy)


def decide(
    rt: ResourceType, current: Mapping[str, Any], options: DeleteOptions, now: float
) -> Deletion:
    """What a DELETE does to `current`. Raises 409 if a precondition does not hold.

    1. Preconditions. 2. Pods get their grace, which can only be shortened later. 3. The
    propagation policy becomes a finalizer. 4. Whatever has a finalizer or a grace stays.
    """
    check_preconditions(rt, current, options)
    meta = current["metadata"]
    if rt.key == "namespaces" and meta["name"] in IMMORTAL_NAMESPACES:
        raise forbidden(rt, meta["name"], "this namespace may not be deleted")
    if rt.key == "pods":
        return _decide_gracefully(current, options, now)
    finalizers = _finalizers(meta, options)
    if rt.key == CUSTOM_RESOURCE_DEFINITION.key and OF_DEFINITIONS not in finalizers:
        finalizers.append(OF_DEFINITIONS)  # its objects go first; nothing holds it before
    if rt.key == "namespaces" and current.get("spec", {}).get("finalizers"):
        return Deletion(_namespace_terminating(current, finalizers, now), gone=False)
    if not finalizers:
        return Deletion(None, gone=True)
    changed = _with_finalizers(meta, finalizers)
    return Deletion({**current, "metadata": _marked(changed, now)}, gone=False)


def _by_kind(rt: ResourceType) -> ResourceType:
    """Refused preconditions name the kind where everything else names the plural."""
    return replace(rt, plural=rt.kind)


def check_preconditions(
    rt: ResourceType, current: Mapping[str, Any], options: DeleteOptions
) -> None:
    meta = current["metadata"]
    if options.uid is not None and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated"
        )
        raise conflict(_by_kind(rt), meta["name"], why)
    wanted = options.resource_version
    if wanted is not None and wanted != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({wanted}) does not match the "
            f"ResourceVersion in record ({meta['resourceVersion']}). The object might have been "
            "modified"
        )
        raise conflict(_by_kind(rt), meta["name"], why)


def leaves_with(obj: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether a change removes the object: it is being deleted and nothing holds it any more."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers"):
        return False
    if obj.get("kind") == "Namespace" and (obj.get("spec") or {}).get("finalizers"):
        return False
    return not old["metadata"].get("deletionGracePeriodSeconds")


def _finalizers(meta: Mapping[str, Any], options: DeleteOptions) -> list[str]:
    """The finalizers of the object once the propagation policy has been written into them."""
    current: list[str] = list(meta.get("finalizers") or ())
    kept = [item for item in current if item not in (ORPHAN, FOREGROUND)]
    if options.propagation == "Orphan" or (options.propagation is None and ORPHAN in current):
        return [*kept, ORPHAN]
    if options.propagation == "Foreground" or (
        options.propagation is None and FOREGROUND in current
    ):
        return [*kept, FOREGROUND]
    return kept


def _with_finalizers(meta: Mapping[str, Any], finalizers: list[str]) -> dict[str, Any]:
    changed = {key: value for key, value in meta.items() if key != "finalizers"}
    if finalizers:
        changed["finalizers"] = finalizers
    return changed


def _marked(meta: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Metadata with a deletion time; the generation rises when it is set first."""
    changed = dict(meta)
    if "deletionTimestamp" not in changed:
        changed["deletionTimestamp"] = rfc3339(now)
        if "generation" in changed:
            changed["generation"] += 1
    changed["deletionGracePeriodSeconds"] = 0
    return changed


def _namespace_terminating(
    current: Mapping[str, Any], finalizers: list[str], now: float
) -> dict[str, Any]:
    meta = _with_finalizers(current["metadata"], finalizers)
    meta.setdefault("deletionTimestamp", rfc3339(now))
    status = {**(current.get("status") or {}), "phase": "Terminating"}
    return {**current, "metadata": meta, "status": status}


def _decide_gracefully(pod: Mapping[str, Any], options: DeleteOptions, now: float) -> Deletion:
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        return _shorten_grace(pod, options)
    grace_s = _pod_grace_s(pod, options)
    finalizers = _finalizers(meta, options)
    marked = _with_finalizers(meta, finalizers)
    marked["deletionTimestamp"] = rfc3339(now + grace_s)
    marked["deletionGracePeriodSeconds"] = grace_s
    if "generation" in marked:
        marked["generation"] += 1
    return Deletion({**pod, "metadata": marked}, gone=not finalizers and grace_s == 0)


def _shorten_grace(pod: Mapping[str, Any], options: DeleteOptions) -> Deletion:
    meta = pod["metadata"]
    before_s = meta.get("deletionGracePeriodSeconds", 0)
    grace_s = options.grace_period_s
    if grace_s is None or grace_s >= before_s:
        return Deletion(None, gone=False)
    grace_s = max(grace_s, 0)
    finalizers = _finalizers(meta, options)
    marked = _with_finalizers(meta, finalizers)
    began = unix_seconds(meta["deletionTimestamp"]) - before_s
    marked["deletionTimestamp"] = rfc3339(began + grace_s)
    marked["deletionGracePeriodSeconds"] = grace_s
    return Deletion({**pod, "metadata": marked}, gone=not finalizers and grace_s == 0)


def _pod_grace_s(pod: Mapping[str, Any], options: DeleteOptions) -> int:
    """A pod that no kubelet holds, or that has ended, needs no grace."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Failed", "Succeeded"}:
        return 0
    if options.grace_period_s is not None:
        return max(options.grace_period_s, 0) if options.grace_period_s >= 0 else 1
    grace = spec.get("terminationGracePeriodSeconds", POD_GRACE_S)
    return int(grace) if grace is not None else POD_GRACE_S
