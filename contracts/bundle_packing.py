"""Packs a `.sab`: an ADL and the files of its application, byte for byte the same every time.

The container is that of `millrace.sab`, which also packs what authors write. Here an ADL of others
is read for its names, and every path is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lxml import etree

from contracts.bundle_limits import BundleInvalid, BundleLimits, check_path
from contracts.untrusted_xml import parse_untrusted_xml
from millrace.sab import Contents, packed

APPLICATIONS: Final = ("splApplication", "application")  # of an ADL v4200, v4000


def pack(adl: bytes, *, files: Mapping[str, bytes] | None = None, build_date_s: int = 0) -> bytes:
    """A bundle of this ADL and of further files (paths below the output directory).

    Equal input gives equal bytes. Raises BundleInvalid if the ADL has no application.
    """
    application = _splapplication(adl)
    name = application.get("name", "").replace("::", ".")
    output = application.get("outputDirectory", "").strip("/") or name
    if not name or "/" in name:
        raise BundleInvalid("splApplication has no usable name", part="name")
    check_path(output, BundleLimits(), archive="tar")
    contents = Contents(
        name=name,
        adl=adl,
        output_directory=output,
        application_directory=application.get("applicationDirectory", ""),
        files=files or {},
        build_date_s=build_date_s,
    )
    for path in contents.members:
        check_path(path, BundleLimits(), archive="tar")
    return packed(contents)


def _splapplication(adl: bytes) -> etree._Element:
    root = parse_untrusted_xml(adl, part="ADL")
    for child in root:
        if isinstance(child.tag, str) and etree.QName(child).localname in APPLICATIONS:
            return child
    raise BundleInvalid("the ADL has no splApplication", part="splApplication")
