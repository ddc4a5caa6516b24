"""Which operators share a PE: constraints, the schemes, and what stays at a resize.

What a PE then says is `description`'s business; the two do not know each other.
"""
