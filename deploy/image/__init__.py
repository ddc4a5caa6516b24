"""What the stages of the Dockerfile run: `assembling.py`, on nothing but the standard library."""
