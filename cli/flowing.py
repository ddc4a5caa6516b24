"""How fast tuples flow through the channels of a region: samples in, rates and a table out.

Pure. `demo.py` takes the samples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from cli.showing import Line, Renderable, Rows, cell, joined, stacked

CURVE_CHARS: Final = 40
PEAK: Final = 1.5
"""A rate so many times the usual one has the highest bar."""
_BARS: Final = "▁▂▃▄▅▆▇█"
BEFORE, DURING, AFTER = "before", "during", "after"
PHASES: Final = (BEFORE, DURING, AFTER)
_STYLES: Final = {"": "dim", BEFORE: "cyan", DURING: "yellow", AFTER: "green"}


@dataclass(frozen=True, slots=True)
class Reading:
    """How many tuples a channel has processed in the launch of its PE that runs in this pod."""

    pe: int
    pod: str
    processed: float


@dataclass(slots=True)
class Channel:
    """What is known of one channel. `curve`: tuples a second, one value a sample."""

    pe: int
    pod: str = ""
    processed: float = 0.0
    curve: list[float] = field(default_factory=list)
    tuples: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Flow:
    """The fold of samples. `seconds`: how long each phase has lasted while tuples flowed."""

    channels: dict[str, Channel] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    phase: str = ""
    phases: list[str] = field(default_factory=list)
    at_s: float | None = None

    def add(self, at_s: float, readings: Mapping[str, Reading]) -> None:
        """A sample, at a time in seconds; a channel without a reading has processed nothing."""
        passed_s = at_s - self.at_s if self.at_s is not None else 0.0
        self.at_s = at_s
        self.phases.append(self.phase)
        for name, reading in readings.items():
            if name not in self.channels:
                earlier = self.samples - 1
                begun = 0.0 if earlier else reading.processed
                self.channels[name] = Channel(reading.pe, reading.pod, begun, [0.0] * earlier)
        grown = {name: self._grown(name, readings.get(name)) for name in self.channels}
        for name, tuples in grown.items():
            channel = self.channels[name]
            channel.curve.append(tuples / passed_s if passed_s else 0.0)
            if self.phase:
                channel.tuples[self.phase] = channel.tuples.get(self.phase, 0.0) + tuples
        if self.phase and (any(grown.values()) or self.phase == DURING):
            self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + passed_s

    @property
    def samples(self) -> int:
        """How many there were; each has a phase, and a value in each curve."""
        return len(self.phases)

    def _grown(self, name: str, reading: Reading | None) -> float:
        channel = self.channels[name]
        if reading is None:
            return 0.0
        # A new launch counts from 0.
        begun = channel.processed if reading.pod == channel.pod else 0.0
        channel.pod, channel.processed = reading.pod, reading.processed
        return max(reading.processed - begun, 0.0)

    def rate(self, name: str, phase: str) -> float | None:
        """Tuples a second of a channel in a phase; None if it had not begun."""
        seconds = self.seconds.get(phase, 0.0)
        tuples = self.channels[name].tuples.get(phase)
        return None if tuples is None or not seconds else tuples / seconds

    def flows_on(self, count: int, *, but: Collection[str] = ()) -> bool:
        """Whether so many channels have processed tuples, each in a pod that is not in `but`."""
        flowing = (each.processed > 0 and each.pod not in but for each in self.channels.values())
        return sum(flowing) >= count

    @property
    def pods(self) -> frozenset[str]:
        """The newest pod of each channel."""
        return frozenset(each.pod for each in self.channels.values())


def curve_of(values: Sequence[float], most: float) -> str:
    """A bar for each value, as high as it is beside `most`; a dot where nothing flowed."""
    top = len(_BARS)
    return "".join(
        _BARS[min(top, max(1, round(each / most * top))) - 1] if each and most else "·"
        for each in values
    )


def _curve(flow: Flow, channel: Channel, most: float) -> Line:
    """All samples in at most CURVE_CHARS bars: with time, a bar is the mean of several."""
    step = -(-flow.samples // CURVE_CHARS)
    means = [fmean(channel.curve[at : at + step]) for at in range(0, flow.samples, step)]
    phases = flow.phases[::step]
    bars = curve_of(means, most)
    return joined(*(cell(bar, _STYLES[phase]) for bar, phase in zip(bars, phases, strict=True)))


def flow_table(flow: Flow) -> Renderable:
    """The channels, a curve of each, and their rates in the three phases."""
    table = Rows(box=None, pad_edge=False)
    table.add_column("channel")
    table.add_column("PE", justify="right")
    table.add_column("tuples a second", min_width=CURVE_CHARS)
    for phase in PHASES:
        table.add_column(cell(phase, _STYLES[phase]), justify="right", min_width=6)
    most = _most(flow)
    for name, channel in sorted(flow.channels.items()):
        rates = [_rate(flow.rate(name, phase)) for phase in PHASES]
        table.add_row(name, str(channel.pe), _curve(flow, channel, most), *rates)
    sums = [_sum(flow, phase) for phase in PHASES]
    table.add_row(cell("all", "bold"), "", "", *(cell(_rate(each).plain, "bold") for each in sums))
    return table


def _most(flow: Flow) -> float:
    """The height of a curve: above the usual rate; what waited during a resize comes at once."""
    rates = [flow.rate(name, phase) for name in flow.channels for phase in (BEFORE, AFTER)]
    usual = max((rate for rate in rates if rate is not None), default=0.0)
    highest = max((max(each.curve, default=0.0) for each in flow.channels.values()), default=0.0)
    return usual * PEAK or highest


def _sum(flow: Flow, phase: str) -> float | None:
    rates = [rate for name in flow.channels if (rate := flow.rate(name, phase)) is not None]
    return sum(rates) if rates else None


def _rate(value: float | None) -> Line:
    return cell("-" if value is None else number(value), "dim" if value is None else "")


def number(value: float) -> str:
    """A whole number, with a space between thousands."""
    return f"{value:,.0f}".replace(",", " ")


def count_table(counted: Mapping[str, int], truth: Mapping[str, int]) -> Renderable:
    """The words in two columns: how often each was counted, and where that is not the truth."""
    cells = [
        _count(word, counted.get(word), truth.get(word)) for word in sorted({*counted, *truth})
    ]
    table = Rows(box=None, pad_edge=False, show_header=False)
    half = (len(cells) + 1) // 2
    for _ in range(2):
        table.add_column(justify="left", min_width=9)
        table.add_column(justify="right")
        table.add_column(min_width=8)
    nothing = (cell(""), cell(""), cell(""))
    for left, right in zip(cells[:half], [*cells[half:], nothing][:half], strict=True):
        table.add_row(*left, *right)
    return stacked(table)


def _count(word: str, counted: int | None, true: int | None) -> tuple[Line, Line, Line]:
    shown = cell("-" if counted is None else number(counted))
    if counted == true:
        return cell(word), shown, cell("✓", "green")
    return cell(word), shown, joined(cell("✗ ", "red"), cell(f"not {number(true or 0)}", "red"))
