"""Events that controllers write beside what they do, for people.

The same message about the same object is one Event that counts. An Event that cannot be written
is logged and forgotten: it must not stop the work that it tells about.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable

from sandbox.controllers.informers import Obj
from sandbox.controllers.settings import Settings
from sandbox.controllers.writes import Writes
from sandbox.store.errors import ApiError
from sandbox.store.resources import EVENT
from sandbox.store.timestamps import rfc3339

REMEMBERED_MAX = 4096
NAME_CHARS_MAX = 230

logger = logging.getLogger(__name__)


class Recorder:
    """Writes Events in the name of one component."""

    def __init__(
        self, writes: Writes, component: str, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._component = component
        self._now = now
        self._repeat_min_s = settings.event_repeat_min_s
        self._emitted_s: OrderedDict[tuple[str, str], float] = OrderedDict()

    def normal(self, obj: Obj, reason: str, message: str) -> None:
        self._say(obj, "Normal", reason, message)

    def warning(self, obj: Obj, reason: str, message: str) -> None:
        self._say(obj, "Warning", reason, message)

    def _say(self, obj: Obj, kind: str, reason: str, message: str) -> None:
        meta = obj["metadata"]
        namespace = meta.get("namespace") or "default"
        digest = hashlib.sha256(f"{meta['uid']}/{reason}/{message}".encode()).hexdigest()[:16]
        name = f"{meta['name'][:NAME_CHARS_MAX]}.{digest}"
        emitted_s = self._emitted_s.get((namespace, name))
        if emitted_s is not None and self._now() - emitted_s < self._repeat_min_s:
            return
        self._remember(namespace, name)
        try:
            before = self._writes.get(EVENT, (namespace, name))
            if before is None:
                self._writes.create(EVENT, namespace, self._body(obj, name, kind, reason, message))
            else:
                again = {"count": before.get("count", 1) + 1, "lastTimestamp": self._time()}
                self._writes.merge(EVENT, before, again)
        except ApiError as error:
            logger.info("no Event %s about %s/%s: %s", reason, namespace, meta["name"], error)

    def _body(self, obj: Obj, name: str, kind: str, reason: str, message: str) -> dict[str, object]:
        meta = obj["metadata"]
        about = {
            key: meta[key] for key in ("name", "uid", "namespace", "resourceVersion") if key in meta
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name},
            "involvedObject": {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **about},
            "type": kind,
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": self._time(),
            "lastTimestamp": self._time(),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
        }

    def _time(self) -> str:
        return rfc3339(self._now())

    def _remember(self, namespace: str, name: str) -> None:
        self._emitted_s[namespace, name] = self._now()
        self._emitted_s.move_to_end((namespace, name))
        if len(self._emitted_s) > REMEMBERED_MAX:
            self._emitted_s.popitem(last=False)
