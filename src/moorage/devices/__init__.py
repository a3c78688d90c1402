"""Devices: what drivers offer, what claims hold, and what a claim would get on a node.

    cel            the expressions that select devices
    device_cache   everything below, kept up to date from the cached objects
    inventory      slices, with the taints that rules put on their devices
    node_pools     the pools that a node reaches: complete, incomplete or invalid
    classes        device classes, and the extended resources they back
    claim_tracker  claims as they are known, assumed, or about to be allocated
    ledger         which devices, shares and capacities are taken
    selection      which devices the selectors of a request choose
    feature_gates  features that are off unless their gates are opened
    compatibility_groups  which devices that share counters may be allocated together
    capacity       how much of a shared device a request consumes
    constraints    what the devices of a claim must have in common, or must not
    requests       the requests of claims, checked and ready to be searched for
    allocator      the search: the first devices, in kube's order, that meet all requests
    allocation     what the search found, as a claim's status has it
    work_budget    what one attempt may spend on CEL and on the search
    stale_rows     rows of which something has changed that devices on a node depend on
    totals         how many devices of a class a node reaches, and how many are taken
    errands        what is to be written about claims outside of attempts
    reasons        why a search found nothing, device by device

Law of the package: pure. The search goes through pools, slices and devices in kube-scheduler's
order, so that it finds the same devices. The result of selectors for a device is computed once and
kept until its slice changes. Knows `api` and `cache`.
"""
