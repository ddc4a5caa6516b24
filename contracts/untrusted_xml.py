"""XML that somebody else wrote: parsed without entities, network or surprises of size."""

from __future__ import annotations

import codecs
import re

from lxml import etree

from contracts.bundle_limits import CHUNK_BYTES, BundleInvalid, OutOfMemory

_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)")


def parse_untrusted_xml(text: bytes, *, part: str) -> etree._Element:
    """The root element. A document type is refused before a parser sees it: no entity, no bomb.

    The text is read as UTF-8 whatever it says about itself, so that nothing hides in an encoding.
    Elements nest at most 256 deep, and no text is longer than 10 MB: libxml2's own limits.
    Raises BundleInvalid, and OutOfMemory where the memory of the process does not suffice.
    """
    _check_encoding(text, part)
    if _DECLARATION.search(text):
        raise BundleInvalid(
            f"{part} has a document type or entities, which are not allowed", part=part
        )
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, encoding="utf-8"
    )
    try:
        return etree.fromstring(text.removeprefix(codecs.BOM_UTF8), parser)
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise OutOfMemory(
                f"{part} takes more memory than its reader may have", part=part
            ) from error
        raise BundleInvalid(f"{part} is not well-formed XML: {error.msg}", part=part) from error


def _check_encoding(text: bytes, part: str) -> None:
    """Decodes piece by piece: one character beyond the BMP would make four bytes of every other."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(text)
    try:
        for start in range(0, len(text), CHUNK_BYTES):
            decoder.decode(view[start : start + CHUNK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise BundleInvalid(f"{part} is not UTF-8: {error.reason}", part=part) from error
