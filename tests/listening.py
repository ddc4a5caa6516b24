"""Whether somebody listens at an address of this machine."""

from __future__ import annotations

import asyncio


async def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
