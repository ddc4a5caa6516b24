"""Counts the words of a text file; the counting is a parallel region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millrace import App
from millrace.adapters import files

app = App("examples::Words")
path = app.param("path", default="input.txt")
width = app.param("width", default=3)


@dataclass
class Word:
    word: str


@dataclass
class Count:
    word: str
    count: int


@dataclass
class Total:
    count: int = 0


def words(line: files.Line) -> Iterator[Word]:
    for word in line.text.lower().split():
        yield Word(word.strip(".,;:!?"))


def counted(word: Word, total: Total) -> Count:
    total.count += 1
    return Count(word.word, total.count)


lines = app.source(files.lines(path), name="Lines")
split = lines.flat_map(words, name="Words").parallel(width, key="word")
counts = split.key_by("word").map(counted, state=Total, name="Counted").end_parallel()
counts.sink(files.json_writer("counts.jsonl"), name="Report")

if __name__ == "__main__":
    app.run()
