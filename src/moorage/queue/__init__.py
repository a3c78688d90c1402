"""Who waits: active, backing off, unschedulable, gated, in flight.

Law of the package: pure. The time arrives as an argument, nothing waits, and a pod is in exactly
one state and moves only along the table in `transitions`. The queue decides who is attempted next
and which events are worth another attempt; it decides nothing about nodes, and whom a node is
promised to is the cache's business. May import `moorage.api`, `moorage.cache` and
`moorage.framework`, and nothing else of Moorage.

    changes      an object changed: which events kube-scheduler makes of it
    queue        the surface: add, pop, put back, move, done ...
    hints        which plugins want an event, and whether it is worth another attempt
    gates        PreEnqueue: who may not enter
    places       heaps and pool, and the only code that puts a pod into one
    flights      pods under way, and the events they have missed
"""
