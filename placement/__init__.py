"""Where the PEs of a job run: one decision over all its pools and constraints, pure.

What is known is in `cluster.py`, what is asked in `job.py`, what is answered in `answers.py`; start
reading at `deciding.py`, whose steps are the ladder: `problem.py` turns values into arrays,
`contradicting.py` and `bounds.py` refuse what needs no search, `greedy.py` and `exact.py` search,
`checking.py` looks at every placement again, and `explaining.py` says why there is none.
"""
