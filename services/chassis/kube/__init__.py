"""The Kubernetes API: transport, list-watch, Leases, Events, and writes that carry a guard.

Nothing here decides anything. A response enters the table at once (`writing.py`).
"""
