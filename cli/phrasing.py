"""Messages of the planner and of Kubernetes, as people of the command line read them.

The planner names fields of the Job's spec. A person who typed `--width` looks for `--width`.
Kubernetes prints values of Go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

_RESIZE = (re.compile(r"\bParallelRegion (\S+?)(?: spec\.width)?(?=[ :;,)]|$)"), r"--resize \1")
_OPTIONS = (
    (
        re.compile(r"spec\.parallelRegions\[(.+?)\](?:\.(?:alias|width))?(?=[ :;,)]|$)"),
        r"--width \1",
    ),
    _RESIZE,
    (re.compile(r"spec\.submissionTimeValues\."), "--param "),
    (re.compile(r"spec\.fusion\.manual\b"), "--fusion manual"),
)


def with_option_names(sentence: str) -> str:
    """The sentence with options of the command in place of fields of the Job."""
    for field, option in _OPTIONS:
        sentence = field.sub(option, sentence)
    return sentence


def with_resize_named(sentence: str) -> str:
    """The sentence about a Job whose spec a person wrote: only its resizes are options."""
    field, option = _RESIZE
    return field.sub(option, sentence)


def given_twice(option: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A warning for each key that is given more than once; the last value is used."""
    values = list(pairs)
    last = dict(values)
    for key, times in Counter(key for key, _ in values).items():
        if times > 1:
            yield f"{option} {key} is given {times} times: the last value, {last[key]!r}, counts"


_NOT_CHECKED = re.compile(
    r'(?:, )?<nil>: Invalid value: "?null"?: some validation rules were not checked because the '
    r"object was invalid; correct the existing errors to complete validation"
)
_NO_VALUE = re.compile(r'Invalid value: "?(?:object|array|null|<nil>)"?: ')
"""A rule about more than one field: in place of a value the API server prints its type."""


def readable(message: str) -> str:
    """A message of the API server without the parts that only mean something in Go.

    The field comes first in such a message, and stays. `<nil>` is the path of the object itself.
    """
    message = _NO_VALUE.sub("", _NOT_CHECKED.sub("", message))
    return message.replace("<nil>: ", "").replace("<nil>", "no value")
