"""Lays the user's pod template over the pod of a launch.

1. A template that sets what millrace owns is refused (`contracts/resources/pod_template.py`).
2. Objects are merged field by field, at every depth; a value of millrace wins.
3. Lists whose members have a key (name, path or address) get the template's members after
   millrace's. The container `pe` is merged; any other duplicate key is refused.
4. Other lists are appended to millrace's. Of nodeSelectorTerms a node needs to match only one, so
   each of millrace's is combined with each of the template's: both must hold.
5. Defaults are filled in: no token of the API server, and the container runtime's seccomp profile.

Properties: without a template only step 5 changes anything; no value of millrace is ever lost.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from contracts import labels
from contracts.resources.pod_template import LISTS_BY_KEY, contradictions
from services.pod_state_machine.core.pod_inputs import PodImpossible

PLACE: Final = "spec.podTemplate"
NODE_TERMS: Final = "nodeSelectorTerms"

Json = dict[str, Any]


def merged(pod: Json, template: Mapping[str, Any] | None) -> Json:
    """The pod with the template laid over it. Raises PodImpossible."""
    for each in contradictions(template, PLACE):
        raise PodImpossible(each.field, each.value, each.why)
    added = copy.deepcopy(dict(template or {}))
    whole = pod | {
        part: _merged_value(pod[part], added[part], f"{PLACE}.{part}")
        for part in ("metadata", "spec")
        if added.get(part)
    }
    return whole | {"spec": _with_defaults(whole["spec"])}


def _with_defaults(spec: Json) -> Json:
    context = {"seccompProfile": {"type": "RuntimeDefault"}} | spec["securityContext"]
    return {"automountServiceAccountToken": False} | spec | {"securityContext": context}


def _merged_value(ours: Any, theirs: Any, place: str, name: str = "") -> Any:
    """The merged value of one field. Raises PodImpossible if the values contradict."""
    if theirs is None:
        return ours
    if isinstance(ours, Mapping):
        return _merged_objects(ours, _of_type(theirs, Mapping, "an object", place), place)
    if isinstance(ours, list):
        more = _of_type(theirs, list, "a list", place)
        if name == NODE_TERMS:
            return _both_hold(ours, more)
        return _merged_lists(ours, more, place, LISTS_BY_KEY.get(name))
    if theirs == ours:
        return ours
    raise PodImpossible(place, theirs, "leave it out: millrace sets it")


def _of_type(value: Any, type_: type, called: str, place: str) -> Any:
    if not isinstance(value, type_):
        raise PodImpossible(place, value, f"it must be {called}")
    return value


def _merged_objects(ours: Mapping[str, Any], theirs: Mapping[str, Any], place: str) -> Json:
    both = {
        name: _merged_value(value, theirs.get(name), f"{place}.{name}", name)
        for name, value in ours.items()
    }
    # Null means absent: it must not suppress a default of step 5.
    more = {name: value for name, value in theirs.items() if value is not None}
    return both | {name: value for name, value in more.items() if name not in ours}


def _both_hold(ours: list[Json], theirs: list[Json]) -> list[Json]:
    """The conjunction of two lists of terms, each a disjunction.

    An empty term selects no node; combined with ours it would select what ours does.
    """
    selecting = [each for each in theirs if any(each.values())]
    both = [
        {name: together for name in _PARTS if (together := [*_part(a, name), *_part(b, name)])}
        for a in ours
        for b in selecting
    ]
    return both or theirs or ours


_PARTS: Final = ("matchExpressions", "matchFields")


def _part(term: Json, name: str) -> list[Any]:
    return term.get(name) or []


def _merged_lists(ours: list[Any], theirs: list[Any], place: str, key: str | None) -> list[Any]:
    if key is None:
        return [*ours, *theirs]
    found = list(ours)
    at_of = {each[key]: at for at, each in enumerate(ours)}
    for number, each in enumerate(theirs):
        at = at_of.get(each[key])
        where = f"{place}[{number}]"
        if at is None:
            found.append(each)
        elif each[key] == labels.PE_CONTAINER or each == found[at]:
            found[at] = _merged_value(found[at], each, where)
        else:
            why = f"millrace has one of that {key}: leave it out or choose another"
            raise PodImpossible(f"{where}.{key}", each[key], why)
    return found
