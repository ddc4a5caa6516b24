"""Why an object is not well: the cause, the remedy, and the chain that leads to the cause.

The command gathers (`cli/why_gathering.py`); what is here is pure: frozen values in, an answer out.
Read `things.py` and `case.py` first, then `rules.py`: the first rule that holds names the cause.
"""
