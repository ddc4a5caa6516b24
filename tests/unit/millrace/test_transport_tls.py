"""With TLS both sides present the certificate of the job, and accept only this one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import trustme

from millrace.errors import TlsError
from millrace.runtime.network import Tls, tls_of
from tests.patience import patient
from tests.unit.millrace.loopback import (
    Number,
    Text,
    listening,
    on_both_loops,
    running,
    sent,
)
from tests.unit.millrace.wiring import until


@pytest.fixture(scope="module")
def job_tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return made_tls(tmp_path_factory.mktemp("job"))


def made_tls(folder: Path) -> Tls:
    """A self-signed certificate, as a job has."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "transport.cert"))
    authority.private_key_pem.write_to_path(str(folder / "transport.key"))
    return tls_of(folder / "transport.cert", folder / "transport.key")


@on_both_loops
async def test_tuples_go_over_tls(job_tls: Tls) -> None:
    async with listening(tls=job_tls) as receiver:
        await sent(receiver, receiver.sender(tls=job_tls))


@on_both_loops
async def test_a_frame_of_many_pieces_goes_over_tls(job_tls: Tls) -> None:
    async with listening(tls=job_tls, type_=Text) as receiver:
        async with running(receiver.sender(tls=job_tls)) as sender, asyncio.timeout(patient(20)):
            await sender.send([Text("x" * (9 << 20)), Text("y")])
            await sender.flushed()
        assert [len(each.text) for each in receiver.got] == [9 << 20, 1]


@on_both_loops
async def test_a_sender_with_another_certificate_is_not_accepted(
    job_tls: Tls, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(tls=job_tls) as receiver:
        async with running(receiver.sender(tls=made_tls(tmp_path))) as sender:
            await until(lambda: sender.trouble is not None, patient(10))
            assert "TLS handshake failed" in str(sender.trouble)
        await until(lambda: "TLS handshake failed" in caplog.text, patient(10))
        await sent(receiver, receiver.sender(tls=job_tls))


@on_both_loops
async def test_a_certificate_that_the_certificate_of_the_job_signed_is_not_accepted(
    tmp_path: Path,
) -> None:
    """Only the certificate itself."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "cert"))
    authority.private_key_pem.write_to_path(str(tmp_path / "key"))
    job = tls_of(tmp_path / "cert", tmp_path / "key")
    child = authority.issue_cert("child")
    child.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "child"))
    for context in (job_of := tls_of(tmp_path / "cert", tmp_path / "key")).server, job_of.client:
        child.configure_cert(context)
    async with listening(tls=job) as receiver:
        async with running(receiver.sender(tls=job_of)) as sender:
            await sender.send([Number(1)])
            await until(lambda: sender.trouble is not None, patient(10))
            await asyncio.sleep(0.3)
        assert receiver.got == []


@on_both_loops
async def test_a_sender_without_tls_is_not_accepted(
    job_tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(tls=job_tls) as receiver:
        async with running(receiver.sender()) as sender:
            await until(lambda: sender.trouble is not None, patient(10))
        await until(lambda: "TLS handshake failed" in caplog.text, patient(10))


@on_both_loops
async def test_a_receiver_without_tls_is_named(job_tls: Tls) -> None:
    async with listening() as receiver, running(receiver.sender(tls=job_tls)) as sender:
        await until(lambda: "TLS handshake failed" in str(sender.trouble), patient(10))


def test_files_without_a_certificate_are_named(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("nothing")
    with pytest.raises(TlsError, match=rf"{tmp_path}/cert and .*/key cannot be used for TLS"):
        tls_of(tmp_path / "cert", tmp_path / "key")
