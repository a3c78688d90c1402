"""Rollout: new versions of profiles, and the pods of schedulers that are gone.

    rollback     canaries decide for their share of pods, and are given up when they do worse
    canary       one canary: whose pods it takes, and its results beside the stable version's
    standin      a profile takes another scheduler's pods while that one's Lease is expired
    rivals       others bind pods of our scheduler names: counted, and told
    precedence   pods wait a moment for those of schedulers that go first
    lease_sight  another scheduler's Lease as we see it

Law of the package: other profiles are put in force between two attempts, never within one.
"""
