"""The log of facts and decisions: one port (`bus.py`), in memory, in a SQLite file, on Kafka.

What a record means is for the packages above; here it is bytes at an offset of a partition.
"""
