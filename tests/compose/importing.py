"""Runs inside of an image: imports every module of ours, and uses what was cut of the libraries."""

import importlib
import json
import pkgutil
from importlib.util import find_spec

import numpy
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session
from scipy.optimize import milp

GENERATORS = (
    "deploy.generating",
    "deploy.pod_schema",
    "deploy.image.building",
    "deploy.image.sbom",
)
"""They write files of a checkout, and need what develops."""
ONLY_IN_PODS_OF_PES = ("h11",)
"""Of the extra `runtime` of millrace: the image of PEs has it, that of services need not."""

missing = {}
names = []
for package in (
    "millrace",
    "contracts",
    "planner",
    "placement",
    "services",
    "history",
    "cli",
    "deploy",
):
    root = importlib.import_module(package)
    names += [each.name for each in pkgutil.walk_packages(root.__path__, f"{package}.")]
for name in names:
    if not name.endswith("__main__") and name not in GENERATORS:
        try:
            importlib.import_module(name)
        except ImportError as problem:
            if problem.name in ONLY_IN_PODS_OF_PES and name.startswith("millrace.runtime."):
                continue
            missing[name] = str(problem)

request = AWSRequest(method="GET", url="https://bucket.s3.amazonaws.com/name")
S3SigV4Auth(Credentials("id", "secret"), "s3", "eu-west-1").add_auth(request)
Session().get_credentials()
found = {
    "modules": len(names),
    "missing": missing,
    "searched": bool(milp(numpy.array([1.0, 1.0])).success),
    "signed": "Authorization" in request.headers,
    "has_sandbox": find_spec("sandbox") is not None and find_spec("uvicorn") is not None,
}
print(json.dumps(found))  # noqa: T201
