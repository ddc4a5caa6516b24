"""From records to what a service knows: reading, epochs, restore, and the table of entries.

What may be decided on that, and when, is `running/`.
"""
