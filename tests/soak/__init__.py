"""Soak: `moorage run` on a real API server under load for long, and whether anything grows.

    __main__    `python -m tests.soak SCENARIO --minutes 20 --rate 200`
    samples     what a process holds: memory, tasks, sockets, file descriptors
    trend       how fast a series grows, and whether that is growth
    load        pods and nodes created, changed and deleted at a rate
    scenarios   churn, pending, nodes, storm, expiring

Law of the package: the scheduler is the real program in a process of its own, looked at from
outside; what is printed was measured.
"""
