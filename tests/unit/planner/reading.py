"""Reading AADLs in tests: what a PE holds, and counts over a whole plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from lxml import etree

from tests.places import corpus

NAMES = {
    "d": "http://www.ibm.com/xmlns/prod/streams/application",
    "a": "http://www.ibm.com/xmlns/prod/streams/application/augmented",
}


@dataclass(frozen=True)
class Pe:
    """What a test looks at in one AADL."""

    operators: dict[str, int]
    inputs: int
    outputs: int
    leaving: int
    static: int
    root: etree._Element


def read_pe(text: str) -> Pe:
    """The PE of an AADL."""
    root = etree.fromstring(text.encode())

    def count(path: str) -> int:
        return len(root.findall(path, NAMES))

    return Pe(
        operators={
            str(item.get("name")): int(str(item.get("index")))
            for item in root.iterfind("a:operInstances/d:operInstance", NAMES)
        },
        inputs=count("a:inputPorts/a:inputPort"),
        outputs=count("a:outputPorts/a:outputPort"),
        leaving=count(".//d:outputPorts//d:interPeConnection")
        + count(".//d:outputPorts//d:intraPeConnection"),
        static=count("a:outputPorts//a:staticConnection"),
        root=root,
    )


def read_pes(texts: Mapping[int, str]) -> dict[int, Pe]:
    """The PEs of a fresh plan."""
    return {pe: read_pe(text) for pe, text in texts.items()}


@cache
def _schema(path: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(path))


def schema_errors(text: str) -> str:
    """What the schema of the original says against an AADL; skips without the corpus."""
    schema = _schema(str(corpus("schema/SAM/augmentedApplicationModel.xsd")))
    schema.validate(etree.fromstring(text.encode()))
    return str(schema.error_log)
