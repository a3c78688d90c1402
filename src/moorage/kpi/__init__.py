"""KPIs: what a run was worth. Each has one definition, for every caller and every clock.

    meter            records what happens to nodes and pods, and computes the KPIs of a run
    settings         what the KPIs depend on besides the run: targets, typical pods
    pod_times        waiting and completion, by class, tenant and priority
    quantiles        mean, median, p95, p99 and maximum
    resource_totals  allocation, utilisation and balance over time, by resource
    node_costs       node-hours times price, in use and provisioned, by namespace
    fairness         dominant shares of tenants, Jain's index
    fragmentation    idle resources that no typical pod can use
    spread           how evenly workloads are spread over zones
    placements       the same KPIs for one placement, to compare versions
    samples          curves over time, of bounded length
    summary          the KPIs as data, and as a flat list of numbers

Law of the package: it is pure. Times arrive as arguments, it draws no random numbers, and the
numbers it prints do not depend on the machine. docs/kpis.md defines each KPI in a sentence and a
formula.
"""
