"""The scheduler on an embedded cluster: the same code with other edges.

    manifest_files        files and folders of Kubernetes objects, each with its place
    workload_controllers  Deployments, Jobs and their kin become pods
    simulation            the scheduler runs until nothing is left to do
    run_limits            when a run is over, whatever plugins do
    attempt_log           what the scheduler said: the last attempt at each pod, every error
    evictions             who had to leave, and for whom
    simulated_feeds       measurements from manifests, not from the network
    simulation_report     where pods went, why one did not, who left, how full nodes are

Law of the package: there is no `if simulating` anywhere below. What differs is the API server
(memory) and the clock (virtual).
"""
