"""`python -m tests.real.differential [WORD]` prints every difference, allowed ones too.

For whoever mends the sandbox. With a word, only exchanges whose names hold it are played.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from tests.real.differential.catalogue import EXCHANGES
from tests.real.differential.comparing import differences
from tests.real.differential.furnishing import arena
from tests.real.differential.steps import Exchange

AT_ONCE_MAX = 8


def shortened(found: list[str]) -> list[str]:
    """Where the status differs, the status and the message of each such step say enough."""
    refused = {line.partition(".")[0] for line in found if re.match(r"\d+\.status:", line)}
    return [
        line
        for line in found
        if line.partition(".")[0] not in refused
        or re.match(r"\d+\.(status|body\.message|body\.details):", line)
    ]


async def main(word: str) -> None:
    """Play what holds `word` and print how the sides differ."""
    chosen = [each for each in EXCHANGES if word in each.name]
    gate = asyncio.Semaphore(AT_ONCE_MAX)
    async with arena(Path(os.environ["MILLRACE_KUBECONFIG"])) as both:

        async def shown(exchange: Exchange) -> int:
            async with gate:
                sandbox, real = await both.play(exchange)
            found = differences(sandbox, real)
            if found:
                print(f"== {exchange.name}", *shortened(found), sep="\n  ")  # noqa: T201
            return bool(found)

        differing = sum(await asyncio.gather(*(shown(each) for each in chosen)))
    print(f"{len(chosen)} exchanges, {differing} differ")  # noqa: T201


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
