"""Who waits: active, backing off, unschedulable, gated, in flight.

    scheduling_queue    the surface: add, pop, put back, move, done ...
    queue_settings      settings, and what happens to waiting pods when they change
    transitions         the table of legal transitions, and each pod's own log
    sub_queues          active, backoff, unschedulable; the only code that moves pods between them
    heap                pods by key, smallest first
    backoff_heap        pods that back off, and which of them are worth a retry before that ends
    backoff             how long a pod waits after a failed attempt
    unschedulable_pods  unschedulable and gated pods, by the plugins that refused them
    in_flight           pods being scheduled, and the events they have missed

    change_events       the cluster events that a changed object makes
    queueing_hints      which plugins want an event, and whether it is worth another attempt
    requeuer            moves waiting pods on events, updates, activation and timeout
    pre_enqueue         PreEnqueue plugins, which keep pods out

Law of the package: pure. The time arrives as an argument, nothing waits, and a pod is in exactly
one state and moves only along the table in `transitions`. The queue decides which pod is attempted
next and which events are worth another attempt. It decides nothing about nodes: nominations are
kept by the cache. May import `moorage.api`, `moorage.cache` and `moorage.framework`, and nothing
else of Moorage.
"""
