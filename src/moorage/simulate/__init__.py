"""The scheduler on an embedded cluster: the same code with other edges.

    manifests    files and folders of Kubernetes objects, each with its place
    workloads    Deployments, Jobs and their kin become pods
    running      the scheduler runs until nothing is left to do
    reporting    where pods went, why one did not, how full nodes are

Law of the package: there is no `if simulating` anywhere below. What differs is the API server
(memory) and the clock (virtual).
"""
