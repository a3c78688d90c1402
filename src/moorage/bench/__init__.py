"""Throughput of the decision itself: pop, filter, score, choose, assume, for every pod.

    kinds        the workloads, each a cluster and the pods that arrive at it
    ganging      groups of pods, tried as a whole
    measuring    the loop, timed; the work, counted
    starting     from the first byte of the list to the first decision

Law of the package: no API server, no binding, no events; the queue, the cache and the plugins are
the real ones.
"""
