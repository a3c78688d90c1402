"""Explanations: why a pod is where it is, why it waits, and the smallest change that helps.

    explanation        one pod explained, in the shape that `-o json` shows
    world              the cluster that questions are about; attempts that change nothing
    sources            where the cluster is taken from
    queue_state        what a pod waits for besides a node, and its place in the queue
    placement_reasons  scores by plugin, the runner-up, and who decided it
    shortfall          why a pod is pending, in plain words with numbers
    change             a change that makes a pod fit
    pod_changes        the smallest changes of the pod: requests, tolerations, selectors, ...
    relaxation         changes of a pod that would satisfy one plugin on one node
    pod_edits          edits of a raw pod
    cluster_changes    changes of the cluster: one more node, evictions, the end of other pods
    what_if_changes    the changes of a what-if, from flags or a file of scenarios
    what_if_answer     which pods move, which wait, and the KPIs after the changes
    gang_changes       a gang as a whole: how many of its pods fit, the smallest change for all
    live_answers       explanations on the cache of a running scheduler
    time_slices        work that takes turns with the event loop, a few milliseconds at a time
    capacity           how many more pods of a shape fit, where, and what runs out first
    defragmentation    moves of a few pods that make unusable GPUs usable
    json_patch         the difference between two objects, and applying one
    evaluator          one case decided in full, for `moorage evaluate` and the parity tests

Law of the package: every answer is checked on a trial of the cache before it is given, and no
question leaves a change in the cache.
"""
