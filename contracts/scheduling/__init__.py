"""Terms of the Kubernetes scheduler that services read, from quantities to nodes.

`sandbox/` keeps a copy of its own on purpose: it is the independent oracle of the tests, and would
agree with every mistake made here if it shared this one.
"""
