"""Requests counted by verb, resource, code and client, as Prometheus text.

The client is the first word of the User-Agent, so that the writes of each service can be kept
apart; the names of the metric and its labels are those of kube-apiserver, `client` is ours.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

CLIENTS_MAX = 200  # different clients; later ones are counted together, as "other"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RequestLabels(NamedTuple):
    """The labels of `apiserver_request_total`; `verb` as in GET LIST WATCH POST PUT PATCH …"""

    verb: str
    resource: str
    subresource: str
    code: int
    client: str


class RequestMetrics:
    """How many requests were answered."""

    def __init__(self) -> None:
        self.totals: Counter[RequestLabels] = Counter()
        self._clients: dict[str, str] = {}

    def count(self, verb: str, resource: str, subresource: str, code: int, user_agent: str) -> None:
        client = self._clients.get(user_agent) or self._client_of(user_agent)
        self.totals[RequestLabels(verb, resource, subresource, code, client)] += 1

    def text(self) -> bytes:
        """The metrics page."""
        lines = [
            "# HELP apiserver_request_total Requests answered.",
            "# TYPE apiserver_request_total counter",
        ]
        for labels, total in sorted(self.totals.items()):
            pairs = ",".join(
                f'{name}="{value}"' for name, value in zip(labels._fields, labels, strict=True)
            )
            lines.append(f"apiserver_request_total{{{pairs}}} {total}")
        return ("\n".join(lines) + "\n").encode()

    def _client_of(self, user_agent: str) -> str:
        if len(self._clients) >= CLIENTS_MAX:
            return "other"
        words = user_agent.split()
        agent = words[0] if words else "unknown"
        client = "".join(char for char in agent if char.isprintable() and char not in '"\\')
        self._clients[user_agent] = client
        return client
