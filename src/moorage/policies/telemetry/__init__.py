"""Measurements that feeds write and policies read: usage, energy, network latency.

    latency_measurements  network latency between zones and nodes: from the configured table
    metric_sources        where measurements come from: providers as plugin arguments
    node_measurements     the last measurement of each node: cpu and memory in use

Law of the package: it keeps what feeds write, with the time of each measurement. It reads no clock
and asks no server.
"""
