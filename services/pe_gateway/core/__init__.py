"""What a request means and what follows from it: no I/O, no clock."""
