"""The benchmark of placement: the size of its jobs, and both sides of the edge."""

from __future__ import annotations

from loadtest.placement import PES, Decided, edges, ordinary, render
from placement.answers import Placed, Refused
from placement.deciding import decide


def test_there_are_ten_jobs_at_the_edge_of_500_pes_each() -> None:
    jobs = [job for _, _, job in edges()]
    assert [len(job.pes) for job in (*jobs, ordinary())] == [PES] * 11
    assert len({job.name for job in jobs}) == 10


def test_one_unit_more_than_fits_is_refused() -> None:
    jobs = {name: (cluster, job) for name, cluster, job in edges()}
    cluster, fits = jobs["groups that fill nodes, just fit"]
    assert cluster is not None
    assert isinstance(decide(cluster, fits), Placed)
    assert isinstance(decide(cluster, jobs["groups that fill nodes, one too many"][1]), Refused)


def test_the_table_names_answer_and_passes() -> None:
    (_, row) = render([Decided("a job", "placed", 0.0125, 4.2, 5.0)]).splitlines()
    assert row.split() == ["a", "job", "placed", "12.5", "4.2", "5"]
