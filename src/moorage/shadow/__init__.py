"""The shadow: what Moorage would have decided, beside what other schedulers did decide.

    judgement        one decision of another scheduler, judged on the cluster as it was just before
    tally            what judgements add up to, in bounded memory
    in_flight        a second look at disagreements: pods that were on their way at the time
    watcher          hears of pods that are bound or found pending, and has them judged
    unseen           spans of time in which the cluster was not seen
    drifting_world   the cluster as it would stand if Moorage had decided all along
    cluster_meter    KPIs of the cluster as it is
    pod_facts        what KPIs know of a pod
    process          one shadow: the cluster followed, its judgements, worlds and services
    session          one from its start to its findings, on a live cluster
    journal          judgements as JSON lines, read again after a restart
    summary          a shadow's findings as data
    words            the same in sentences
    page             the same as a page to read and print
    shadow_metrics   the same as metrics
    dashboard_sources  the same on a dashboard

Law of the package: nothing is ever written to the cluster. A one-step judgement starts from the
true cluster each time and cannot drift; the drifting world never looks at the true one's decisions.
"""
