"""Which requests are refused because of who sends them: those of pages in a browser.

The sandbox has no accounts and no roles. But where pods are processes, a request can run a program
with the rights of its user, and any page that is open in a browser could send one to loopback. A
browser names the page in the header Origin, in whatever writes and in each WebSocket; clients of
Kubernetes do not. A token would keep out other users of the machine, too, but kubectl sends none
without TLS.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.http.answers import Answer, refusal
from sandbox.store.errors import ApiError


@dataclass(frozen=True)
class Gate:
    """Lets requests pass; a closed one none of a page in a browser."""

    is_closed: bool = False

    def refused(self, origin: str) -> Answer | None:
        """The answer to a request that may not pass; `origin` is its header, empty without."""
        if not self.is_closed or not origin:
            return None
        why = "a page in a browser may not send requests to this sandbox, which runs programs"
        return refusal(ApiError(403, "Forbidden", why))
