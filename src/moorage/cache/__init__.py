"""The scheduler's view of the cluster: nodes and pods as columns.

    cache               nodes in kube's order, the pods on them, assumed pods; trials
    table               the node table: one row per node, one column per fact
    node_view           some rows of the table, as vector plugins are given them
    follower            logs of changed rows, and readers that remember how far they have read
    consistency         columns compared with columns rebuilt from the objects

    podinfo             a pod with what its spec means, once per class of equal pods
    object_store        other objects that plugins read: claims, services, namespaces
    nominator           pods nominated to a node
    disruption_budgets  PodDisruptionBudgets: whose eviction would violate one

    column_cache        results of vector plugins kept between attempts
    label_columns       node labels as columns
    selector_masks      node selectors evaluated over label columns
    host_ports          host ports in use
    images              which nodes hold which images
    wide_columns        columns of many resources: zeros cost no memory
    free_bounds         lower bounds of what every node has free
    interner            small integer ids in place of values

    pod_counters        matching pods per node and per topology domain, without scanning
    pod_index           all pods on nodes, by labels and by affinity terms
    pod_sets            sets of pods counted together
    pod_selection       selections of pods by namespace and labels
    affinity_terms      pod affinity terms as kube-scheduler reads them
    topology_domains    the topology domain of each node, for each key in use
    topology_counts     counts per node and per domain

Law of the package: pure. Events come in, columns change; nothing here decides, waits or does I/O.
Every change to a row is written to a log, so that values derived from rows can catch up by
recomputing only those rows. Trial changes are undone by rolling back to a checkpoint; no column is
copied. May import `moorage.api` and numpy, and nothing else of Moorage.
"""
