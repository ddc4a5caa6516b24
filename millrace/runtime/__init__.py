"""What executes operators; `local.py` runs a whole application in one process."""
