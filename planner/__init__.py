"""The planner: a pure function from a request to the plan of one generation.

`drafting` and `planning` are its steps in order; `outline` and `explaining` say for people what a
draft is.
"""
