"""The shadow: what Moorage would have decided, beside what other schedulers did decide.

    judgement        one decision of another scheduler, judged on the cluster just before it
    tally            counts of judgements, in bounded memory
    in_flight        a second look at disagreements: pods that were being bound or deleted
    watcher          judges pods when they are bound, nominated or found unschedulable
    unseen           spans of time in which the cluster was not watched
    drifting_world   the cluster as it would be if Moorage had made every decision
    cluster_meter    KPIs of the cluster as it is
    pod_facts        what the KPIs need to know of a pod
    process          one shadow: the watched cluster, its judgements, worlds and services
    session          one shadow from its start to its findings, on a live cluster
    journal          judgements as JSON lines, read again after a restart
    summary          a shadow's findings as data
    words            the findings in sentences
    page             the findings as a page to read and print
    shadow_metrics   the findings as metrics
    dashboard_sources  the findings on a dashboard

Law of the package: nothing is ever written to the cluster. Every one-step judgement starts from the
true cluster, and so cannot drift. The drifting world never reads the true cluster's decisions.
"""
