"""Preemption: room is made for a pod by evicting less important ones.

    feature              nominates pods, evicts victims, holds preemptors back meanwhile
    plugin               DefaultPreemption: whether, where, and which pods must leave
    eligibility          whether a pod may preempt at all
    candidates           the nodes where evictions help
    columnwise           victims of all rows at once, if priority alone decides
    reprieve             victims of one node by trial, less those reprieved
    imagined_rows        which filters can be asked about rows without a trial, and the sums
    lower_priority       what pods below a priority use
    kept                 state kept between attempts
    victims              the pods that must leave a node, and what that costs
    unit_victims         the same if pods of a group leave together or not at all
    go_sort              Go's sort, whose order of equal elements decides
    extender_candidates  the candidates that extenders leave
    running_preemptions  preemptions whose victims are being evicted
    shared_orders        pods that wait for victims that another pod evicts
    promises             which node a pod is nominated to, and until when
    evictor              marks victims, deletes them, and records events
    budget_ledger        what victims in flight have spent of disruption budgets
    spared               pods that may not be evicted though their priority is lower
    loop_guard           a guard against evictions in a circle
    metrics              metrics of preemption

Law of the package: the plugin decides and is pure; the feature acts, and never holds up the loop.
"""
