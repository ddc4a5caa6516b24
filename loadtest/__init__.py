"""Load profiles and their measurement: what a submit and a resize cost against the floor."""
