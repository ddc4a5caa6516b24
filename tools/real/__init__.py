"""The real pair: Apache Kafka and a real Kubernetes control plane as plain processes on loopback.

pins.py         what is pinned under tests/real, and the digest that names its build
building.py     builds the pinned programs once, into a cache outside the tree
processes.py    processes that outlive the command, identified by more than their pid
state.py        the folder of a pair: its plan, its processes and its lock
parts.py        the processes of a pair and their command lines (pure)
files.py        the files that they read: credentials, kubeconfigs, Kafka's properties (mostly pure)
probing.py      health checks of the parts
preparing.py    CRDs and nodes in a cluster that answers
pair.py         up, down, status; stop and start of one part
commands.py     `millrace real up|status|down`

With a real node (`--node`):

node/               its addresses, processes, files and namespaces
node_building.py    kubelet, kube-proxy, CoreDNS and the pause program, built once
node_running.py     containerd: its health, and the images that it gets
node_furnishing.py  the DNS of the cluster, and when the node is ready

No module here knows or runs a service of millrace.
"""
