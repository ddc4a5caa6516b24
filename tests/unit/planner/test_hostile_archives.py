"""A hostile archive is refused by name, and costs no more than a valid one of its size.

What is compared is work, which is the same on every machine: bytes that were expanded, headers and
directory entries that were looked at, and the peak of memory. A valid bundle of the same size comes
in three shapes: what cannot be compressed, what expands as far as it may, and as many members as
fit.
"""

from __future__ import annotations

import io
import tarfile
import tracemalloc
import zipfile
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bundle_format import Bundle, BundleLimits
from contracts.bundle_tar import TarStream
from planner.application.bundles import open_bundle
from planner.refusals import PlanRefused
from tests.unit.planner.archive_writing import (
    ADL,
    sab,
    valid_that_expands,
    valid_with_members,
    valid_with_payload,
)
from tests.unit.planner.hostile_archives import ARCHIVES, LIMITS, Hostile

COMPARED_BYTES_MAX = 64 * 1024
"""What is larger is compared with a valid bundle of this size, which costs less."""
SLACK_BYTES = 64 * 1024
"""What a refusal itself may cost: a message, a traceback."""


@dataclass
class Work:
    """What opening took."""

    expanded_bytes: int = 0
    looked_at: int = 0
    peak_bytes: int = 0

    def __or__(self, other: Work) -> Work:
        return Work(
            max(self.expanded_bytes, other.expanded_bytes),
            max(self.looked_at, other.looked_at),
            max(self.peak_bytes, other.peak_bytes),
        )


@dataclass
class _Meter:
    work: Work


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> _Meter:
    """Counts what the readers of zip and tar are requested."""
    found = _Meter(Work())
    read, frombuf, made = zipfile.ZipExtFile.read, tarfile.TarInfo.frombuf, zipfile.ZipInfo.__init__

    def counted_read(source: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        content = read(source, n)
        found.work.expanded_bytes += len(content)
        return content

    def counted_header(*args: Any) -> tarfile.TarInfo:
        found.work.looked_at += 1
        return frombuf(*args)

    def counted_entry(entry: zipfile.ZipInfo, *args: Any, **more: Any) -> None:
        found.work.looked_at += 1
        made(entry, *args, **more)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted_read)
    monkeypatch.setattr(tarfile.TarInfo, "frombuf", staticmethod(counted_header))
    monkeypatch.setattr(zipfile.ZipInfo, "__init__", counted_entry)
    return found


def work_of(meter: _Meter, data: bytes) -> tuple[Work, Bundle | PlanRefused]:
    """What opening these bytes takes, and what comes of it."""
    meter.work = Work()
    tracemalloc.start()
    try:
        outcome: Bundle | PlanRefused = open_bundle(data, LIMITS)
    except PlanRefused as refusal:
        outcome = refusal
    finally:
        meter.work.peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return meter.work, outcome


@cache
def valid_ones(size: int) -> tuple[bytes, ...]:
    return tuple(
        make(size) for make in (valid_with_payload, valid_that_expands, valid_with_members)
    )


@pytest.mark.parametrize("hostile", ARCHIVES, ids=lambda hostile: hostile.name)
def test_a_hostile_archive_is_refused_by_name_and_costs_no_more_than_a_valid_one(
    hostile: Hostile, meter: _Meter
) -> None:
    data = hostile.make()
    work, outcome = work_of(meter, data)
    assert isinstance(outcome, PlanRefused), "it was opened"
    assert outcome.reason is hostile.reason
    assert outcome.field == "spec.bundle"
    assert hostile.says in outcome.message
    assert len(outcome.message) < 1_000
    allowed = Work()
    for valid in valid_ones(min(max(len(data), len(sab())), COMPARED_BYTES_MAX)):
        more, bundle = work_of(meter, valid)
        assert isinstance(bundle, Bundle)
        allowed |= more
    assert work.expanded_bytes <= allowed.expanded_bytes
    assert work.looked_at <= allowed.looked_at + 1, "but for the one that is too many"
    assert work.peak_bytes <= allowed.peak_bytes + SLACK_BYTES


def test_there_are_as_many_archives_as_were_promised() -> None:
    assert len({each.name for each in ARCHIVES}) == len(ARCHIVES) >= 30


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        return self._data.read(size)


NAMES = st.text("abä/", min_size=1, max_size=300).filter(lambda name: not name.startswith("/"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.binary(max_size=1_500)), max_size=6),
    st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_a_tar_of_any_format_reads_as_tarfile_reads_it(
    members: list[tuple[str, bytes]], kind: int
) -> None:
    """Names of any length and alphabet, bodies of any length, in the three formats there are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as tar:
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            try:
                tar.addfile(header, io.BytesIO(content))
            except ValueError:  # ustar has no room for the name
                continue
    with tarfile.open(fileobj=io.BytesIO(buffer.getvalue())) as tar:
        expected = [(each.name, tar.extractfile(each).read()) for each in tar]  # type: ignore[union-attr]
    stream = TarStream(_Bytes(buffer.getvalue()), BundleLimits(), name="tar")
    assert [(each.name, stream.read(each)) for each in stream] == expected


def test_the_valid_bundles_that_are_compared_with_are_no_larger() -> None:
    for size in (5_000, COMPARED_BYTES_MAX):
        for valid in valid_ones(size):
            assert open_bundle(valid, LIMITS).adl == ADL
            assert len(valid) <= size * 1.02
