"""Readers of the log: what was seen, observed and decided, in order; why; recorded and replayed.

Nothing here writes to a topic or to the cluster, and no service imports it.
"""
