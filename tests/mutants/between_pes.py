"""Planted bugs in the transport between PEs."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_RESUMING = ("tests/unit/millrace/test_resuming.py",)
_FRAMES = ("tests/unit/millrace/test_frames.py",)
_CUTS = ("tests/unit/millrace/test_transport.py",)
_LAUNCHES = ("tests/unit/millrace/test_transport_launches.py",)
_TCP = ("tests/unit/millrace/test_transport_tcp.py",)
_TLS = ("tests/unit/millrace/test_transport_tls.py",)

MUTANTS = (
    Mutant(
        "a function that raises for a tuple of another PE does not end its PE",
        "millrace/runtime/connections.py",
        "Inlets.deliver",
        "            self._has_failed.set()\n",
        "",
        ("tests/unit/millrace/test_raising.py",),
    ),
    Mutant(
        "a hello without an epoch closes an input for good",
        "millrace/runtime/frames.py",
        "",
        "msgspec.Meta(min_length=1)",
        "msgspec.Meta(min_length=0)",
        ("tests/unit/millrace/test_transport_tcp.py",),
    ),
    Mutant(
        "a sender begins behind all numbers that a state can save",
        "millrace/runtime/inlet.py",
        "Inlet.begin",
        "spot.number > SETTLED",
        "False",
        ("tests/unit/millrace/test_transport_tcp.py",),
    ),
    Mutant(
        "what was on its way to a killed receiver is sent to the next launch",
        "millrace/runtime/resuming.py",
        "resumed",
        "if not is_same and not",
        "if is_same and not",
        _RESUMING,
    ),
    Mutant(
        "a seal whose launch went on is taken for exact",
        "millrace/runtime/resuming.py",
        "resumed",
        "(answer.exact and _has_acknowledged(outbox, known))",
        "answer.exact",
        _LAUNCHES,
    ),
    Mutant(
        "a process that is started again in the same launch is taken for the old one",
        "millrace/runtime/resuming.py",
        "resumed",
        "outbox.peer == Peer(answer.launch, answer.life)",
        "outbox.peer is not None and outbox.peer.launch == answer.launch",
        _RESUMING,
    ),
    Mutant(
        "frames of an older epoch come again when their state is loaded twice",
        "millrace/runtime/resuming.py",
        "settled",
        "**dict.fromkeys(older, SETTLED), begun.epoch: begun.number",
        "begun.epoch: begun.number",
        _LAUNCHES,
    ),
    Mutant(
        "the final mark is not sent to a launch that did not see it",
        "millrace/runtime/resuming.py",
        "_ends",
        "if end is None or known.get(end.epoch, 0) >= end.number:",
        "if end is None or known:",
        _RESUMING,
    ),
    Mutant(
        "a seal of a launch that nobody connected to is taken for exact",
        "millrace/runtime/receiving.py",
        "Receivers.__init__",
        "is_exact and each.is_exact",
        "is_exact",
        _LAUNCHES,
    ),
    Mutant(
        "a new connection is answered while the old one still delivers",
        "millrace/runtime/receiving.py",
        "Receivers._serve",
        "async with inlet.lock:",
        "async with asyncio.Lock():",
        _LAUNCHES,
    ),
    Mutant(
        "a frame that came again is delivered again",
        "millrace/runtime/receiving.py",
        "Receivers._take",
        "items = items[already:]",
        "items = items[:]",
        _LAUNCHES,
    ),
    Mutant(
        "a late attempt to connect displaces a newer connection",
        "millrace/runtime/inlet.py",
        "Inlet.claim",
        "and hello.attempt < known.attempt",
        "and hello.attempt < 0",
        _TCP,
    ),
    Mutant(
        "what was written before a bye counts as on its way",
        "millrace/runtime/sending.py",
        "Sender._hear",
        "self._outbox.take_back()",
        "pass",
        _LAUNCHES,
    ),
    Mutant(
        "a receiver that took nothing ends without a bye",
        "millrace/runtime/inlet.py",
        "Inlet.send_ack",
        "(self.epoch is None and kind == Kind.ACK)",
        "self.epoch is None",
        _TCP,
    ),
    Mutant(
        "a held origin keeps a seal from being exact",
        "millrace/runtime/frames.py",
        "begins",
        "frame.kind == Kind.BEGIN",
        "False",
        _LAUNCHES,
    ),
    Mutant(
        "an older launch at a reused address is accepted",
        "millrace/runtime/sending.py",
        "Sender._greet",
        "if answer.launch < newest:",
        "if answer.launch < 0:",
        _LAUNCHES,
    ),
    Mutant(
        "a certificate that the certificate of the job signed is accepted",
        "millrace/runtime/network.py",
        "TcpNetwork._secured",
        "if shown != self._tls.certificate:",
        "if not shown:",
        _TLS,
    ),
    Mutant(
        "a frame of any length is waited for",
        "millrace/runtime/frames.py",
        "Reader._frames",
        "if length > self.limit:",
        "if length < 0:",
        _FRAMES,
    ),
    Mutant(
        "a silent peer is waited for",
        "millrace/runtime/wires.py",
        "Wire._on_tick",
        "if self._silent_ticks >= SILENT_TICKS:",
        "if self._silent_ticks >= 10 * SILENT_TICKS:",
        _CUTS,
    ),
    Mutant(
        "an idle connection has no heartbeats",
        "millrace/runtime/wires.py",
        "Wire._on_tick",
        "if self._is_silent_side and not self.is_full:",
        "if self._is_silent_side and self.is_full:",
        _CUTS,
    ),
)
