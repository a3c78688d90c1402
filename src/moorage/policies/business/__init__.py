"""Policies that place pods by cost and by their rank for the business.

    business_affinity  BusinessAffinityPlugin: which nodes core business may use
    business_score     BusinessScorePlugin: one score for a node's cost, performance and reliability
    cost_optimization  CostOptimizationPlugin: the cheaper the node, the higher the score
    node_performance   how fast nodes are
    price_list         what it costs to run a pod on a node, per hour
    price_table        prices by provider, region, instance type and purchase option

Law of the package: prices and ranks are data from the configuration, feeds or labels. No provider
is known by name.
"""
