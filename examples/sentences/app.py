"""Counts the words of numbered sentences, which come at a rate; the counting is a parallel region.

What it counts is known before (`truth`), so that a resize in between can be checked.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from millrace import App

TEXT = (
    "streams flow over wheels and wheels turn mills while rivers rise and old mills grind wheat"
    " into flour beside green fields through winter under a wide sky"
)
WORDS = TEXT.split()
STEPS = (1, 2, 3, 5)
"""Word number n·step of each step is in sentence n, so each has four."""
AHEAD_S = 0.02
"""So far the source may be ahead of its rate before it waits."""
LATE_S = 0.2
"""So much the source makes up for when it was kept from running."""

app = App("examples::Sentences")
count = app.param("count", default=2_000)
rate = app.param("rate", default=1_000)
width = app.param("width", default=3)


@dataclass
class Sentence:
    number: int
    text: str


@dataclass
class Word:
    word: str


@dataclass
class Count:
    word: str
    count: int


@dataclass
class Position:
    number: int = 0


@dataclass
class Total:
    count: int = 0


@dataclass
class Newest:
    counts: dict[str, int] = field(default_factory=dict)


def sentence(number: int) -> Sentence:
    """The sentence of a number."""
    return Sentence(number, " ".join(WORDS[number * step % len(WORDS)] for step in STEPS))


def truth(sentences: int) -> dict[str, int]:
    """How often each word is in the first so many sentences."""
    texts = (sentence(number).text for number in range(sentences))
    return dict(Counter(word for text in texts for word in text.split()))


async def sentences(position: Position, count: int, rate: int) -> AsyncIterator[Sentence]:
    """`count` sentences, `rate` a second; it goes on at its position, and makes up for no pause."""
    loop = asyncio.get_running_loop()
    due_s = loop.time()
    while position.number < count:
        due_s = max(due_s + 1 / rate, loop.time() - LATE_S)
        if due_s - loop.time() > AHEAD_S:
            await asyncio.sleep(due_s - loop.time())
        number = position.number
        position.number += 1
        yield sentence(number)


def words(of: Sentence) -> Iterator[Word]:
    """The words of a sentence."""
    yield from map(Word, of.text.split())


def counted(word: Word, total: Total) -> Count:
    """How often the word has come."""
    total.count += 1
    return Count(word.word, total.count)


def report(new: Count, newest: Newest, count: int) -> None:
    """Keep the newest count of each word; print them when every word has come."""
    newest.counts[new.word] = new.count
    if sum(newest.counts.values()) == count * len(STEPS):
        for word, total in sorted(newest.counts.items()):
            print(f"{total:>8}  {word}", flush=True)


lines = app.source(
    sentences, state=Position, fn_kwargs={"count": count, "rate": rate}, name="Sentences"
)
split = lines.flat_map(words, name="Words").parallel(width, key="word")
counts = split.key_by("word").map(counted, state=Total, name="Counted").end_parallel()
counts.sink(report, state=Newest, fn_kwargs={"count": count}, name="Report")

if __name__ == "__main__":
    app.run()
