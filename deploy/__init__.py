"""Generators of what a cluster needs before services run, and what they wrote: CRDs and roles."""
