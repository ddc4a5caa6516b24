"""The workshop: what a checkout builds and runs around millrace. No wheel and no image has it.

real/         Apache Kafka and a real control plane as plain processes, for tests and `--real`
helm.py       Helm, of the pinned version
rendering.py  the manifests of `millrace install`, rendered by Helm
"""
