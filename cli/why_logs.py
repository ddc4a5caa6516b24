"""The newest entries of the log about the object of `millrace why`, as far as that is quick."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cli.failing import CannotReach, Failure
from cli.history_logs import HistoryOptions, history_source
from contracts.facts import Fact
from contracts.topics import CLUSTER, TopicLayout
from history.entries import DECISION_PARTITIONS, Decided, Entry, Seen
from history.merging import Sought, history
from history.sources import Source
from history.why.case import NODE
from history.why.deciding import node_key
from history.why.gathered import LogSeen
from services.chassis.kube.kubeconfig_files import Kubeconfig

ENTRIES_MAX: Final = 20_000
"""The newest entries of a job that an answer looks at."""
LOG_S_MAX: Final = 8.0
"""How long a log may take to answer, or to be read, before an answer goes without it."""
AWAY_S_MAX: Final = 3.0
"""How long a log that was late may take to say what it has, before it is called away."""
BOUNDS_S: Final = 1.0
"""Of LOG_S_MAX, what is left to close it."""
SPANS_S: Final = (3_600.0, 86_400.0, math.inf)
"""How far back a log is read; further only while that is quick."""
QUICK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Subject(Sought):
    """The entries of a job of a namespace, and the decisions on nodes; or those of one node.

    A node has no namespace and no job, and neither have the decisions on it.
    """

    node: str = ""

    def admits(self, entry: Entry) -> bool:
        """Whether an entry is wanted."""
        if isinstance(entry, Decided) and entry.decision.key.startswith(node_key("")):
            is_in_time = self.since_s <= entry.time_s <= self.until_s
            return is_in_time and (not self.node or entry.decision.key == node_key(self.node))
        if not self.node:
            return Sought.admits(self, entry)
        fact = entry.fact if isinstance(entry, Seen) else None
        return isinstance(fact, Fact) and (fact.kind, fact.name) == (NODE, self.node)

    def concerns(self, partition: str, layout: TopicLayout) -> bool:
        """Facts about nodes have a partition of their own."""
        if not self.node:
            return Sought.concerns(self, partition, layout)
        return partition.startswith(DECISION_PARTITIONS) or partition == f"{CLUSTER.suffix}/0"


async def log_of(
    options: HistoryOptions | None, kubeconfig: Kubeconfig | Path, subject: Subject
) -> LogSeen:
    """The newest entries; else why there is no entry, or that the log does not answer."""
    if options is None:
        return LogSeen(absent="it was not looked for")
    try:
        async with asyncio.timeout(LOG_S_MAX), history_source(options, kubeconfig) as found:
            if found.source is None:
                return LogSeen(absent=found.why)
            return await _read(found.source, subject, found.now or time.time())
    except CannotReach as away:
        return LogSeen(absent=str(away), away=str(away))
    except Failure as failure:
        if options.recording or options.bus:  # somebody named it
            raise
        return LogSeen(absent=str(failure))
    except TimeoutError:
        late = f"it did not answer within {LOG_S_MAX:g} s"
        return LogSeen(
            absent=late, away="" if options.recording else await _away(options, kubeconfig)
        )


async def _read(source: Source, subject: Subject, now_s: float) -> LogSeen:
    """The newest entries: of an hour, of a day, of all, as far as that is quick."""
    loop = asyncio.get_running_loop()
    began_s, seen = loop.time(), LogSeen(absent=f"no hour of it was read in {LOG_S_MAX:g} s")
    for span_s in SPANS_S:
        entries: deque[Entry] = deque(maxlen=ENTRIES_MAX)
        sought = replace(subject, since_s=now_s - span_s)
        try:
            async with asyncio.timeout_at(began_s + LOG_S_MAX - BOUNDS_S):
                async with aclosing(history(source, sought)) as read:
                    async for entry in read:
                        entries.append(entry)
        except TimeoutError:
            return seen
        seen = LogSeen(tuple(entries), since_s=None if span_s == math.inf else now_s - span_s)
        if loop.time() - began_s > QUICK_S:
            break
    return seen


async def _away(options: HistoryOptions, kubeconfig: Kubeconfig | Path) -> str:
    """Whether the log does not even say what it has: then it is away, else it is only long."""
    try:
        async with asyncio.timeout(AWAY_S_MAX), history_source(options, kubeconfig) as found:
            if found.source is not None:
                await found.source.bounds()
            return ""
    except (TimeoutError, CannotReach):
        return options.bus or "the log of the current context"
