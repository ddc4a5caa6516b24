"""Reads what fetching a bundle needs from the job's namespace: a token, a root certificate.

Both are read when a bundle is fetched and kept nowhere; a token leaves this file in one header. An
object that is not there may come later: people create a Job and its Secret in any order. One that
is there and does not hold what it should is refused.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.chassis.kube.port import Kube, Resource
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import ChassisError, NotFound
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable
from services.fusion_backend.adapters.certificates import SECRET
from services.fusion_backend.core.spec.inputs import BundleSource

Json = dict[str, Any]
TOKEN_KEY: Final = "token"  # noqa: S105 - the name of a key
CA_KEY: Final = "ca.crt"
_ACCOUNT_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105 - a type


class BundleKeys:
    """Reads Secrets and ConfigMaps that bundles name."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def token(self, namespace: str, source: BundleSource) -> str:
        """The token of the Secret that a source names; empty where it names none.

        Raises PlanRefused for a Secret without one, BundleUnreadable where it may come later.
        """
        if not source.secret:
            return ""
        field = source.secret_field
        secret = await self._read(SECRET, namespace, source.secret, field)
        if secret.get("type") == _ACCOUNT_TOKEN:
            raise _refused(field, source.secret, "is the token of a service account of the cluster")
        encoded = (secret.get("data") or {}).get(TOKEN_KEY)
        try:
            token = base64.b64decode(encoded or "", validate=True).decode("ascii").strip()
        except (binascii.Error, UnicodeDecodeError):
            token = ""
        if not token or not token.isprintable() or " " in token:
            raise _refused(field, source.secret, f"has no token under the key {TOKEN_KEY}")
        return token

    async def certificates(self, namespace: str, source: BundleSource) -> str:
        """The roots, in PEM, of the ConfigMap that a source names; empty where it names none.

        Raises PlanRefused for a key that it lacks, BundleUnreadable where it may come later.
        """
        name = source.ca_config_map
        if not name:
            return ""
        field = source.ca_field
        config_map = await self._read(
            resource_of("ConfigMap"), namespace, name, f"{field}.configMapName"
        )
        data = config_map.get("data") or {}
        key = source.ca_key or (next(iter(data)) if len(data) == 1 else CA_KEY)
        if key not in data:
            there = ", ".join(sorted(data)[:8]) or "none"
            raise _refused(f"{field}.subPath", key, f"is no key of ConfigMap {name} ({there})")
        if not str(data[key]).strip():
            what = f"is a key of ConfigMap {name} with nothing under it"
            raise _refused(f"{field}.subPath", key, what)
        return str(data[key])

    async def _read(self, resource: Resource, namespace: str, name: str, field: str) -> Json:
        what = f"{field}: {resource.kind} {name} of namespace {namespace}"
        try:
            return await self._kube.get(resource, namespace, name)
        except NotFound as problem:
            raise BundleUnreadable(what, "it does not exist (yet)") from problem
        except ChassisError as problem:
            raise BundleUnreadable(what, "it cannot be read for now") from problem


def _refused(field: str, value: str, what: str) -> PlanRefused:
    return PlanRefused(
        Reason.SPEC_INVALID, field=field, value=value, message=f"{field}: {value} {what}"
    )
