"""Bare loops in processes of their own, beside which PEs are measured (`make bench-runtime`).

`chain COUNT`, `keyed COUNT` and `words PATH` are the loops of `flows.py`. `pair COUNT` is two
processes and a socket: batches as msgpack, as long as those of a PE, with their length in front.
They print what their sink saw, as JSON.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from itertools import islice
from typing import Any, Final

import msgspec

from loadtest import flows
from millrace.runtime.turns import BATCH_MAX

_LENGTH: Final = struct.Struct("!I")


def _pair(count: int) -> dict[str, Any]:
    """The receiver; it starts the sender, and adds the sender's seconds of CPU."""
    sink = flows.Timing()
    decoder = msgspec.msgpack.Decoder(list[flows.Numbered])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-m", "loadtest.bare", "sender"]
        port = str(listener.getsockname()[1])
        with subprocess.Popen([*command, str(count), port], stdout=subprocess.PIPE) as sender:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as file:
                while head := file.read(_LENGTH.size):
                    for item in decoder.decode(file.read(*_LENGTH.unpack(head))):
                        sink(item)
            assert sender.stdout is not None
            return sink.seen.result() | {"sender_cpu": float(sender.stdout.read())}


def _send(count: int, port: int) -> float:
    """The sender; its seconds of CPU."""
    encode = msgspec.msgpack.Encoder().encode
    items = flows.numbered(count, 0)
    begun = time.process_time()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while batch := list(islice(items, BATCH_MAX)):
            data = encode(batch)
            connection.sendall(_LENGTH.pack(len(data)) + data)
    return time.process_time() - begun


def main(name: str, *words: str) -> None:
    """Run one of them."""
    if name == "sender":
        found: Any = _send(int(words[0]), int(words[1]))
    elif name == "pair":
        found = _pair(int(words[0]))
    else:
        loops: dict[str, Any] = {
            "chain": lambda text: flows.bare_chain(int(text)),
            "keyed": lambda text: flows.bare_keyed(int(text)),
            "words": flows.bare_words,
        }
        found = loops[name](words[0]).seen.result()
    print(json.dumps(found))  # noqa: T201 - the process that started this one reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
