"""NodeResourcesFit and NodeResourcesBalancedAllocation, and the arithmetic they share.

    fit                  NodeResourcesFit
    scoring_strategies   its LeastAllocated, MostAllocated and RequestedToCapacityRatio
    balanced_allocation  NodeResourcesBalancedAllocation
    resource_allocation  which resources are scored, and Go's division over columns

Law of the package: scores equal Go's truncated integers, whichever kernel computes them.
"""
