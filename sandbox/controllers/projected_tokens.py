"""Tokens of service accounts in the volumes of pods: issued, kept, and replaced before they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sandbox.containers.volumes import Token, Unmountable
from sandbox.controllers.informers import Obj
from sandbox.store.errors import ApiError

Issue = Callable[[str, str, Sequence[str], int, tuple[str, str]], str]
"""(namespace, account, audiences, seconds, (name, uid) of the pod) → token; raises ApiError."""
SECONDS: Final = 3600
RENEW_AFTER: Final = 0.8
"""The part of its life after which a token is replaced, as the kubelet does."""
RENEW_AFTER_S_MAX: Final = 86_400.0


class ProjectedTokens:
    """The tokens of all pods by their uid."""

    def __init__(self, issue: Issue, now: Callable[[], float]) -> None:
        self._issue = issue
        self._now = now
        self._tokens: dict[str, dict[tuple[str, str], tuple[str, float]]] = {}

    def of(self, pod: Obj) -> Token:
        """Gives the token of a volume of a pod; a new one when it is time."""
        kept = self._tokens.setdefault(pod["metadata"]["uid"], {})

        def token(volume: str, source: Mapping[str, Any]) -> str:
            key = (volume, str(source.get("path", "")))
            if key not in kept or kept[key][1] <= self._now():
                kept[key] = self._new(pod, source)
            return kept[key][0]

        return token

    def next_look_s(self, uid: str, other_s: float | None) -> float | None:
        """When a token of a pod is due, or `other_s` if that is earlier; unix seconds."""
        times = [due_s for _, due_s in self._tokens.get(uid, {}).values()]
        return min([*times, *([] if other_s is None else [other_s])], default=None)

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._tokens.pop(uid, None)

    def _new(self, pod: Obj, source: Mapping[str, Any]) -> tuple[str, float]:
        """A token, and when the next one is due."""
        meta = pod["metadata"]
        account = str(pod["spec"].get("serviceAccountName") or "default")
        seconds = int(source.get("expirationSeconds") or SECONDS)
        audiences = [str(source["audience"])] if source.get("audience") else []
        of_pod = (meta["name"], meta["uid"])
        try:
            token = self._issue(meta["namespace"], account, audiences, seconds, of_pod)
        except ApiError as error:
            raise Unmountable(f"failed to fetch token: {error}") from None
        return token, self._now() + min(seconds * RENEW_AFTER, RENEW_AFTER_S_MAX)
