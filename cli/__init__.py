"""The `millrace` command: one module a command, thin over the chassis's Kubernetes port."""
