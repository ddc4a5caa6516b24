"""An answer as lines of text, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from contracts.moments import moment_of
from contracts.showing import one_line
from history.why.answering import Answer
from history.why.chains import Link

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def lines_of(answer: Answer, now_s: float) -> list[str]:
    """Cause, remedy, chain; then what is not the cause, and on what the answer does not rest."""
    return [
        one_line(f"cause:  {answer.cause}{since_text(answer.since_s, now_s)}"),
        one_line(f"remedy: {answer.remedy}"),
        *_tree(answer.chain, now_s),
        *(one_line(f"not the cause: {each}") for each in answer.also),
        *map(one_line, answer.limits),
    ]


def since_text(since_s: float | None, now_s: float) -> str:
    """` (since 3m, 2026-11-20T09:30:00Z)`; empty where it is not known."""
    if since_s is None:
        return ""
    return f" (since {age_of(since_s, now_s)}, {moment_of(since_s)})"


def age_of(since_s: float, now_s: float) -> str:
    """The time that passed in its largest unit: 45s, 3m, 2h, 4d."""
    passed_s = max(0, int(now_s - since_s))
    size, unit = next((each for each in _UNITS if passed_s >= 2 * each[0]), _UNITS[-1])
    return f"{passed_s // size}{unit}"


def _tree(links: Sequence[Link], now_s: float, indent: str = "") -> Iterator[str]:
    for place, link in enumerate(links):
        is_last = place == len(links) - 1
        branch = ("└─ " if is_last else "├─ ") if indent or len(links) > 1 else "└─ "
        where = f" [{link.place}]" if link.place else ""
        yield one_line(f"{indent}{branch}{link.text}{since_text(link.since_s, now_s)}{where}")
        yield from _tree(link.below, now_s, indent + ("   " if is_last else "│  "))


def document_of(answer: Answer) -> dict[str, Any]:
    """The stable structure of `-o json`; what is not known is null."""
    return {
        "object": answer.title,
        "trouble": answer.trouble,
        "cause": answer.cause,
        "remedy": answer.remedy,
        "since": _moment(answer.since_s),
        "chain": [*map(_link, answer.chain)],
        "notTheCause": list(answer.also),
        "notRead": list(answer.limits),
    }


def _link(link: Link) -> dict[str, Any]:
    return {
        "kind": link.kind,
        "text": link.text,
        "since": _moment(link.since_s),
        "place": link.place or None,
        "below": [*map(_link, link.below)],
    }


def _moment(since_s: float | None) -> str | None:
    return None if since_s is None else moment_of(since_s)
