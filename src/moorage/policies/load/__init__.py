"""Policies that place pods by the load of nodes, as requested or as measured.

    adaptive_scheduling  AdaptiveSchedulingPlugin: a strategy for each namespace
    load_balancing       LoadBalancingPlugin: by requested resources
    low_cpu              LowCpuScheduler: by measured cpu and memory
    outcomes             attempts, waiting, costs and losses of pods, by namespace
    requested_load       the share of a node's resources that pods request, with one more pod on it
    scaling_hints        which nodes an autoscaler should add, near the data of pods without room
    strategy_goals       the goals of a namespace, and how far they are missed
    strategy_learner     changes one setting by one step at a time, and takes back what hurts
    unmeasured_pods      pods that came to a node after its last measurement
    workload_patterns    the workload pattern of each namespace

Law of the package: a measurement is believed while it is recent. Without measurements, requests
count.
"""
