"""kube-scheduler and Moorage on the same random cases, until they disagree.

    features/     what a case may hold, one file per theme
    generating    a case from a seed, a number and a set of features
    oracle        kube-scheduler's own decisions, from a long-lived process
    ours          Moorage's, in this process
    kept          the same from state that has been through changes
    comparing     in which fields two outcomes differ
    judging       what a difference is worth: an error on both sides, a choice left to chance
    shrinking     the smallest case that still differs
    running       chunks of cases, and the tally of what came out
    saving        cases worth keeping, with kube-scheduler's outcome

Law of the package: a case is a function of (seed, number, features). Whatever is reported can be
made again from these three.
"""
