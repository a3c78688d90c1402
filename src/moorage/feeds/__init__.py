"""Feeds: measurements that policies use and no watch delivers, read periodically.

    feeds                   reads each source and writes its values to the profiles
    latency_prober          measures round trips to other nodes
    latency_readers         reads latencies between zones or nodes from a ConfigMap or a file
    metrics_server          reads node usage from metrics.k8s.io, as metrics-server serves it
    price_readers           price tables from a ConfigMap or a file
    prometheus_feed         reads node usage and energy from a Prometheus server by instant queries
    readings                what a feed has read, and the protocol of readers
    source_contents         the ConfigMap or file that a feed reads, or an error with a remedy
    strategy_state          what AdaptiveSchedulingPlugin has learnt, kept in a ConfigMap
    node_resource_topology  reads NodeResourceTopologies (topology.node.k8s.io)

Law of the package: a feed reads one source and writes what it read to the stores of every profile
whose plugins asked for it (`policies.telemetry.metric_sources`). A failed read is retried. It never
stops scheduling, because policies trust old measurements less and less. The age of each feed is a
metric. The package may import what policies may, the interface to API servers (`watch`) and
`observe`. It makes no decisions.
"""
