"""Which nodes carry which marks of host pools, pure: start reading at `node_rules.py`."""
