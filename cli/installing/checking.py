"""What is checked before an installation writes anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cli.failing import Failure, Misused
from cli.installing.cluster import Target
from cli.installing.filling import MANAGED_BY, VERSION, application_version
from cli.installing.objects import KEPT_KINDS, RESOURCES, SELECTOR, Ref, ref_of

Json = dict[str, Any]


async def ask_rights(target: Target, refs: Iterable[Ref]) -> None:
    """Every kind of object once. Raises Failure with all rights that are missing."""
    one_of_each = {(ref.kind, ref.namespace): ref for ref in refs}
    lacking = [
        f"{verb} {RESOURCES[kind].plural}"
        for (kind, _), ref in sorted(one_of_each.items())
        for verb in ("create", "patch", "delete")
        if not await target.may(verb, ref)
    ]
    if lacking:
        raise Failure(
            f"nothing was changed: you may not {', '.join(dict.fromkeys(lacking))}.",
            "An administrator of the cluster (ClusterRole cluster-admin) has to do this.",
        )


async def refuse_helms(target: Target, namespace: str) -> None:
    """Raises Misused where Helm installed millrace."""
    for each in await target.list_of("Deployment", namespace, SELECTOR):
        if each["metadata"]["labels"].get(MANAGED_BY) == "Helm":
            raise Misused(
                f"millrace was installed in namespace {namespace} by Helm: `helm upgrade` changes "
                "it"
            )


async def refuse_foreign(target: Target, refs: Iterable[Ref]) -> None:
    """Raises Failure with the objects of others that have names of ours.

    What an uninstallation leaves may be there from an earlier installation, or from Helm.
    """
    looked_at = sorted(ref for ref in refs if ref.kind not in KEPT_KINDS)
    foreign = [ref for ref in looked_at if await target.is_foreign(ref)]
    if foreign:
        raise Failure(
            "nothing was changed: objects exist that this installation would make, and that "
            f"millrace did not make (they have no label {MANAGED_BY}: millrace):",
            *(f"  {ref}" for ref in foreign),
            "Delete or rename them first; what Helm made, `helm uninstall` deletes.",
        )


async def newer_definitions(target: Target, documents: Iterable[Json]) -> Mapping[Ref, str]:
    """The definitions on the cluster that are of a newer release, with its version.

    An older one would take fields away from Jobs that have them.
    """
    found: dict[Ref, str] = {}
    for document in documents:
        ref = ref_of(document)
        if ref.kind != "CustomResourceDefinition":
            continue
        present = await target.get(ref) or {"metadata": {}}
        version = str((present["metadata"].get("annotations") or {}).get(VERSION, ""))
        if _order(version) > _order(application_version()):
            found[ref] = version
    return found


def _order(version: str) -> tuple[int, ...]:
    """Versions are compared number by number; without one it is the oldest."""
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
