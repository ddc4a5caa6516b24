"""What of an accepted Job spec is not acted upon.

The schema accepts every field that the original knows. fusion-backend names those of
`ignored_fields` in an Event and a condition. `docs/fields.md` is generated from the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

Path = tuple[str, ...]
EACH: Final = "*"
"""In a path: every element of a list."""


class IgnoredField(NamedTuple):
    """A field that is given and not acted upon."""

    path: str
    why: str


_OPERATORS_OWN: Final = "it is written by the operator; see the status of the object"
_NO_URL: Final = "it matters only for a bundle that is fetched from an URL"
_TEMPLATE: Final = "processingElement"

# path, why it is ignored, the value that the schema fills in and that says nothing
IGNORED: Final[tuple[tuple[Path, str, Any], ...]] = (
    (("id",), _OPERATORS_OWN, None),
    (("generationId",), _OPERATORS_OWN, None),
    (("status",), _OPERATORS_OWN, None),
    (("statistics",), _OPERATORS_OWN, None),
    (("parallelRegionWidths",), _OPERATORS_OWN, None),
    (("parallelRegions", EACH, "index"), "a region is named by its alias", None),
    ((_TEMPLATE, "id"), _OPERATORS_OWN, None),
    ((_TEMPLATE, "contentId"), _OPERATORS_OWN, None),
    ((_TEMPLATE, "launchCount"), _OPERATORS_OWN, None),
    ((_TEMPLATE, "connectivity"), _OPERATORS_OWN, None),
    ((_TEMPLATE, "placement"), _OPERATORS_OWN, None),
    ((_TEMPLATE, "operators"), _OPERATORS_OWN, None),
    ((_TEMPLATE, "regions"), _OPERATORS_OWN, None),
)

OPERATORS_OWN: Final = frozenset(path[1] for path, _, _ in IGNORED if path[0] == _TEMPLATE)
"""Options of ProcessingElements that a plan says; those of a Job's template are ignored."""

_URLS: Final = ("http", "github", "url")
# field of a bundle, the fields one of which gives it a meaning, the value without a meaning
WITHOUT_URL: Final[tuple[tuple[str, tuple[str, ...], Any], ...]] = (
    ("pullPolicy", _URLS, "IfNotPresent"),
    ("secret", ("url",), None),
)


def ignored_fields(spec: Mapping[str, Any]) -> tuple[IgnoredField, ...]:
    """The fields of a Job's spec (as JSON) that are given and not acted upon, with the reason."""
    return tuple(
        IgnoredField(place, why)
        for path, why, inert in IGNORED
        for place, value in _places(spec, path, "spec")
        if value is not None and value != inert
    ) + tuple(_without_url(spec.get("bundle") or {}))


def _without_url(bundle: Mapping[str, Any]) -> Iterator[IgnoredField]:
    for field, urls, inert in WITHOUT_URL:
        given = bundle.get(field)
        if given is not None and given != inert and not any(bundle.get(url) for url in urls):
            yield IgnoredField(f"spec.bundle.{field}", _NO_URL)


def _places(value: Any, path: Path, place: str) -> Iterator[tuple[str, Any]]:
    """Where the path leads in a spec: (place as a person writes it, value)."""
    if not path:
        yield place, value
        return
    head, rest = path[0], path[1:]
    if head == EACH:
        elements = value if isinstance(value, Sequence) else ()
        for index, element in enumerate(elements):
            yield from _places(element, rest, f"{place}[{index}]")
    elif isinstance(value, Mapping) and head in value:
        yield from _places(value[head], rest, f"{place}.{head}")
