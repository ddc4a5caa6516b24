"""The word count for Bytewax, in a process of its own: it is no dependency of anything else here.

Prints, as JSON, seconds, seconds of CPU and the counts. `running`: each word gives its count so
far, as `flows.words` does; `final`: the counts are given once, at the end.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Final

BATCH: Final = 1_000
"""Lines that the source reads at once, which is the default."""


def _flow(path: str, kind: str, found: list[Any]) -> Any:
    from bytewax import operators as op
    from bytewax.connectors.files import FileSource
    from bytewax.dataflow import Dataflow
    from bytewax.testing import TestingSink

    flow = Dataflow("words")
    lines = op.input("lines", flow, FileSource(path, batch_size=BATCH))
    words = op.flat_map("split", lines, str.split)
    if kind == "final":
        counts: Any = op.count_final("count", words, lambda word: word)
    else:

        def counted(total: int | None, _: str) -> tuple[int, int]:
            new = (total or 0) + 1
            return new, new

        keyed = op.key_on("key", words, lambda word: word)
        counts = op.stateful_map("count", keyed, counted)
    op.output("out", counts, TestingSink(found))
    return flow


def main(path: str, kind: str) -> None:
    """Run it on one worker, and print what it took."""
    from bytewax.testing import run_main

    found: list[Any] = []
    flow = _flow(path, kind, found)
    begun, begun_cpu = time.monotonic(), time.process_time()
    run_main(flow)
    seconds, cpu = time.monotonic() - begun, time.process_time() - begun_cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "words": dict(found)}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
