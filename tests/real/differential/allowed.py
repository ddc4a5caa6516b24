"""Where the sandbox may differ from kube-apiserver, and why. docs/limits.md says the same in prose.

An entry names an exchange, and the places of its answers that may differ: the number of the step,
then the path in what it answered (`0.status`, `2.headers.warning`, `1.body.details.causes.0`).
A place covers what is inside it. A test fails when an exchange differs anywhere else, and when an
allowed place agrees: then it has to go.
"""

from __future__ import annotations

from collections.abc import Mapping

WARNINGS = "a patch of the kind, or of the whole, is refused before its fields are looked at"
RULES = "a rule takes 1.0 in a field of integers for 1, where kube-apiserver calls it a float64"
CONVERTED = "a strategic merge patch of another type is refused in the words of Go's converter"
UNCHECKED = "that rules were not checked is not said where only the metadata is wrong"
_Places = Mapping[str, tuple[str, ...]]
_PLACES: Mapping[str, _Places] = {
    WARNINGS: {
        "JSON patch 22": ("0.headers.warning",),
        "merge patch of a widget 16": ("0.headers.warning",),
    },
    UNCHECKED: {
        "annotations of all sizes": ("3.body.details.causes.1", "3.body.message"),
    },
    CONVERTED: {
        "an entry of managed fields: text": ("4.body.details.causes", "4.body.message"),
        "an entry of managed fields: an object": ("4.body.details.causes", "4.body.message"),
    },
    RULES: {
        "a rule on a whole number with a point": ("0",),
    },
}
ALLOWED: _Places = {
    name: places for exchanges in _PLACES.values() for name, places in exchanges.items()
}
