"""`python -m tests.real.differential [WORD]` prints every difference, allowed ones too.

For whoever repairs the sandbox. With a word, only exchanges whose names hold it are played. A `!`
stands before what the list of allowed differences does not expect.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from cli.showing import answer, answer_lines
from tests.real.differential.allowed import ALLOWED
from tests.real.differential.catalogue import EXCHANGES
from tests.real.differential.comparing import differences, place_of, surprises
from tests.real.differential.furnishing import arena
from tests.real.differential.playing import Outcomes
from tests.real.differential.steps import Exchange

AT_ONCE_MAX = 8


def report(exchange: Exchange, sandbox: Outcomes, real: Outcomes) -> list[str]:
    """The differences of an exchange, and an entry for the list of allowed ones."""
    found = differences(sandbox, real)
    wrong = surprises(found, ALLOWED.get(exchange.name, ()))
    lines = [f"! {line}" if line in wrong else line for line in found]
    lines += [f"! {line}" for line in wrong if line not in found]
    entry = ", ".join(f'"{place_of(line)}"' for line in found)
    return [f"== {exchange.name}", *lines, f"[{entry}]"] if lines else []


async def main(word: str) -> None:
    """Play what holds `word` and print how the sides differ."""
    chosen = [each for each in EXCHANGES if word in each.name]
    gate = asyncio.Semaphore(AT_ONCE_MAX)
    async with arena(Path(os.environ["MILLRACE_KUBECONFIG"])) as both:

        async def shown(exchange: Exchange) -> int:
            async with gate:
                lines = report(exchange, *await both.play(exchange))
            if lines:
                answer_lines("\n  ".join(lines))
            return bool(lines)

        differing = sum(await asyncio.gather(*(shown(each) for each in chosen)))
    answer(f"{len(chosen)} exchanges, {differing} differ")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
