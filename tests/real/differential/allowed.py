"""Where the sandbox may differ from kube-apiserver, and why. docs/limits.md says the same in prose.

An entry names an exchange, and the places of its answers that may differ: the number of the step,
then the path in its answer (`0.status`, `1.body.details.causes.0`). A place covers what is inside
it. A test fails when an exchange differs anywhere else, and when an
allowed place agrees: then it has to go.
"""

from __future__ import annotations

from collections.abc import Mapping

RULES = "a rule takes 1.0 in a field of integers for 1, where kube-apiserver calls it a float64"
UNCHECKED = "that rules were not checked is not said where only the metadata is wrong"
_Places = Mapping[str, tuple[str, ...]]
_PLACES: Mapping[str, _Places] = {
    UNCHECKED: {
        "annotations of all sizes": ("3.body.details.causes",),
    },
    RULES: {
        "a rule on a whole number with a point": ("0",),
    },
}
ALLOWED: _Places = {
    name: places for exchanges in _PLACES.values() for name, places in exchanges.items()
}
