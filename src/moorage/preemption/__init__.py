"""Preemption: room is made for a pod by evicting less important ones.

    feature              a nominated node is promised, victims are evicted, whoever waits is held
    plugin               DefaultPreemption: whether, where, and who has to leave
    eligibility          whether a pod may preempt at all
    candidates           the nodes where evictions help
    columnwise           all rows at once, where priority alone decides
    reprieve             one node: its victims by trial, less those reprieved
    imagined_rows        which rules can be asked about rows as they would be, and the sums
    lower_priority       what pods below a priority use
    kept                 what is kept between attempts
    victims              the pods that would have to leave, and how much that hurts
    unit_victims         the same where pods of a group leave together or not at all
    go_sort              Go's sort, whose order of equals decides
    extender_candidates  what extenders leave of the candidates
    running_preemptions  preemptions whose victims are being evicted
    shared_orders        who waits for victims that leave for another pod
    promises             which node a pod was promised, and until when
    evictor              victims are marked, deleted and told
    budget_ledger        what victims in flight have spent of disruption budgets
    spared               who may not be evicted though its priority is lower
    loop_guard           a guard against evictions in a circle
    metrics              metrics of preemption

Law of the package: the plugin decides and is pure; the feature acts, and never holds up the loop.
"""
