"""The dashboard of a scheduler: one page and the JSON it shows, read from what is there anyway.

    sources            what a dashboard is made of, each small: cluster, queue, records and so on
    slices             work that lets others go on every few milliseconds
    cluster_columns    what each node is and holds, as columns; kept up to date by who looks
    node_facts         zone, pool, readiness: what a node's object says of it
    node_measures      what is measured on nodes, and what they cost
    gpu_devices        GPUs of a node, device by device
    cluster_view       all nodes as JSON, by columns
    node_view          one node as JSON
    pod_verdicts       what nodes say of a pod as things stand
    pod_view           one pod as JSON
    eviction_rows      who had to leave for whom, as JSON
    gang_rows          gangs as JSON
    tenant_rows        tenants, their quotas and shares, as JSON
    plugin_rows        plugins, their costs and breakers, as JSON
    compare_view       versions side by side, as JSON
    health_view        how the process does, as JSON
    queue_view         who waits, where and why, as JSON
    decision_columns   when attempts ended, how, and how long they took, as columns
    decision_view      the last attempts, their rates, steps and timeline, as JSON
    event_stream       server-sent events: what changed, a few times a second
    stream_channels    the kinds of events, and what a viewer has been sent of each
    viewers            how many viewers there may be, and what each has been sent
    page_files         the page itself, with the headers that keep it harmless
    dashboard          the routes, and `Dashboard`

Law of the package: nothing asked here changes a decision. Looking is paid for when somebody looks:
whatever is derived follows the logs of cache and records, and is brought up to date in slices of a
few milliseconds. What a viewer has not been sent is never kept for him: he is sent what differs
since, or told to fetch all anew.
"""
