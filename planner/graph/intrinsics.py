"""Channels of an operator in its parallel regions, and the intrinsics that text may hold of them.

`getChannel()` and the like are replaced in host names, in ids of co- and ex-location and in the
names, subscriptions and properties of imports and exports, but not in operators' own parameters,
which the PE runtime evaluates.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Membership(NamedTuple):
    """One enclosing region of an operator."""

    region: int
    local: int
    width: int
    channel: int
    channels: int


def membership(region: int, local: int, width: int, around: tuple[Membership, ...]) -> Membership:
    """A channel of a region inside of others, which are given innermost first.

    global channel of level k = c_k + w_k * c_(k+1) + w_k * w_(k+1) * c_(k+2) …, from k outward.
    """
    if not around:
        return Membership(region, local, width, local, width)
    outer = around[0]
    return Membership(region, local, width, local + width * outer.channel, width * outer.channels)


_PLAIN = re.compile(
    r"get(Channel|LocalChannel|AllChannels|MaxChannels|LocalMaxChannels|AllMaxChannels)\(\)"
)
_BY_CHANNEL = re.compile(r"byChannel\(([^(),]*)(?:,\s*([0-9]{1,9})\s*)?\)")


def substituted(text: str, levels: tuple[Membership, ...]) -> str:
    """The text with every intrinsic replaced by its value for an operator of these regions."""
    if "(" not in text:
        return text
    text = _PLAIN.sub(lambda found: _value(found.group(1), levels), text)
    return _BY_CHANNEL.sub(lambda found: _by_channel(found, levels), text)


def _value(name: str, levels: tuple[Membership, ...]) -> str:
    inner = levels[0] if levels else Membership(-1, -1, 0, -1, 0)
    values = {
        "Channel": inner.channel,
        "LocalChannel": inner.local,
        "MaxChannels": inner.channels,
        "LocalMaxChannels": inner.width,
    }
    if name in values:
        return str(values[name])
    every = levels or (inner,)
    numbers = [item.channel if name == "AllChannels" else item.channels for item in every]
    return f"[{','.join(map(str, numbers))}]"


def _by_channel(found: re.Match[str], levels: tuple[Membership, ...]) -> str:
    prefix = found.group(1).strip()
    level = int(found.group(2) or 0)
    outermost_first = levels[::-1]
    if level >= len(outermost_first):
        return prefix
    return f"{prefix}_{outermost_first[level].channel}"
