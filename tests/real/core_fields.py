"""`python -m tests.real.core_fields` writes the fields of core kinds from the pinned Go sources.

Run it after Kubernetes was raised in go.mod; what it prints belongs into the file
`sandbox/store/core_fields.txt`, whose head says how to read it. The sources are asked because
OpenAPI does not tell what is left out when it is zero; test_core_fields.py asks a running server
whether the file is still right.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PINNED = Path(__file__).parents[2] / "tools" / "real" / "pinned"
_SOURCES = (
    ("k8s.io/apimachinery", "pkg/apis/meta/v1/types.go"),
    ("k8s.io/api", "core/v1/types.go"),
    ("k8s.io/api", "coordination/v1/types.go"),
    ("k8s.io/api", "autoscaling/v2/types.go"),
    ("k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1/types.go"),
    ("k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1/types_jsonschema.go"),
)
_KINDS = (
    "ConfigMap",
    "CustomResourceDefinition",
    "Event",
    "HorizontalPodAutoscaler",
    "Lease",
    "Namespace",
    "Node",
    "PersistentVolumeClaim",
    "Pod",
    "Secret",
    "Service",
    "ServiceAccount",
)
# What reads itself from JSON, and what the file calls it.
_OWN_READERS = {
    "FieldsV1": "any",
    "IntOrString": "intOrString",
    "JSON": "any",
    "JSONSchemaPropsOrArray": "JSONSchemaProps",
    "JSONSchemaPropsOrBool": "boolOrJSONSchemaProps",
    "JSONSchemaPropsOrStringArray": "any",
    "MicroTime": "microTime",
    "Quantity": "quantity",
    "Time": "time",
    "UID": "string",
}
_STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\}|\n(.*?)^\})", re.DOTALL | re.MULTILINE)
_ALIAS = re.compile(r"^type (\w+) ([\w.\[\]*]+)$", re.MULTILINE)
_FIELD = re.compile(r'^\t(?:\w+\s+)?(\S+)\s+`(?:[^`]*\s)?json:"([^"]*)"')
_PLAIN = {"bool", "float64", "int32", "int64", "string"}


@dataclass(frozen=True)
class Field:
    """A field as Go declares it."""

    name: str
    type: str
    omit_empty: bool
    omit_zero: bool
    inline: bool


class Sources:
    """Structs and aliases of the pinned sources."""

    def __init__(self, texts: list[str]) -> None:
        self.structs: dict[str, list[Field]] = {}
        self.aliases: dict[str, str] = {}
        for text in texts:
            self.aliases.update(_ALIAS.findall(text))
            for name, body in _STRUCT.findall(text):
                self.structs.setdefault(name, list(_fields(body)))

    def fields(self, struct: str) -> Iterator[Field]:
        """The fields of a struct, those of embedded ones among them; not kind and apiVersion."""
        for field in self.structs[struct]:
            below = _bare(field.type)
            if not field.inline:
                yield field
            elif below != "TypeMeta":
                yield from self.fields(below)

    def written(self, go: str) -> str:
        """A Go type as the file calls it."""
        go = go.removeprefix("*")
        if go == "[]byte":
            return "bytes"
        if go.startswith("[]"):
            return f"[]{self.written(go[2:])}"
        if found := re.fullmatch(r"map\[[\w.]+\](.+)", go):
            return f"{{}}{self.written(found[1])}"
        name = _bare(go)
        if name in _OWN_READERS:
            return _OWN_READERS[name]
        if name in self.structs or name in _PLAIN:
            return name
        return self.written(self.aliases[name])


def _fields(body: str) -> Iterator[Field]:
    for line in body.splitlines():
        if found := _FIELD.match(line):
            name, *options = found[2].split(",")
            if name != "-":
                inline = "inline" in options or (not name and not options)
                omit = ("omitempty" in options, "omitzero" in options)
                yield Field(name, found[1], *omit, inline)


def _bare(go: str) -> str:
    return go.removeprefix("*").rpartition(".")[2]


def lines(sources: Sources) -> Iterator[str]:
    """One entry per struct that a kind reaches."""
    wanted, known = list(_KINDS), set(_KINDS)
    while wanted:
        struct = wanted.pop(0)
        words = []
        for field in sources.fields(struct):
            kind = sources.written(field.type)
            words.append(
                f"{field.name}{_mark(field, kind)}{'' if kind == 'string' else ':' + kind}"
            )
            below = re.sub(r"^(\[\]|\{\})*(boolOr)?", "", kind)
            if below in sources.structs and below not in known:
                known.add(below)
                wanted.append(below)
        yield textwrap.fill(
            f"{struct} {' '.join(words)}",
            100,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _mark(field: Field, kind: str) -> str:
    """`!` is always written; `?` once it was given; all others only if they are not zero."""
    if field.type.startswith("*"):
        return "?" if field.omit_empty else "!"
    if field.omit_zero:
        return ""
    is_struct = kind[0].isupper() or kind in {"time", "microTime", "quantity", "intOrString"}
    return "!" if not field.omit_empty or is_struct else ""


def _source(module: str, path: str) -> str:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", module]
    folder = subprocess.run(command, cwd=_PINNED, check=True, capture_output=True, text=True).stdout
    return (Path(folder.strip()) / path).read_text()


if __name__ == "__main__":
    found = Sources([_source(*each) for each in _SOURCES])
    sys.stdout.write("\n".join(lines(found)) + "\n")
