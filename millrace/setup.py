"""Wheels are built outside of the source, so that none has a module of a former build."""

import tempfile

from setuptools import setup

with tempfile.TemporaryDirectory() as folder:
    setup(
        script_name="setup.py",  # which is no module of the package, although it is beside them
        options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}},
    )
