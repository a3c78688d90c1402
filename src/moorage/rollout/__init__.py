"""Rollout: new versions of profiles, and the pods of schedulers that are gone.

    rollback          canaries decide for their share of pods, and are given up if they do worse
    canary            one canary: which pods it takes, its results and the stable version's
    effects           the KPIs by which versions are compared: which way is worse, and the limit
    placement_meter   the KPIs of one placement, read from the cache
    compared_pods     the last pods of a canary and of its control group
    comparison        compares them from time to time, and reports significant differences
    permutation_test  how likely chance alone makes two groups differ as much
    canary_metrics    the findings, for Prometheus
    standin           a profile takes another scheduler's pods while its Lease is expired
    rivals            other schedulers that bind pods of our scheduler names: counted and reported
    precedence        pods wait a moment for those of schedulers that go first
    lease_sight       another scheduler's Lease, as this process sees it

Law of the package: other profiles take effect between two attempts, never within one.
"""
