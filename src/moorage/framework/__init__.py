"""The contract between the engine and its plugins, in kube-scheduler's words.

    plugin           Plugin, the base class: a struct of the plugin's arguments
    points           every extension point: when it is called, what each answer causes
    verdicts         what a plugin may answer, and the errors
    cycle            one attempt: what plugins can see and keep
    draws            one of several equals, by a key and not by chance
    handle           what a plugin sees of its scheduler besides a cycle
    events           cluster events and queueing hints: what may undo a refusal
    diagnosis        why no node fits, node by node
    queued_pod       a pod in the queue, with its history
    score_range      from raw values to scores of 0 to 100
    argument_names   names of arguments as YAML has them

    plugin_registry  plugin classes by name
    hook_faults      hooks that are not written, or not as they are called
    plugin_metrics   counters, gauges and histograms that plugins keep
    plugin_errors    what a plugin raises, as an error that names it
    plugin_guards    guards around plugins, as the engine sees them
    extenders        extenders, as the engine sees them
    eviction         which pods may be evicted for a pod, which are leaving, which are spared

Law of the package: pure, and only the contract. Knows `moorage.api` and `moorage.cache`; knows no
plugin.
"""
