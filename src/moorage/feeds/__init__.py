"""Feeds: measurements that policies use and no watch delivers, read periodically.

    feeds                   each source read, and its values handed out
    latency_prober          measures round trips to other nodes
    latency_readers         reads latencies between zones or nodes from a ConfigMap or a file
    metrics_server          reads node usage from metrics.k8s.io, as metrics-server serves it
    price_readers           price tables from a ConfigMap or a file
    prometheus_feed         reads node usage and energy from a Prometheus server by instant queries
    readings                what a feed has read, and the protocol of its readers
    source_contents         the ConfigMap or file that a feed reads, or what to do about it
    strategy_state          what AdaptiveSchedulingPlugin has learnt, kept in a ConfigMap
    node_resource_topology  reads NodeResourceTopologies (topology.node.k8s.io)

Law of the package: a feed reads one source and hands what it read to the stores of every profile
whose plugins asked for it (`policies.telemetry.metric_sources`). A feed that fails is tried again;
it never stops scheduling, since policies trust old measurements less and less. How old they are is
a metric.
It may import what policies may, the surface of API servers (`watch`) and `observe`; it decides
nothing.
"""
