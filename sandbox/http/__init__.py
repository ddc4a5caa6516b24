"""The HTTP face of the embedded cluster: what kubectl and clients see of `sandbox.store`.

`api.Api` turns one request into one answer without sockets; `server` serves it over HTTP,
`in_process` hands it to clients that live in the same event loop. No semantics of objects live
here: those are the store's.
"""
