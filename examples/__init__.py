"""Applications of our own, which `millrace demo` and the load tests run."""
