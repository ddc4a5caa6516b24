"""The container runtime of the sandbox: containers that are processes of this machine.

`runtime.py` is its face: the kubelet says what to start and stop, and sees what became of it.
Which containers have to run is decided in `sandbox/controllers`.
"""
