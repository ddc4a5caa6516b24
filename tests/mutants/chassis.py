"""Mutants of the chassis: log, table, restore, keyed work, back-off, leases, guarded writes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/chassis"
_FAULTS = "tests/simulation/test_faults.py"
_LIES = f"{_UNIT}/test_lies.py"
_TABLE = f"{_UNIT}/test_table.py"
_RECONCILING = f"{_UNIT}/test_reconciling.py"
_WRITING = f"{_UNIT}/test_writing.py"

_UNREADABLE = f"{_UNIT}/test_unreadable.py"
_SALVAGING = f"{_UNIT}/test_salvaging.py"

MUTANTS = (
    Mutant(
        "one item that nests too deep costs the whole list",
        "services/chassis/salvaging.py",
        "        return [_item(outline, span) for span in spans], metadata\n",
        "        return [orjson.loads(outline.text_of(span)) for span in spans], metadata\n",
        (_SALVAGING,),
    ),
    Mutant(
        "managed fields that nest too deep make an object unreadable",
        "services/chassis/salvaging.py",
        '        if key != b"managedFields"\n',
        "",
        (_SALVAGING,),
    ),
    Mutant(
        "a backslash before a quote is not looked at",
        "services/chassis/salvaging.py",
        "            is_quote[1:] &= backslashes % 2 == 0\n",
        "            is_quote[1:] &= backslashes == 0\n",
        (_SALVAGING,),
    ),
    Mutant(
        "a watch goes on before an event that nobody can read",
        "services/chassis/listing.py",
        '        except Garbled as problem:\n            self._version = ""\n',
        "        except Garbled as problem:\n",
        (_UNREADABLE,),
    ),
    Mutant(
        "a part that cannot be read counts as empty",
        "contracts/unreadable.py",
        "    def __bool__(self) -> bool:\n        return True\n",
        "    def __bool__(self) -> bool:\n        return False\n",
        (_UNREADABLE,),
    ),
    Mutant(
        "a key that needs what cannot be read counts as crashed",
        "services/chassis/reconciling.py",
        "            except ObjectUnreadable as problem:\n",
        "            except ZeroDivisionError as problem:\n",
        (_UNREADABLE,),
    ),
    Mutant(
        "restore reads the log from its beginning",
        "services/chassis/reading.py",
        "start = {partition: offset or 0 for partition, offset in committed.items()}",
        "start = dict.fromkeys(committed, 0)",
        (_FAULTS, "-k", "restore_reads_what_exists"),
    ),
    Mutant(
        "live before everything that exists was said",
        "services/chassis/restoring.py",
        "            if not waiting.missing:\n",
        "            if True:\n",
        (_RECONCILING,),
    ),
    Mutant(
        "live without making every key dirty once",
        "services/chassis/reconciling.py",
        "        self._mark_all((key for key in keys if self._part_of(key) in completed), cause)\n",
        "        del keys, cause\n",
        (_RECONCILING,),
    ),
    Mutant(
        "only what appears makes a key dirty, not what goes",
        "services/chassis/reconciling.py",
        "        for entry in (change.old, change.new):\n",
        "        for entry in (change.new,):\n",
        (_RECONCILING,),
    ),
    Mutant(
        "a bad object stops the reading of others",
        "services/chassis/reconciling.py",
        "            return self.table.apply(said.fact, said.partition)\n        except Exception:",
        "            return self.table.apply(said.fact, said.partition)\n        except OSError:",
        (_RECONCILING, "-k", "indexed"),
    ),
    Mutant(
        "a key that crashes is tried again at once",
        "services/chassis/reconciling.py",
        "                return self._failing.mark_failed(key, self._runtime.clock.now())\n",
        "                return self._runtime.clock.now()\n",
        (f"{_UNIT}/test_crashing.py",),
    ),
    Mutant(
        "a key that becomes dirty while it runs is forgotten",
        "services/chassis/keyed_work.py",
        "            self._marked_again.add(key)\n",
        "            pass\n",
        (f"{_UNIT}/test_keyed_work.py",),
    ),
    Mutant(
        "a sleep lasts as long as the wall clock said once",
        "services/chassis/keyed_work.py",
        "WAKE_DELAY_MAX_S = 60.0\n",
        "WAKE_DELAY_MAX_S = 3600.0\n",
        (f"{_UNIT}/test_keyed_work.py", "-k", "steps_back"),
    ),
    Mutant(
        "retries do not back off",
        "services/chassis/backing_off.py",
        "        growth = 2.0 ** min(known.count - 1, 30)\n",
        "        growth = 1.0\n",
        (_RECONCILING, f"{_UNIT}/test_listing.py"),
    ),
    Mutant(
        "an effect that finds newer input does not stop the others",
        "services/chassis/carrying_out.py",
        "            fence.is_broken = True\n            result.decide_again = True\n",
        "            result.decide_again = True\n",
        (_RECONCILING,),
    ),
    Mutant(
        "effects of an older decision go on although the input changed",
        "services/chassis/carrying_out.py",
        "self._stage.fence(self._table, key) != fence.decided_on",
        "False",
        (_RECONCILING,),
    ),
    Mutant(
        "epochs are ignored",
        "services/chassis/epochs.py",
        "        if highest is not None and order < highest:\n",
        "        if False:\n",
        (_TABLE,),
    ),
    Mutant(
        "another cluster does not empty the table",
        "services/chassis/epochs.py",
        "Verdict.OTHER_CLUSTER if self._cluster_uid else Verdict.TAKE",
        "Verdict.TAKE",
        (_TABLE,),
    ),
    Mutant(
        "a fact of the past replaces what is known",
        "services/chassis/table.py",
        "        if same and entry.resource_version <= old.resource_version:\n",
        "        if False:\n",
        (_TABLE,),
    ),
    Mutant(
        "deletions that nobody saw are never found",
        "services/chassis/table.py",
        "                if row.partition == partition and row.said < order:\n",
        "                if False:\n",
        (_TABLE,),
    ),
    Mutant(
        "an own write is swept by a list that began before it",
        "services/chassis/table.py",
        "LISTS_OUTLIVED_MAX = 2\n",
        "LISTS_OUTLIVED_MAX = 1\n",
        (_TABLE,),
    ),
    Mutant(
        "what is gone comes back by a late fact",
        "services/chassis/tombstones.py",
        "return known is not None and (known.version is None",
        "return False and (known is None",
        (_TABLE,),
    ),
    Mutant(
        "a false deletion outranks a look at the API server",
        "services/chassis/tombstones.py",
        "        if known is not None and known.at <= asked_at:\n",
        "        if False:\n",
        (_LIES,),
    ),
    Mutant(
        "the late answer of a GET outranks a deletion",
        "services/chassis/tombstones.py",
        "        if known is not None and known.at <= asked_at:\n",
        "        if known is not None:\n",
        (_LIES,),
    ),
    Mutant(
        "numbers beyond all measure are believed",
        "contracts/facts.py",
        "    if type(value) is not int or not 0 <= value <= NUMBER_MAX:\n",
        "    if type(value) is not int:\n",
        (_LIES,),
    ),
    Mutant(
        "an absence is trusted without a GET",
        "services/chassis/writing.py",
        "            there = await self._kube.get(resource, namespace, name)\n",
        "            raise NotFound(404, 'NotFound', name, {})\n",
        (_WRITING,),
    ),
    Mutant(
        "409 is success, whoever the owner is",
        "services/chassis/writing.py",
        "        await self._require_ours(resource, existing, body)\n",
        "",
        (_WRITING,),
    ),
    Mutant(
        "a create whose outcome is unknown has failed",
        "services/chassis/writing.py",
        "            if not problem.outcome_unknown or"
        " await self.confirm_absent(resource, namespace, name):\n                raise\n",
        "            raise\n",
        (_WRITING,),
    ),
    Mutant(
        "a stale patch is forced through under the new version",
        "services/chassis/writing.py",
        "        if self._project(entry.kind, there) != entry.data:\n",
        "        if False:\n",
        (_WRITING,),
    ),
    Mutant(
        "an older generation overwrites the stamp of a newer one",
        "services/chassis/writing.py",
        '        if written > wanted or "spec" in body:\n',
        '        if "spec" in body:\n',
        (_WRITING,),
    ),
    Mutant(
        "a delete drops the uid from its preconditions",
        "services/chassis/kube.py",
        '        guard: Json = {"uid": uid}\n',
        "        guard: Json = {}\n",
        ("tests/contract/test_kube.py",),
    ),
    Mutant(
        "a patch carries no version",
        "services/chassis/kube.py",
        '{**meta, "resourceVersion": str(resource_version)}',
        "meta",
        ("tests/contract/test_kube.py",),
    ),
    Mutant(
        "a watch that is cut waits for the server's goodbye",
        "services/chassis/kube_http.py",
        "        connection.transport.abort()\n",
        "        pass\n",
        (f"{_UNIT}/test_cutting_watches.py",),
    ),
    Mutant(
        "a Lease is taken from one who renews it",
        "services/chassis/leases.py",
        "return unchanged_s >= float(",
        "return True or bool(",
        (f"{_UNIT}/test_leases.py",),
    ),
    Mutant(
        "a Lease that could not be renewed in time is held on to",
        "services/chassis/leases.py",
        "RENEW_WITHIN = 2 / 3\n",
        "RENEW_WITHIN = 20.0\n",
        (f"{_UNIT}/test_leases.py",),
    ),
    Mutant(
        "nobody notices that the process slept",
        "services/chassis/waking.py",
        "        if last is not None and now - last > SLEPT_S:\n",
        "        if False:\n",
        (f"{_UNIT}/test_waking.py",),
    ),
    Mutant(
        "who slept decides on what it knew",
        "services/chassis/reconciling.py",
        "        self._restore.doubt()\n",
        "        pass\n",
        (f"{_UNIT}/test_waking.py",),
    ),
)
