"""Batching: what plugins said of one pod decides about the next ones that are equal.

    quick_decisions  a scheduler's decisions, by kept totals if possible
    quick_attempt    totals of classes of pods, kept from one attempt to the next
    class_totals     the total score of every node for a class of pods

Law of the package: a decision made here equals the one that `moorage.cycle.attempt` would make with
the same seed. If that is not certain, the attempt is made in full.
kube-scheduler's opportunistic batching tries its last list of nodes again. Here every node that has
changed is scored anew.
"""
