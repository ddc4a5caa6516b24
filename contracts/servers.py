"""How servers are named, such as the brokers of Apache Kafka: HOST:PORT, with commas."""

from __future__ import annotations

import re
from typing import Final

SERVER: Final = r"(\[[0-9A-Fa-f:.]+\]|[^\s,/:\[\]]+):[0-9]{1,5}"
"""One server; an IPv6 address is in brackets: `[::1]:9092`. Also a pattern of JSON Schema."""
SERVERS: Final = rf"{SERVER}(,{SERVER})*"
PORT_MAX: Final = 65_535


def are_servers(text: str) -> bool:
    """Whether a text names one or several servers, with ports from 1 to 65535."""
    if not re.fullmatch(SERVERS, text):
        return False
    return all(0 < int(each.rpartition(":")[2]) <= PORT_MAX for each in text.split(","))
