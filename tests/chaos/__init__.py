"""Chaos from a seed: two replicas of `moorage run` on a real API server, and everything goes wrong.

    __main__    `python -m tests.chaos --seed 1 --runs 10 --parallel 2 --results FILE`
    seed_run    the run of one seed, and the figures that are kept of it
    run         one run: a cluster, two replicas, faults, and what must hold at the end
    faults      which fault when, drawn from the seed
    line        the line between a replica and the API server, and what is done to it
    replicas    the two replicas: killed, stopped, started anew
    workload    nodes, pods, groups, quotas and budgets, drawn from the seed
    controllers what a kubelet and a ReplicaSet would do: pods end, are rejected, are replaced
    provisioner a toy provisioner of volumes
    rival       others that write to the same objects
    follower    lists and watches one resource, whatever becomes of the API server
    checker     what must never happen, judged by the watch alone
    settled     what must hold once all is quiet
    report      a run in words: figures, violations, the story of the pods involved

Law of the package: the schedulers are the real programs and are not looked into. What is judged is
what the API server tells everybody.
"""
