"""Rollout: new versions of profiles, and the pods of schedulers that are gone.

    rollback          canaries decide for their share of pods, and are given up when they do worse
    canary            one canary: whose pods it takes, and its results beside the stable version's
    effects           the KPIs by which versions are compared: which way is worse, and by how much
    placement_meter   the KPIs of one placement, read off the cache
    compared_pods     the last pods of a canary and of the control group beside it
    comparison        looks at them, now and then, and says what is more than chance
    permutation_test  how often chance alone would tell two groups as far apart
    canary_metrics    what was found, for Prometheus
    standin           a profile takes another scheduler's pods while that one's Lease is expired
    rivals            others bind pods of our scheduler names: counted, and told
    precedence        pods wait a moment for those of schedulers that go first
    lease_sight       another scheduler's Lease as we see it

Law of the package: other profiles are put in force between two attempts, never within one.
"""
