"""What somebody writes into the log who should not: damaged records, and records that lie.

Made of the records that are there, so that they come near to what readers believe.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import orjson

from contracts import labels
from contracts.facts import KINDS
from contracts.topics import DEFAULT_PREFIX, PARTITIONS, RESOURCES, TopicLayout, partition_of
from services.chassis.log.bus import NewRecord, Partition, Record
from tests.fuzz.hostile import Json, damaged, deep, value
from tests.fuzz.raw import Raw, nested_lists, nested_maps, written
from tests.fuzz.storable import DEPTHS, KEYS_MAX, MARKUP, NUMBERS

LARGE_CHARS = (10_000, 100_000, 1_000_000)
HUGE = (2**40, 2**53, 2**61, 2**62 + 1, 2**63 - 1, 1e30, 10**15)


class Scribe:
    """Makes records out of `true`, those that watch-ingest wrote under that prefix of topics."""

    def __init__(
        self, dice: random.Random, true: Sequence[Record], *, prefix: str = DEFAULT_PREFIX
    ) -> None:
        self._dice = dice
        self._true = true
        self._prefix = prefix
        self._number = 0
        self.ways: tuple[Callable[[], NewRecord], ...] = (
            self.noise,
            self.other_key,
            self.other_headers,
            self.cut_value,
            self.other_value,
            self.other_value,
            self.elsewhere,
            self.unknown_kind,
            self.said_again,
            self.another_namespace,
            self.deletion,
            self.completion,
            *(self.deep_record,) * 2,
            *(self.large_record,) * 2,
            *(self.odd_record,) * 2,
            *(self.false_unreadable,) * 2,
        )

    def _any(self) -> Record:
        return self._dice.choice(self._true)

    def _fact(self) -> Record:
        while True:
            record = self._any()
            if not record.key.startswith(b"sync/"):
                return record

    # ------------------------------------------------------------------ damaged

    def noise(self) -> NewRecord:
        """Bytes."""
        noise = [self._dice.randbytes(self._dice.choice((0, 1, 40, 4_000))) for _ in range(3)]
        return NewRecord(self._any().partition, noise[0], noise[1], (("ce_id", noise[2]),))

    def other_key(self) -> NewRecord:
        """A key that is not the value's."""
        record = self._any()
        key = self._dice.choice((b"", b"Job", b"Job//", b"sync/Job", b"\xff\xfe", self._any().key))
        return NewRecord(record.partition, key, record.value, record.headers)

    def other_headers(self) -> NewRecord:
        """A header missing or wrong."""
        record, dice = self._any(), self._dice
        headers = [each for each in record.headers if dice.random() < 0.9]
        place = dice.randrange(len(headers) + 1)
        wrong = dice.choice((b"", b"\xff", b"2", b"nan", b"1e999", b"com.ibm.streams.fact.x"))
        headers[place : place + 1] = [(dice.choice(record.headers)[0], wrong)]
        return NewRecord(record.partition, record.key, record.value, tuple(headers))

    def cut_value(self) -> NewRecord:
        """A value that is no JSON, or no object."""
        record, dice = self._any(), self._dice
        cut = record.value[: dice.randrange(len(record.value))]
        wrong = dice.choice((cut, b"", b"\xff", b"[]", b"null", b"NaN", orjson.dumps(deep(200))))
        return NewRecord(record.partition, record.key, wrong, record.headers)

    def other_value(self) -> NewRecord:
        """JSON with wrong types; under a version that is known nothing of it counts as news."""
        record = self._any()
        told = damaged(self._dice, orjson.loads(record.value), places=self._dice.choice((1, 3)))
        if isinstance(told, dict) and isinstance(told.get("resourceVersion"), int | float):
            told["resourceVersion"] = orjson.loads(record.value)["resourceVersion"]
        return NewRecord(record.partition, record.key, _bytes(told), record.headers)

    # ------------------------------------------------------------------ lies

    def elsewhere(self) -> NewRecord:
        """In a partition that is not its job's."""
        record = self._fact()
        partition = Partition(RESOURCES.name(self._prefix), self._dice.randrange(PARTITIONS))
        return NewRecord(partition, record.key, record.value, record.headers)

    def unknown_kind(self) -> NewRecord:
        """Of a kind that nobody watches."""
        told = orjson.loads(self._fact().value) | {"kind": self._dice.choice(("Secret", "", "Jöb"))}
        return self._saying(told)

    def said_again(self) -> NewRecord:
        """The very same once more."""
        record = self._any()
        return NewRecord(record.partition, record.key, record.value, record.headers)

    def another_namespace(self) -> NewRecord:
        """An object of the good job seems to be in a namespace that may not even exist."""
        told = orjson.loads(self._fact().value)
        told["namespace"] = self._dice.choice(("elsewhere", "nowhere", "kube-system", "x\n", "é"))
        return self._saying(told)

    def deletion(self) -> NewRecord:
        """Something was deleted, it says, that never was; or in a version beyond all measure.

        One of the good Job itself has a test of its own: tests/simulation/test_strangers.py.
        """
        told = orjson.loads(self._fact().value) | {"uid": "another"}
        told["resourceVersion"] = self._dice.choice((told["resourceVersion"], *HUGE))
        return self._saying(told | {"object": None}, "deletion")

    def completion(self) -> NewRecord:
        """All was reported, it says, in an epoch that nobody has reached, or in another cluster."""
        dice = self._dice
        epoch = dict(orjson.loads(self._any().value)["epoch"])
        match dice.randrange(6):
            case 0:
                epoch["incarnation"] = dice.choice(HUGE)
            case 1:
                epoch["list"] = dice.choice(HUGE)
            case 2:
                epoch["cluster"] = "another-cluster"
            case 3:
                epoch[dice.choice(("incarnation", "list", "cluster"))] = value(dice)
        kind = dice.choice((*KINDS, "Secret"))
        told = {"kind": kind, "epoch": epoch, "full": dice.choice((True, False, None))}
        return self._saying(told, "sync-completed")

    # ------------------------------------------------------------------ what no reader should take

    def deep_record(self) -> NewRecord:
        """A fact that nests up to 9,000 levels deep, somewhere."""
        dice = self._dice
        told = self._of_stranger()
        deep_ = dice.choice((nested_maps, nested_lists))(dice.choice(DEPTHS))
        told[dice.choice(("object", "epoch", "x", "name", "job"))] = deep_
        if isinstance(told["object"], dict):
            told["object"][dice.choice(("metadata", "spec", "status", "x"))] = deep_
        return self._saying(told)

    def large_record(self) -> NewRecord:
        """A fact of up to a million characters, or of 50,000 keys."""
        dice = self._dice
        told, size = self._of_stranger(), dice.choice(LARGE_CHARS)
        keys = {f"k{number}": "v" for number in range(min(size // 20, KEYS_MAX))}
        large = dice.choice(("x" * size, keys, [1] * (size // 3)))
        told["object"][dice.choice(("metadata", "spec", "status", "node"))] = large
        return self._saying(told)

    def odd_record(self) -> NewRecord:
        """Lone surrogates, control characters, markup and numbers at every border, anywhere."""
        dice = self._dice
        told = self._of_stranger()
        for _ in range(3):
            text = dice.choice(MARKUP)
            place = dice.choice((told, told["object"], told["object"].setdefault("metadata", {})))
            if isinstance(place, dict):
                odd = dice.choice((text, {text: text}, [text], dice.choice(NUMBERS)))
                place[dice.choice(("x", "labels", "annotations", "job", "name", "phase"))] = odd
        return self._saying(told)

    def false_unreadable(self) -> NewRecord:
        """An object cannot be read, it says, for reasons of all kinds; or a part that is there."""
        dice = self._dice
        told = dice.choice((self._of_stranger, lambda: orjson.loads(self._object().value)))()
        why: Json = dice.choice((*MARKUP, "", 5, True, {"a": 1}, [], "x" * 100_000))
        told["unreadable"] = Raw(nested_lists(100)) if dice.random() < 0.1 else why
        told["object"] = dice.choice((told["object"], {}, {"metadata": {}}, {"metadata": None}))
        return self._saying(told)

    def _object(self) -> Record:
        """A record of an object that exists."""
        while True:
            record = self._fact()
            if orjson.loads(record.value).get("object"):
                return record

    def _of_stranger(self) -> dict[str, Json]:
        """A true record of an object that exists, changed to name an object of another job.

        What such a record can do to the job that it names is in docs/limits.md ("Bad input").
        """
        self._number += 1
        name = f"odd-{self._number}"
        told: dict[str, Json] = orjson.loads(self._object().value)
        metadata = told["object"].get("metadata", {})
        if labels.JOB in metadata.get("labels", {}):
            metadata["labels"] |= {labels.JOB: name, labels.JOB_UID: name}
        if "owners" in metadata:
            metadata["owners"] = []
        return told | {"name": name, "uid": name, "job": name}

    def _saying(self, told: Json, word: str = "") -> NewRecord:
        """A record that is well made, whatever it says."""
        record = self._fact()
        headers = dict(record.headers)
        if word:
            headers["ce_type"] = f"com.ibm.streams.fact.{word}".encode()
        kind = str(told.get("kind"))
        key = f"{kind}/{told.get('namespace')}/{told.get('name')}"
        if word == "sync-completed":
            key = f"sync/{kind}"
        projection = KINDS.get(kind)
        topic = projection.topic if projection else RESOURCES
        partition = Partition(
            topic.name(self._prefix), self._dice.randrange(TopicLayout().count(topic))
        )
        if "job" in told and topic is RESOURCES:
            partition = Partition(topic.name(self._prefix), _home(told))
        return NewRecord(
            partition, key.encode(errors="surrogatepass"), _bytes(told), tuple(headers.items())
        )


def _home(told: Json) -> int:
    job = str(told["job"]).encode(errors="replace").decode()
    return partition_of(str(told["namespace"]), job, PARTITIONS)


def _bytes(told: Json) -> bytes:
    try:
        return written(told)
    except RecursionError:
        return bytes(nested_lists(5_000))
