"""Reports that pe-gateway refuses: which are sent again, and what becomes of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.protocol import Connectivity, Lost, Sealed, Trouble
from millrace.runtime.gateway import REFUSED_TRIES
from tests.unit.millrace.test_gateway_client import client, status


async def test_a_report_that_is_refused_for_good_makes_room_for_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with client(tmp_path, status(400, "no\x1b[31m such\n field"), status(204)) as each:
        each.gateway.report(Lost(1, "x"))
        each.gateway.report(Sealed(5))
        await each.gateway.deliver(until_empty=True)
        assert each.gateway.refused == {"Lost": 1}
    assert len(each.played.requests) == 2
    assert "no [31m such  field" in caplog.text


async def test_a_seal_is_sent_again_to_a_gateway_that_does_not_know_the_job_yet(
    tmp_path: Path,
) -> None:
    """Without it the hand-over would wait to its deadline, and what was sealed count as lost."""
    unknown = [status(400, "namespace ns has no job 'j'")] * (REFUSED_TRIES - 1)
    async with client(tmp_path, *unknown, status(204)) as each:
        each.gateway.report(Sealed(5))
        await each.gateway.deliver(until_empty=True)
        assert len(each.played.requests) == REFUSED_TRIES
        assert each.gateway.refused == {}
        assert sum(each.pauses) < 20.0


@pytest.mark.parametrize(("code", "tries"), [(400, REFUSED_TRIES), (413, 1), (422, 1)])
async def test_a_seal_that_is_refused_for_good_is_logged_with_its_reason_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: int, tries: int
) -> None:
    async with client(tmp_path, *[status(code, "why")] * tries, status(204)) as each:
        each.gateway.report(Sealed(5))
        each.gateway.report(Trouble())
        await each.gateway.deliver(until_empty=True)
        assert len(each.played.requests) == tries + 1
        assert each.gateway.refused == {"Sealed": 1}
    assert f"Sealed(generation=5) is refused ({code}) and given up: why" in caplog.text


async def test_a_launch_that_is_over_still_reports_what_it_lost(tmp_path: Path) -> None:
    """All else that waits counts no more."""
    answers = (status(409, "launch 3 exists"), status(204))
    async with client(tmp_path, *answers) as each:
        each.gateway.report(Connectivity("Partial"))
        each.gateway.report(Sealed(5))
        each.gateway.report(Lost(17, "StoppedLate"))
        await each.gateway.say_goodbye()
        assert [b"lost" in body for *_, body, _ in each.played.requests] == [False, True]


async def test_a_loss_that_was_taken_and_not_recorded_is_reported_again_at_the_end(
    tmp_path: Path,
) -> None:
    async with client(tmp_path, status(202), status(204)) as each:
        each.gateway.report(Lost(17, "PeerGone"))
        await each.gateway.deliver(until_empty=True)
        await each.gateway.say_goodbye()
        assert len(each.played.requests) == 2
