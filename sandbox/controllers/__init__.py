"""The controllers of the embedded cluster: what turns stored objects into a cluster that lives.

`Controllers` is the way in. Garbage collector, scheduler, kubelets, node life cycle and namespace
deletion each listen to the store's watches and write to the store; none calls another. Nothing
here knows HTTP or the services that run on the cluster.
"""

from sandbox.controllers.controllers import Controllers
from sandbox.controllers.settings import Settings

__all__ = ["Controllers", "Settings"]
