"""The language all services speak: pure data, no I/O, nothing of ours imported from elsewhere."""
