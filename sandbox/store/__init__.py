"""The store of the embedded cluster: Kubernetes semantics as plain synchronous Python.

Nothing here knows HTTP, asyncio or the wall clock. `store.Store` is the way in; `sandbox.http`
turns requests into its calls, `sandbox.controllers` reads it through `watch` like everybody else.
"""
