"""KPIs: what a run was worth, one definition each, whoever asks and whatever clock it ran by.

    meter            hears of nodes and pods, and tells the KPIs of a run at its end
    settings         what the KPIs depend on beside the run: targets, typical pods
    pod_times        waiting and completion, by class, tenant and priority
    quantiles        mean, median, p95, p99 and maximum
    resource_totals  allocation, utilisation and balance over time, by resource
    node_costs       node-hours times price, in use and provisioned, by namespace
    fairness         dominant shares of tenants, Jain's index
    fragmentation    idle that no typical pod can use
    spread           how evenly workloads lie in their zones
    placements       the same of one placement, for versions beside each other
    samples          curves over time, of bounded length
    summary          the KPIs as data, and as a flat list of numbers

Law of the package: it is pure. Times arrive as arguments, it draws nothing at random, and the sums
it prints do not depend on the machine. docs/kpis.md defines each KPI in a sentence and a formula.
"""
