"""The microservice chassis, free of any domain: running > kube > table > log > process.

A package imports from those to its right only; `contracts/` is the only other thing that it sees.
"""
