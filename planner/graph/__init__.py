"""The application spelt out: regions replicated, composites flattened, operators and connections.

Which operators share a PE is not known here (`fusion`).
"""
