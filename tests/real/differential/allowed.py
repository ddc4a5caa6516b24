"""Where the sandbox may differ from kube-apiserver, and why. docs/limits.md says the same in prose.

An entry names the exchange and the reason. A test fails when an exchange of this list shows no
difference any more: then its entry has to go.
"""

from __future__ import annotations

from collections.abc import Mapping

WARNINGS = "the sandbox sends no Warning headers (and fills in no affinity of sessions)"
FIELDS = "core kinds have no schema in the sandbox: fields and formats that nothing here depends on"
DEFINITION = "definitions come from us and are checked on the real server; CEL is not typed here"
SCHEMA = "another validator: other order, and not the follow-up causes of what failed already"
SELECTOR = "a selector that cannot be read is refused in other words, or is accepted where empty"
PAGE = "the last page is known to be the last; kube-apiserver may hand out a token for nothing"
TABLE = "shapes and columns that no client of ours asks for"
OLD = "the sandbox remembers its history longer than a real server that began long ago"
BODY = "a body that is no object of its kind is refused in other words"
SENTENCE = "the same refusal in other words, or a path that no client of ours uses"
_EXCHANGES: Mapping[str, tuple[str, ...]] = {
    WARNINGS: (
        "JSON patch 22",
        "a Pod is named 'a.b' 3",
        "a Pod is named 'aaaaaaaaaaaaaaaaaaaa' 253",
        "finalizers of a widget 1",
        "merge patch of a widget 16",
        "merge patch of a widget 20",
        "merge patch of a widget 8",
        "owners 8",
        "schema of a widget 37",
        "strategic merge patch of a Service 9",
        "unknown fields of a widget, Warn",
    ),
    FIELDS: (
        "a Lease with a bad time",
        "a Table of one of our definitions",
        "a duplicate field, Strict",
        "a uid in a POST",
        "binaryData that is not base64",
        "body of a ConfigMap 15",
        "merge patch of Pod status",
        "merge patch of a ConfigMap 7",
        "strategic merge patch of Pod conditions",
        "strategic merge patch of a Node 0",
        "strategic merge patch of a Node 1",
        "strategic merge patch of a Node 3",
        "strategic merge patch of a Node 5",
        "unknown fields of a ConfigMap, Ignore",
        "unknown fields of a ConfigMap, Strict",
        "unknown fields of a ConfigMap, Warn",
        "unknown fields of a Pod, Ignore",
        "unknown fields of a Pod, Strict",
        "unknown fields of a Pod, Warn",
    ),
    DEFINITION: (
        "a definition of a group without a dot",
        "a definition with a column of an unknown type",
        "a definition with a column without a path",
        "a definition with a default of another type",
        "a definition with a good one",
        "a definition with a map list without keys",
        "a definition with a pattern that is none",
        "a definition with a reference",
        "a definition with a rule of another type",
        "a definition with a rule on a field that is not there",
        "a definition with a rule that cannot be read",
        "a definition with a scale without paths",
        "a definition with an empty rule",
        "a definition with no schema",
        "a definition with properties and additionalProperties",
        "a definition without versions",
    ),
    SCHEMA: (
        "JSON patch of a widget 4",
        "a scale below zero",
        "conditions of a region",
        "merge patch of a widget 4",
        "schema of a widget 4",
        "schema of a widget 42",
        "schema of a widget 43",
        "schema of a widget 5",
        "schema of a widget 6",
        "schema of a widget 8",
        "status that breaks its schema",
    ),
    SELECTOR: (
        "a watch with a bad selector",
        "fieldSelector '='",
        "labelSelector ','",
        "labelSelector '-app=x'",
        "labelSelector '=x'",
        "labelSelector 'app in x'",
        "labelSelector 'app=,'",
        "labelSelector 'app=-x'",
        "labelSelector 'app=a b'",
        "labelSelector 'app=x,'",
    ),
    PAGE: (
        "a continue token with version 0",
        "deletecollection with a limit",
        "pages with a label selector",
    ),
    TABLE: (
        "a Table in a watch",
        "a Table of ConfigMaps",
        "a Table of Events",
        "a Table of Secrets",
        "a Table of an older version",
        "a list asked for as one partial object",
        "a streaming list as a Table",
        "an Accept that nobody knows",
        "one object asked for as a partial list",
    ),
    OLD: (
        "a watch from version 1",
        "a watch of ConfigMaps from version 1",
    ),
    BODY: (
        "DELETE of a widget with options 15",
        "DELETE of a widget with options 16",
        "DELETE of a widget with options 17",
        "JSON patch with force",
        "body of a ConfigMap 6",
        "body of a ConfigMap 7",
        "body of a widget 5",
        "body of a widget 8",
        "merge patch of a ConfigMap 14",
        "merge patch of a ConfigMap 15",
        "unknown fields in a patch, Strict",
    ),
    SENTENCE: (
        "PUT of a widget with a wrong uid",
        "PUT with a wrong uid",
        "a binding",
        "a namespace with a bad name",
        "a streaming list without bookmarks",
        "a version that is no number",
        "a watch by its old path",
        "a watch of one object by its path",
        "changes of what is being deleted",
        "merge patch of a ConfigMap 26",
        "merge patch of a ConfigMap 27",
        "strategic merge patch of a Service 6",
    ),
}
ALLOWED: Mapping[str, str] = {
    name: reason for reason, names in _EXCHANGES.items() for name in names
}
