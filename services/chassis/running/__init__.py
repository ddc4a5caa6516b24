"""Runs a stage: which key is due, its decision, its effects, and the process around it.

The top package of the chassis. A service sees `stage.py` and `wiring.py`; a process, `hosting.py`.
"""
