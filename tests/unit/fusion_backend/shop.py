"""The application of the jobs in these tests: the example, with a second parallel region.

With `hosts`, the operators of the first region ask for hosts.
"""

from __future__ import annotations

import functools
import re

from contracts.bundle_format import Bundle, BundleLimits, open_bundle, pack
from planner.application.adl import read_application
from planner.application.model import Application
from tests.places import ROOT

APART = '<exLocation exlocId="apart"/>'
IN_POOL = '<poolLocation poolIndex="1"/>'
"""Of a pool by the tag `counting`, which the application declares then."""
_ANY = '<poolLocation poolIndex="0"/>'
_POOL = """<hostpool index="1" membershipMode="shared" name="Counters"><tag name="counting"/>
      </hostpool></hostpools>"""
_SECOND_REGION = """
      <parallelRegion index="1" name="Totals">
        <parallelOperator operIndex="3">
          <splitter iportIndex="0" kind="Hash">
            <attributes><attribute name="word"/></attributes>
          </splitter>
        </parallelOperator>
        <parallelWidth><constantWidth>1</constantWidth></parallelWidth>
      </parallelRegion>
    </parallelRegions>"""


@functools.cache
def application(hosts: str = "", *, is_python: bool = False) -> tuple[Application, str]:
    """The application, and the digest of its bundle; `hosts` is what Counted asks for."""
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    text = adl.read_text().replace("</parallelRegions>", _SECOND_REGION)
    if hosts:
        before, own, after = text.partition('index="2" name="Counted"')
        text = before + own + after.replace(_ANY, hosts if IN_POOL in hosts else _ANY + hosts, 1)
    if IN_POOL in hosts:
        text = text.replace("</hostpools>", _POOL)
    if is_python:
        text = re.sub(r'kind="\w[\w.]*::', 'kind="millrace::', text)
    bundle: Bundle = open_bundle(pack(text.encode()), BundleLimits())
    return read_application(bundle), bundle.digest
