"""From facts to what decisions look at, the HTTP server, and writes to the API server."""
