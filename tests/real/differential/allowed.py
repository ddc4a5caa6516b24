"""Where the sandbox may differ from kube-apiserver, and why. docs/limits.md says the same in prose.

An entry names an exchange, and the places of its answers that may differ: the number of the step,
then the path in what it answered (`0.status`, `2.headers.warning`, `1.body.details.causes.0`).
A place covers what is inside it. A test fails when an exchange differs anywhere else, and when an
allowed place agrees: then it has to go.
"""

from __future__ import annotations

from collections.abc import Mapping

WARNINGS = "a patch of the kind, or of the whole, is refused before its fields are looked at"
SCHEMA = "another validator: other order, and not the follow-up causes of what failed already"
PAGE = "the last page is known to be the last; kube-apiserver may hand out a token for nothing"
TABLE = "shapes and columns that no client of ours asks for"
OLD = "the sandbox remembers its history longer than a real server that began long ago"
BODY = "a body that is no object of its kind is refused in other words"
SENTENCE = "the same refusal in other words, or a path that no client of ours uses"
_Places = Mapping[str, tuple[str, ...]]
_PLACES: Mapping[str, _Places] = {
    WARNINGS: {
        "JSON patch 22": ("0.headers.warning",),
        "merge patch of a widget 16": ("0.headers.warning",),
    },
    SCHEMA: {
        "JSON patch of a widget 4": (
            "0.body.details.causes.1",
            "0.body.details.causes.2",
            "0.body.message",
        ),
        "a scale below zero": (
            "0.body.details",
            "0.body.message",
        ),
        "conditions of a region": (
            "1.body.details.causes.0.message",
            "1.body.message.3",
            "1.body.message.4",
        ),
        "merge patch of a widget 4": (
            "0.body.details.causes.1",
            "0.body.details.causes.2",
            "0.body.message",
        ),
        "schema of a widget 4": (
            "0.body.details.causes.1",
            "0.body.details.causes.2",
            "0.body.message",
        ),
        "schema of a widget 42": (
            "0.body.details.causes",
            "0.body.message",
        ),
        "schema of a widget 43": (
            "0.body.details.causes.1",
            "0.body.message",
        ),
        "schema of a widget 5": (
            "0.body.details.causes",
            "0.body.message",
        ),
        "schema of a widget 6": (
            "0.body.details.causes.0",
            "0.body.details.causes.1",
            "0.body.message",
        ),
        "schema of a widget 8": (
            "0.body.details.causes.1",
            "0.body.details.causes.2",
            "0.body.message",
        ),
        "status that breaks its schema": (
            "0.body.details.causes",
            "0.body.message",
        ),
    },
    PAGE: {
        "a continue token with version 0": (
            "1.body.items.1",
            "1.body.metadata.continue",
        ),
        "deletecollection with a limit": (
            "0.body.items.1",
            "0.body.metadata.continue",
        ),
        "pages with a label selector": ("1.body.metadata.continue",),
    },
    TABLE: {
        "a Table in a watch": ("0.body.events.0.object.columnDefinitions.1.type",),
        "a Table of ConfigMaps": ("0.body.columnDefinitions.1.type",),
        "a Table of Events": ("0.body.columnDefinitions",),
        "a Table of Secrets": ("0.body.columnDefinitions.2.type",),
        "a Table of an older version": (
            "0.body.apiVersion",
            "0.body.rows",
        ),
        "a list asked for as one partial object": ("0.body.message",),
        "a streaming list as a Table": ("0.body.events.1",),
        "an Accept that nobody knows": ("0.body.message",),
        "one object asked for as a partial list": (
            "0.body",
            "0.status",
        ),
    },
    OLD: {
        "a watch from version 1": ("0.body.events.0",),
        "a watch of ConfigMaps from version 1": ("0.body.events.0",),
    },
    BODY: {
        "DELETE of a widget with options 15": ("0.body.message",),
        "DELETE of a widget with options 16": ("0.body.message",),
        "DELETE of a widget with options 17": (
            "0.body",
            "0.status",
            "1.body",
            "1.status",
        ),
        "JSON patch with force": (
            "0.body",
            "0.status",
        ),
        "body of a ConfigMap 6": ("0.body.message",),
        "body of a ConfigMap 7": ("0.body.message",),
        "body of a widget 5": (
            "0.body",
            "0.status",
        ),
        "body of a widget 8": (
            "0.body.details.causes.1",
            "0.body.details.causes.2",
            "0.body.message",
        ),
        "merge patch of a ConfigMap 14": (
            "0.body.details.causes.0.message",
            "0.body.message",
        ),
        "merge patch of a ConfigMap 15": (
            "0.body.details.causes.0.message",
            "0.body.message",
        ),
        "unknown fields in a patch, Strict": ("1.headers.warning",),
    },
    SENTENCE: {
        "PUT of a widget with a wrong uid": ("0.body.message",),
        "PUT with a wrong uid": ("0.body.message",),
        "a binding": (
            "1.body.details.kind",
            "1.body.message",
        ),
        "a namespace with a bad name": (
            "0.body.details.causes.0.message",
            "0.body.message",
        ),
        "a streaming list without bookmarks": ("0.body.events.1",),
        "a version that is no number": (
            "1.body",
            "1.status",
        ),
        "a watch by its old path": (
            "0.body",
            "0.headers.content-type",
            "0.status",
        ),
        "a watch of one object by its path": ("0.body.events.0",),
        "changes of what is being deleted": ("3.body.message",),
        "merge patch of a ConfigMap 27": (
            "0.body.details.causes.2",
            "0.body.details.causes.3",
        ),
        "strategic merge patch of a Service 6": (
            "0.body.spec.ports.0",
            "0.body.spec.ports.1",
        ),
    },
}
ALLOWED: _Places = {
    name: places for exchanges in _PLACES.values() for name, places in exchanges.items()
}
