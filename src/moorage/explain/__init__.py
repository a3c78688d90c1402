"""Explanations: why a pod is where it is, why it waits, and the smallest change that helps.

    explanation        one pod explained, in the shape that `-o json` shows
    world              the cluster that questions are about; attempts that change nothing
    sources            where the cluster is taken from
    queue_state        what a pod waits for beside a node, and its place in the queue
    placement_reasons  scores by plugin, the runner-up, and who decided it
    shortfall          why a pod is pending, in plain words with numbers
    change             a change that makes a pod fit
    pod_changes        the smallest changes of the pod: requests, tolerations, selectors, ...
    relaxation         what would satisfy one plugin on one node
    pod_edits          edits of a pod as it is written
    cluster_changes    changes of the cluster: a node more, evictions, another pod's end
    what_if_changes    what a what-if changes, from flags or a file of scenarios
    what_if_answer     what moves, what waits and the KPIs once it is changed
    gang_changes       a gang as a whole: how many of it fit, the smallest change for all of it
    live_answers       explanations on the cache of a running scheduler
    process_answers    what takes too long for that, by a process of its own
    time_slices        work that takes turns with the event loop, a few milliseconds at a time
    capacity           how many more pods of a shape fit, where, and what runs out first
    defragmentation    a few pods whose move lets GPUs be used that nobody can use as they are
    json_patch         the difference between two objects, and applying one
    evaluator          one case decided in full, for `moorage evaluate` and the parity tests

Law of the package: every answer was tried on a trial of the cache before it is given, and nothing
that is asked leaves a trace there.
"""
