"""Where the PEs of a job run: one decision over all its pools and constraints, pure.

The cluster is in `cluster.py`, the request in `job.py`, the answer in `answers.py`; start
reading at `deciding.py`, whose steps are the ladder: `problem.py` turns values into arrays,
`contradicting.py` and `bounds.py` refuse what needs no search, `greedy.py` and `exact.py` search,
`checking.py` looks at every placement again, and `explaining.py` gives the reason of a refusal.
"""
