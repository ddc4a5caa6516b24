"""What each PE says: its connections, ports, threads and annotations, and the AADL made of them.

Which operators it has is decided by `fusion`; the two do not know each other.
"""
