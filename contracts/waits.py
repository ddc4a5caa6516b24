"""What objects wait for: the names of waits, and what the message of a PE says of its own.

The row of each service names the waits that it ends, and `millrace why` reads both.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

WAITS_FOR_PLACEMENT: Final = "waits for its placement"
WAITS_FOR_NEW_PLACEMENT: Final = "waits for a new placement"
_CLAIMED: Final = "is claimed for the pool"
_GONE: Final = re.compile(r"node (\S+) does not exist")


class Wait(StrEnum):
    """What an object of a job may wait for, each for one service."""

    SPEC = "the newest spec of a Job is taken up"
    PROGRESS = "a Job that is submitted or resized makes progress"
    WIDTH = "the newest width of a region is taken up"
    DELETION = "the deletion of a Job completes"
    ANSWER = "a Placement has an answer"
    POOL = "the newest spec of a HostPool is taken up"
    PLACE = "a PE has a node"
    CLAIM = "the node of a PE is claimed for its pool"
    RELEASE = "the nodes of a HostPool are released"
    LAUNCH = "a PE has a pod"
    END = "the end of a pod is recorded"
    REPORT = "what a PE reports is recorded"


def waits_for_another_node(node: str) -> str:
    """The predicate of a PE whose node does not exist."""
    return f"{WAITS_FOR_NEW_PLACEMENT}: its node {node} does not exist"


def waits_for_claim(node: str, pool: str) -> str:
    """The predicate of a PE whose node does not have the marks of its pool yet."""
    return f"waits until node {node} {_CLAIMED} {pool}"


def is_waiting_for_placement(message: str) -> bool:
    """Whether the message of a PE says that it has no node."""
    return WAITS_FOR_PLACEMENT in message or WAITS_FOR_NEW_PLACEMENT in message


def is_waiting_for_claim(message: str) -> bool:
    """Whether the message of a PE says that its node is not claimed."""
    return _CLAIMED in message


def lost_node_in(message: str) -> str:
    """The node that a message says does not exist; empty if it names none."""
    found = _GONE.search(message)
    return found.group(1) if found else ""
