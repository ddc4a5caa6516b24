"""Where a planted bug goes: a definition by its name, and tokens in it, however they are laid out.

A definition is named as Python names it (`Writer.patch`, a constant `TRANSITIONS`), or is the whole
file where the name is empty. White space, line breaks, comments and a trailing comma do not count,
so a planted bug stays in its place when code around it changes or is formatted in another way.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)
_CLOSING = frozenset(")]}")


class NotThere(ValueError):
    """A definition or a pattern that a file does not hold exactly once; the message says which."""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    begin: int
    end: int


def replaced(text: str, definition: str, pattern: str, new: str) -> str:
    """The text of a module with the pattern in a definition replaced.

    `new` is written as if it began in the first column. Raises NotThere.
    """
    begin, end = _span_of(text, definition)
    wanted = [token.text for token in _tokens(textwrap.dedent(pattern))]
    there = _tokens(text[begin:end])
    found = [
        number
        for number in range(len(there) - len(wanted) + 1)
        if [token.text for token in there[number : number + len(wanted)]] == wanted
    ]
    if len(found) != 1 or not wanted:
        raise NotThere(f"{definition or 'the file'} holds {len(found)} times: {pattern!r}")
    first = begin + there[found[0]].begin
    last = begin + there[found[0] + len(wanted) - 1].end
    line = text[text.rfind("\n", 0, first) + 1 : first]
    indent = line[: len(line) - len(line.lstrip())]
    lines = textwrap.dedent(new).strip("\n").split("\n")
    moved = [lines[0], *(indent + each if each else each for each in lines[1:])]
    return text[:first] + "\n".join(moved) + text[last:]


def _span_of(text: str, definition: str) -> tuple[int, int]:
    """Where a definition begins and ends, in characters."""
    if not definition:
        return 0, len(text)
    found = definitions_of(parsed(text), definition)
    if len(found) != 1:
        raise NotThere(f"{len(found)} definitions have the name {definition}")
    (node,) = found
    lines = _lines(text)
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    assert node.end_lineno is not None, "parsed from text"
    return sum(map(len, lines[: first - 1])), sum(map(len, lines[: node.end_lineno]))


@lru_cache(maxsize=1)
def parsed(text: str) -> ast.Module:
    """The tree of a module, kept until the next one: many mutants can be of one module."""
    return ast.parse(text)


def definitions_of(tree: ast.Module, name: str) -> list[ast.stmt]:
    """The definitions that have this name."""
    return [node for each, node in _definitions(tree.body, "") if each == name]


def _definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        match node:
            case ast.ClassDef():
                yield prefix + node.name, node
                yield from _definitions(node.body, f"{prefix}{node.name}.")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + node.name, node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name, node


def _lines(text: str) -> list[str]:
    """Lines as Python counts them: `str.splitlines` ends one at a form feed, too."""
    return io.StringIO(text).readlines()


def _tokens(text: str) -> list[_Token]:
    """The tokens that mean something, also of a part of a statement."""
    starts = [0]
    for line in _lines(text):
        starts.append(starts[-1] + len(line))
    found: list[_Token] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _LAYOUT:
                continue
            (row, column), (last_row, last_column) = token.start, token.end
            begin, end = starts[row - 1] + column, starts[last_row - 1] + last_column
            if token.string in _CLOSING and found and found[-1].text == ",":
                found.pop()
            found.append(_Token(token.string, begin, end))
    except (tokenize.TokenError, IndentationError):
        pass  # a part of a statement ends before its brackets do
    return found
