"""Policies that place pods by the load of nodes, as requested or as measured.

    adaptive_scheduling  AdaptiveSchedulingPlugin: a strategy for each namespace
    load_balancing       LoadBalancingPlugin: by what is requested
    low_cpu              LowCpuScheduler: by measured cpu and memory
    outcomes             what became of pods, by namespace
    requested_load       the share of a node's resources that pods request, with a further pod on it
    scaling_hints        what an autoscaler should add, near the data of pods without room
    strategy_goals       what a namespace wants of its placements
    strategy_learner     one bounded step at a time, taken back if it hurts
    unmeasured_pods      pods that came to a node after its last measurement
    workload_patterns    the workload pattern of each namespace

Law of the package: what was measured is believed as long as it is recent; where nothing was
measured, requests count.
"""
