"""An application as its bundle says it: the ADL read into a checked, immutable model.

Values and widths of the submission are put in here; what is replicated of it is `graph`'s business.
"""
