"""Soak: `moorage run` on a real API server under load for long, and whether anything grows.

    __main__    `python -m tests.soak SCENARIO --minutes 20 --rate 200`
    samples     what a process holds: memory, tasks, sockets, file descriptors
    trend       how fast a series grows, and whether that is growth
    load        pods and nodes created, changed and deleted at a rate
    scenarios   churn, pending, nodes, storm, expiring
    in_process  churn of pods of every shape in this process, without an API server
    shapes      pods of every shape with what belongs to them
    byte_cluster  an API server that keeps what is there, and no more
    holders     how much every container of a program holds, by the way that leads to it

Law of the package: the scheduler is the real program in a process of its own, looked at from
outside, but for `in_process`; what is printed was measured.
"""
