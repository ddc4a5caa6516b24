"""pe-gateway: the HTTP interface of processing elements (README.md)."""
