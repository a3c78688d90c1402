"""Batching: what plugins said of one pod decides about the next ones that are like it.

    quick_decisions  a scheduler's decisions, by totals where those tell
    quick_attempt    totals of classes of pods, kept from one attempt to the next
    class_totals     what every node scores for a class of pods

Law of the package: a decision made here is the one that `moorage.cycle.attempt` would have made
with the same random numbers; where that is not certain it says so, and the attempt is made in full.
kube-scheduler knows the idea as opportunistic batching, and tries its last list of nodes again;
here every node that has changed is scored anew.
"""
