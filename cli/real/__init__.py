"""The real pair: Apache Kafka and a real Kubernetes control plane as plain processes on loopback.

pins.py         what is pinned under tests/real, and the digest that names its build
building.py     builds the pinned programs once, into a cache outside the tree
processes.py    processes that outlive the command, known by more than their pid
state.py        the one folder of a pair, who may work on it, what is remembered of it
parts.py        which processes there are, and their command lines (pure)
files.py        the files that they read: credentials, kubeconfigs, Kafka's properties (mostly pure)
probing.py      whether a part answers
furnishing.py   CRDs and nodes in a cluster that answers
pair.py         up, down, status, one part stopped and started
commands.py     `millrace real up|status|down`

Nothing here knows a service of millrace or runs one.
"""
