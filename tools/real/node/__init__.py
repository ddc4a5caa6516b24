"""One real node beside kwok's: a kubelet, containerd, kube-proxy and CoreDNS, for Linux and root.

plan.py          its addresses and names (pure)
requiring.py     what a machine lacks to run it, in a sentence
archives.py      images of one static program each, as `docker save` would write them
certificates.py  the authority that the API server and the kubelet know each other by
parts.py         its processes and the files that they read (pure but for `write_*`)
namespaces.py    the namespaces that it lives in, and its cgroups
dns.py           the objects of the cluster's DNS (pure)

It lives in a PID, a mount and a network namespace of its own. When the first process of these ends,
the kernel ends every other one and takes back mounts, interfaces, routes and iptables chains. So
nothing is left behind, however the pair ends; only the cgroups have to be removed (docs/adr/0048).
"""
