"""Reviews of rights: who asks may do everything here, for every token is an administrator's.

A review is answered and never stored. `kubectl auth can-i` sends them.
"""

from __future__ import annotations

from typing import Any

from sandbox.http.answers import Answer, json_answer
from sandbox.http.requests import Call
from sandbox.http.routing import no_such_method
from sandbox.store.errors import invalid, invalid_value

_ATTRIBUTES = ("resourceAttributes", "nonResourceAttributes")


def review(verb: str, call: Call) -> Answer:
    """The review with its verdict. 422 where it does not say what is to be reviewed."""
    if verb != "POST" or call.target.name:
        raise no_such_method()
    sent = call.sent_object()
    spec: dict[str, Any] = (sent.get("spec") or {}) if isinstance(sent, dict) else {}
    if sum(1 for field in _ATTRIBUTES if spec.get(field) is not None) != 1:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        attributes = spec.get("resourceAttributes")
        raise invalid(call.rt, "", [invalid_value("spec.resourceAttributes", attributes, text)])
    body = {
        "kind": call.rt.kind,
        "apiVersion": call.rt.api_version,
        "metadata": {},
        "spec": spec,
        "status": {"allowed": True},
    }
    return json_answer(201, body)
