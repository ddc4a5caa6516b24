"""Messages of the planner for the command line: options instead of fields of a Job.

The planner names fields of the Job's spec. A person who typed `--width` looks for `--width`.
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
            yield f"{option} {key} is given {times} times: the last value, {last[key]}, counts"
