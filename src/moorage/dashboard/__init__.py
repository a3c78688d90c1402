"""The dashboard of a scheduler: one page, and the JSON it shows, read from existing state.

    sources            what a dashboard reads, in small parts: cluster, queue, records and so on
    slices             work in slices of a few milliseconds, so that other tasks can run
    cluster_columns    facts and usage of each node as columns, brought up to date on demand
    node_facts         facts of a node's object: zone, pool, readiness
    node_measures      measured usage of nodes, and their prices
    gpu_devices        GPUs of a node, device by device
    cluster_view       all nodes as JSON, by columns
    node_view          one node as JSON
    pod_verdicts       what each node's filters say of a pod now
    pod_view           one pod as JSON
    eviction_rows      which pods were evicted for which, as JSON
    gang_rows          gangs as JSON
    tenant_rows        tenants, their quotas and shares, as JSON
    plugin_rows        plugins, their costs and breakers, as JSON
    compare_view       versions side by side, as JSON
    health_view        the state of the process, as JSON
    queue_view         which pods wait, where and why, as JSON
    decision_columns   when attempts ended, how, and how long they took, as columns
    decision_view      the last attempts, their rates, steps and timeline, as JSON
    event_stream       server-sent events: changes, a few times a second
    stream_channels    the kinds of events, and what each viewer has been sent
    viewers            limits the number of viewers, and gives the beat for updates
    page_files         the page's files, with headers that limit what they may do
    dashboard          the routes, and `Dashboard`

Law of the package: no request changes a decision. Work is done only when somebody looks: derived
data follows the logs of cache and records, and is brought up to date in slices of a few
milliseconds. Nothing is queued for a viewer: it gets the difference to what it has, or is told to
fetch everything again.
"""
