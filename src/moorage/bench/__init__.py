"""Throughput of the decision itself: pop, filter, score, choose, assume, for every pod.

    device_workloads  workloads with claims for devices
    group_attempts    attempts at whole groups of pods, for the workloads of gangs
    group_preemption  makes room for whole groups, for the workload of gangs that preempt
    surroundings      what happens besides attempts: volumes, gated pods, storms of updates
    startup           from the first byte of the lists to the first decision
    throughput        the timed loop
    whole_groups      a cluster full of groups that can only be evicted as a whole
    workload_kinds    the workloads that throughput is measured on

Law of the package: no API server, no binding, no events. The queue, the cache and the plugins are
the real ones.
"""
