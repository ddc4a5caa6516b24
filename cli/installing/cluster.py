"""The requests of an installation. Each can be repeated: apply, get, delete, a review of rights."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

import orjson

from cli.cluster_requests import apply, ask, checked
from cli.failing import Failure
from cli.installing.filling import MANAGED_BY, MANAGER
from cli.installing.objects import POD, RESOURCES, Ref, ref_of
from services.chassis.kube.port import Response, Transport, path_of

Json = dict[str, Any]

LOG_LINES: Final = 5
NOT_FOUND: Final = 404
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Target:
    """The cluster, over one transport; every method raises Failure or CannotReach."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def version(self) -> str:
        """The version of Kubernetes."""
        return str((await self._json("GET", "/version"))["gitVersion"])

    async def apply(self, document: Json) -> None:
        """Make an object as it should be; unknown fields are refused, not dropped."""
        ref = ref_of(document)
        await apply(self._transport, ref.path, document, manager=MANAGER, what=str(ref))

    async def get(self, ref: Ref) -> Json | None:
        """An object, if it exists."""
        response = await self._ask("GET", ref.path)
        if response.status == NOT_FOUND:
            return None
        found: Json = orjson.loads(checked(response, f"{ref} was not read").body)
        return found

    async def has_own(self, ref: Ref) -> bool:
        """Whether an object exists that an installation made.

        Who may edit the inventory must not choose what an administrator deletes.
        """
        found = await self.get(ref)
        return found is not None and _manager_of(found) == MANAGER

    async def is_foreign(self, ref: Ref) -> bool:
        """Whether an object exists that no installation made."""
        found = await self.get(ref)
        return found is not None and _manager_of(found) != MANAGER

    async def delete(self, ref: Ref) -> bool:
        """Delete an object with what it owns; False: it does not exist."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
        response = await self._ask("DELETE", ref.path, body)
        if response.status == NOT_FOUND:
            return False
        checked(response, f"{ref} was not deleted")
        return True

    async def serves(self, path: str) -> bool:
        """Whether a collection is served."""
        return (await self._ask("GET", f"{path}?limit=1")).status == 200

    async def list_of(self, kind: str, namespace: str, selector: str) -> list[Json]:
        """Objects under a label selector. Raises Failure where the cluster has no such kind."""
        resource = POD if kind == POD.kind else RESOURCES[kind]
        path = f"{path_of(resource, namespace)}?{urlencode({'labelSelector': selector})}"
        response = await self._ask("GET", path)
        if response.status == NOT_FOUND:
            raise Failure(
                f"this cluster has no {resource.plural} ({resource.group}/{resource.version}), so "
                "nothing can be installed on it. The cluster of `millrace up` is like that: its "
                "services run beside it."
            )
        return list(orjson.loads(checked(response, path).body)["items"])

    async def last_lines(self, namespace: str, pod: str, container: str) -> list[str]:
        """The end of a container's log, that of its last run if it runs again; empty: no log."""
        path = path_of(POD, namespace, pod, "log")
        for previous in ("true", "false"):
            query = {"container": container, "tailLines": LOG_LINES, "previous": previous}
            response = await self._ask("GET", f"{path}?{urlencode(query)}")
            if response.status == 200 and response.body.strip():
                return response.body.decode(errors="replace").strip().splitlines()
        return []

    async def may(self, verb: str, ref: Ref) -> bool:
        """Whether we have a right, as the authorizer says."""
        resource = RESOURCES[ref.kind]
        attributes = {
            "group": resource.group,
            "resource": resource.plural,
            "verb": verb,
            "namespace": ref.namespace,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        return bool((await self._json("POST", _REVIEWS, body))["status"]["allowed"])

    async def _json(self, method: str, path: str, body: Json | None = None) -> Json:
        answer: Json = orjson.loads(checked(await self._ask(method, path, body), path).body)
        return answer

    async def _ask(self, method: str, path: str, body: Json | None = None) -> Response:
        return await ask(self._transport, method, path, body)


def _manager_of(found: Json) -> str:
    return str((found["metadata"].get("labels") or {}).get(MANAGED_BY, ""))
