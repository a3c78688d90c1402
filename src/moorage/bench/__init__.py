"""Throughput of the decision itself: pop, filter, score, choose, assume, for every pod.

    device_workloads  workloads with claims for devices
    gangs             workloads of groups: that arrive, that preempt, that leave as a whole
    startup           from the first byte of the lists to the first decision
    surroundings      what happens besides attempts: volumes, gated pods, storms of updates
    throughput        the timed loop
    workload_kinds    the workloads that throughput is measured on

Law of the package: the scheduler is assembled as for `moorage run`, and decides with the same code.
No API server is asked, nothing is bound and nothing reported.
"""
