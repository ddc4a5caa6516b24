"""Mutants of what a service keeps in memory, and of what its start waits for."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_LISTING = "tests/unit/chassis/kube/test_listing.py"
_PUBLISHING = "tests/unit/watch_ingest/test_publishing.py"
_HOSTING = "tests/unit/chassis/running/test_hosting.py"

MUTANTS = (
    Mutant(
        "the ledger keeps whole projections instead of their digests",
        "services/watch_ingest/core/publishing.py",
        "digest_of",
        "return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()",
        "return text",
        (_PUBLISHING,),
    ),
    Mutant(
        "the order of fields makes another projection",
        "contracts/canonical.py",
        "",
        "orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS",
        "orjson.OPT_NON_STR_KEYS",
        (_PUBLISHING,),
    ),
    Mutant(
        "a page of a list lives on while the next one is read",
        "services/chassis/kube/listing.py",
        "ListWatch._pages",
        "page.items.clear()",
        "pass",
        (_LISTING,),
    ),
    Mutant(
        "what one page of a list did not show is gone",
        "services/watch_ingest/adapters/ingesting.py",
        "Ingestion.take_list",
        "version = int(page.resource_version)",
        "version, seen = int(page.resource_version), set[Ref]()",
        ("tests/unit/watch_ingest/test_pages.py",),
    ),
    Mutant(
        "a list with a contradiction in it goes on as if there were none",
        "services/watch_ingest/adapters/ingesting.py",
        "Ingestion.take_list",
        'await self._begin_resync("mismatch")\nreturn',
        'await self._begin_resync("mismatch")',
        ("tests/unit/watch_ingest/test_pages.py",),
    ),
    Mutant(
        "large buffers stay in the heap when they are free",
        "services/chassis/process/buffers.py",
        "give_back_buffers",
        "return bool(mallopt(_M_MMAP_THRESHOLD, MAPPED_FROM_BYTES))",
        "return True",
        ("tests/unit/chassis/process/test_buffers.py",),
    ),
    Mutant(
        "a service that waits for its topics says that it is ready",
        "services/chassis/running/hosting.py",
        "after_topics",
        "lambda: False, lambda: NO_TOPICS",
        "lambda: True, lambda: NO_TOPICS",
        (_HOSTING,),
    ),
    Mutant(
        "a service waits for its topics for ever",
        "services/chassis/running/hosting.py",
        "after_topics",
        "if runtime.clock.monotonic() >= end_s:",
        "if False:",
        (_HOSTING,),
    ),
)
