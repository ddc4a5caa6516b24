"""ADLs that somebody made to hurt, and how each is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.reasons import Reason
from tests.unit.planner.adl_writing import Adl

PLAIN = Adl().chain("a", "b").text()
NAMESPACE = "http://www.ibm.com/xmlns/prod/streams/application/v4200"
MEGA = 1024 * 1024
DEEP = 100_000


@dataclass(frozen=True)
class Hostile:
    """A document, made when it is requested, and how it is refused."""

    name: str
    make: Callable[[], bytes]
    says: str
    reason: Reason = Reason.ADL_INVALID


def swapped(old: str, new: str) -> Callable[[], bytes]:
    """A good document with one thing changed, everywhere."""
    assert old in PLAIN, old
    return lambda: PLAIN.replace(old, new).encode()


def declared(inside: str) -> Callable[[], bytes]:
    """A good document with a document type."""
    return lambda: f"<!DOCTYPE applicationSet {inside}>{PLAIN}".encode()


def laughs() -> str:
    """A billion of them."""
    lines = ['<!ENTITY l0 "ha">']
    lines += [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    return f"[{''.join(lines)}]"


def attribute_twice() -> bytes:
    """Fifty thousand attributes of one element; the last is the first again."""
    given = " ".join(f"a{number % 49_999}='1'" for number in range(50_000))
    return PLAIN.replace("<libraries/>", f"<x {given}/>").encode()


def of_regions(width: int) -> bytes:
    """Regions in regions, each as wide as that."""
    adl = Adl().chain("a", "N.M.f", "z").region("N", width).region("N.M", width)
    return adl.region("N.M.f", width).text().encode()


DOCUMENTS = (
    Hostile("a billion laughs", declared(laughs()), "document type"),
    Hostile("one large entity", declared(f'[<!ENTITY a "{"a" * MEGA}">]'), "document type"),
    Hostile("a file of ours", declared('[<!ENTITY f SYSTEM "file:///etc/passwd">]'), "document"),
    Hostile("a type from elsewhere", declared('SYSTEM "http://127.0.0.1/x.dtd"'), "document type"),
    Hostile(
        "entities of entities",
        declared('[<!ENTITY % p SYSTEM "http://127.0.0.1/x"> %p;]'),
        "document type",
    ),
    Hostile("UTF-16", lambda: PLAIN.encode("utf-16"), "not UTF-8"),
    Hostile(
        "a document type in UTF-16",
        lambda: f"<!DOCTYPE x {laughs()}>{PLAIN}".encode("utf-16-le"),
        "not well-formed",
    ),
    Hostile("another alphabet", lambda: PLAIN.replace("demo", "dém").encode("latin-1"), "UTF-8"),
    Hostile(
        "longer bytes than needed", lambda: PLAIN.encode().replace(b"demo", b"\xc0\xae"), "UTF-8"
    ),
    Hostile("zeros", lambda: PLAIN.encode() + bytes(MEGA), "not well-formed"),
    Hostile("nothing", lambda: b"", "not well-formed"),
    Hostile("a document that ends early", lambda: PLAIN.encode()[:-30], "not well-formed"),
    Hostile("two documents", lambda: PLAIN.encode() * 2, "not well-formed"),
    Hostile("a prefix of nothing", swapped("<libraries/>", "<no:where/>"), "not well-formed"),
    Hostile(
        "100,000 elements in each other",
        lambda: PLAIN.replace("<libraries/>", "<x>" * DEEP + "</x>" * DEEP).encode(),
        "not well-formed",
    ),
    Hostile(
        "100,000 composites in each other",
        lambda: PLAIN.replace("<libraries/>", '<compositeOperInstance name="c">' * DEEP).encode(),
        "not well-formed",
    ),
    Hostile(
        "an attribute of 20 MB",
        lambda: PLAIN.replace('name="a"', f'name="{"a" * 20 * MEGA}"').encode(),
        "not well-formed",
    ),
    Hostile(
        "a text of 20 MB",
        lambda: PLAIN.replace("<libraries/>", f"<x>{'a' * 20 * MEGA}</x>").encode(),
        "not well-formed",
    ),
    Hostile(
        "a name of 1 MB",
        lambda: PLAIN.replace("<libraries/>", f"<{'a' * MEGA}/>").encode(),
        "not well-formed",
    ),
    Hostile(
        "an attribute twice among 50,000",
        attribute_twice,
        "not well-formed",
    ),
    Hostile("another namespace", swapped(NAMESPACE, "urn:x"), "not an applicationSet"),
    Hostile("no namespace", swapped(f'xmlns="{NAMESPACE}"', ""), "not an applicationSet"),
    Hostile("another root", swapped("applicationSet", "applicationSat"), "not an applicationSet"),
    Hostile("no application", swapped("splApplication", "spl"), "no splApplication"),
    Hostile("an index below zero", swapped('name="a" index="0"', 'name="a" index="-1"'), "'-1'"),
    Hostile(
        "an index of 500,000 digits",
        lambda: PLAIN.replace('name="a" index="0"', f'name="a" index="{"9" * 500_000}"').encode(),
        "not a number",
    ),
    Hostile(
        "an index beyond all",
        swapped('name="a" index="0"', f'name="a" index="{2**31}"'),
        "above 2147483647",
    ),
    Hostile("one index twice", swapped('name="a" index="0"', 'name="a" index="1"'), "index 1"),
    Hostile("an unknown type", swapped('tupleTypeIndex="0"', 'tupleTypeIndex="9"'), "type 9"),
    Hostile("an unknown pool", swapped('poolIndex="0"', 'poolIndex="9"'), "pool 9"),
    Hostile(
        "an unknown definition",
        swapped('definitionIndex="0" optimized', 'definitionIndex="9" optimized'),
        "definition 9",
    ),
    Hostile("a way to nobody", swapped('operIndex="1"', 'operIndex="99"'), "not there"),
    Hostile(
        "a thousand channels of a thousand of a thousand",
        lambda: of_regions(1_000),
        "1000000002 operators",
        Reason.PLAN_TOO_LARGE,
    ),
)
