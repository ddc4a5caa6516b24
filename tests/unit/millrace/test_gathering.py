"""A launch reads its own seal first, and those of others only where it needs them."""

from __future__ import annotations

import pytest

from millrace.runtime.gathering import Need, gathered, missing_of
from millrace.runtime.state_names import StateName
from millrace.runtime.states import SavedPe

OPERATORS = 3
"""In each channel, each in a PE of its own."""


def _pe(channel: int, operator: int) -> int:
    """The ids of PEs: 0 is the source, then come the channels one by one."""
    return 1 + channel * OPERATORS + operator


class Seals:
    """The seals of a job: a source, and a region with chains of operators; counts what is read."""

    def __init__(self, width: int) -> None:
        self.states = {0: SavedPe(job=7, pe=0, launch=1, instances={"Source": ((),)})}
        for channel in range(width):
            for operator in range(OPERATORS):
                pe = _pe(channel, operator)
                self.states[pe] = SavedPe(
                    job=7, pe=pe, launch=1, instances={f"Op{operator}": (((channel, width),),)}
                )
        self.read_pes: list[int] = []

    async def read(self, name: StateName) -> SavedPe:
        self.read_pes.append(name.pe)
        return self.states[name.pe]

    async def read_by(self, pe: int, *needs: Need) -> list[int]:
        """The PEs whose seals a launch reads, in order."""
        self.read_pes = []
        names = [StateName(each, 1, "handover", 5) for each in self.states]
        found = await gathered(self.read, names, pe, needs)
        assert not missing_of(needs, found) or len(found) == len(names)
        assert sorted(each.pe for each in found) == sorted(self.read_pes)
        return self.read_pes


def _keyed(channel: int, width: int, operator: int = 0) -> Need:
    return Need(f"Op{operator}", ((channel, width),), "groups")


async def test_who_keeps_what_he_had_reads_his_own_seal_alone() -> None:
    seals = Seals(16)
    assert await seals.read_by(0, Need("Source", (), "channel")) == [0]
    of_channel = Need("Op1", ((5, 64),), "channel")
    assert await seals.read_by(_pe(5, 1), of_channel) == [_pe(5, 1)]


@pytest.mark.parametrize(("before", "after"), [(16, 64), (64, 16), (16, 17), (64, 63)])
async def test_a_channel_finds_its_groups_of_keys_with_few_reads(before: int, after: int) -> None:
    """A PE of 64 channels read 193 seals before, and all of them 37,000."""
    seals, most, total = Seals(before), 0, 0
    for channel in range(after):
        for operator in range(OPERATORS):
            need = _keyed(channel, after, operator)
            read = await seals.read_by(_pe(channel, operator), need)
            groups = [each for each in range(1024) if each * after // 1024 == channel]
            wanted = {_pe(each * before // 1024, operator) for each in groups}
            assert wanted <= set(read)
            most, total = max(most, len(read) - len(wanted)), total + len(read)
    assert most <= 2 * OPERATORS + 2
    assert total <= OPERATORS * (6 * after + 2 * before)


async def test_a_new_channel_without_groups_learns_that_nobody_had_it() -> None:
    read = await Seals(16).read_by(_pe(20, 1), Need("Op1", ((20, 64),), "channel"))
    assert read == [0, 1, 2]


async def test_what_moved_to_another_pe_is_found_there() -> None:
    seals = Seals(16)
    moved = Need("Op1", ((5, 16),), "channel")
    assert _pe(5, 1) in await seals.read_by(0, Need("Source", (), "channel"), moved)


async def test_who_keeps_a_part_of_groups_reads_all_channels_of_his_operator() -> None:
    read = await Seals(4).read_by(_pe(1, 0), Need("Op0", ((1, 4),), "keys"))
    assert set(read) >= {_pe(each, 0) for each in range(4)}


async def test_what_nobody_sealed_is_looked_for_everywhere() -> None:
    """One PE is gone: its state is among the fallbacks, if anywhere."""
    seals = Seals(4)
    del seals.states[_pe(2, 0)]
    read = await seals.read_by(_pe(2, 0), _keyed(2, 4))
    assert set(read) == seals.states.keys()


async def test_of_seals_of_an_older_runtime_all_are_read() -> None:
    """They do not say which instances their PEs had."""
    seals = Seals(4)
    seals.states[_pe(1, 0)] = SavedPe(job=7, pe=_pe(1, 0), launch=1)
    read = await seals.read_by(_pe(1, 0), _keyed(1, 4))
    assert set(read) == seals.states.keys()
