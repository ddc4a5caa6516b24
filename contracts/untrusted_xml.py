"""XML that somebody else wrote: parsed without entities, network or surprises of size."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from io import BytesIO

from lxml import etree

from contracts.bundle_limits import CHUNK_BYTES, BundleInvalid, OutOfMemory

_UNTAGGED_BYTES = 512 * 1024
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)")


def parse_untrusted_xml(text: bytes, *, part: str) -> etree._Element:
    """The root element. A document type is refused before a parser sees it: no entity, no bomb.

    The text is read as UTF-8 whatever it says about itself, so that nothing hides in an encoding.
    Elements nest at most 256 deep, and no text is longer than 10 MB: libxml2's own limits.
    Raises BundleInvalid, and OutOfMemory where the memory of the process does not suffice.
    """
    _check(text, part)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, encoding="utf-8"
    )
    try:
        return etree.fromstring(text.removeprefix(codecs.BOM_UTF8), parser)
    except etree.XMLSyntaxError as error:
        raise _refusal(error, part) from error


class StreamedXml:
    """The same document, whose elements of some tags are given out as soon as they end.

    What is done with may be taken out of the tree, so that there is never much of it. libxml2 has
    looser limits for documents in pieces, so only those may be streamed that `is_plain` says.
    """

    def __init__(self, text: bytes, *, part: str, tags: Sequence[str]) -> None:
        """Raises BundleInvalid, as `parse_untrusted_xml`."""
        _check(text, part)
        self._part = part
        self._parsing = etree.iterparse(
            BytesIO(text.removeprefix(codecs.BOM_UTF8)),
            events=("end",),
            tag=tags,
            resolve_entities=False,
            no_network=True,
            huge_tree=False,
            load_dtd=False,
            encoding="utf-8",
        )

    def __iter__(self) -> Iterator[etree._Element]:
        """Raises BundleInvalid and OutOfMemory, as `parse_untrusted_xml`."""
        try:
            for _, element in self._parsing:
                yield element
        except etree.XMLSyntaxError as error:
            raise _refusal(error, self._part) from error

    @property
    def root(self) -> etree._Element:
        """The root element, once everything was given out."""
        root: etree._Element = self._parsing.root
        return root


def is_plain(text: bytes) -> bool:
    """Whether it has tags and texts only, far below the limits: no comments, CDATA, instructions.

    What has a mebibyte without a tag has half of one that begins where we look.
    """
    begin = len(codecs.BOM_UTF8) if text.startswith(codecs.BOM_UTF8) else 0
    return (
        text.find(b"<!") < 0
        and text.find(b"<?", begin + 1) < 0
        and all(
            text.find(b"<", start, start + _UNTAGGED_BYTES) >= 0
            for start in range(0, len(text) - _UNTAGGED_BYTES, _UNTAGGED_BYTES)
        )
    )


def _check(text: bytes, part: str) -> None:
    _check_encoding(text, part)
    if _DECLARATION.search(text):
        raise BundleInvalid(
            f"{part} has a document type or entities, which are not allowed", part=part
        )


def _refusal(error: etree.XMLSyntaxError, part: str) -> BundleInvalid | OutOfMemory:
    if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
        return OutOfMemory(f"{part} takes more memory than its reader may have", part=part)
    return BundleInvalid(f"{part} is not well-formed XML: {error.msg}", part=part)


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
