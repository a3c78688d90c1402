"""The scheduler: the five stages (watch, cache, queue, cycle, bind) joined in one loop.

    scheduler            owns every task, and makes what the others are passed
    intake               a reflector per resource; the one path that every change takes
    optional_resources   resources that an API server need not have
    event_handlers       a change updates the cache, and is passed to the queue as events
    loop                 one attempt after the other; sleep while there is nothing to do
    bursts               how many attempts in a row before the event loop runs other tasks
    attempt              pop, decide, assume, hand over to binding; the cycle of each attempt
    placement            a node was chosen: assume, Reserve, Permit
    outcome              the pod is bound, or goes back to the queue with its reason
    report               outcomes of pods, for observers, in events and in their status
    status_writer        writes the status of pods: in order per pod, and not after they are bound
    feature              what may be added to a scheduler: hooks, and when they are called
    ports                what a feature may be passed
    kubelet_rejections   a feature: a node whose kubelet refused a pod rests for a while
    resource_claims      a feature: follows claims and devices, and writes claims for plugins
    known_refusals       a feature: skips the attempt at a pod equal to one that was just refused
    recent_refusals      kinds of pods that were retried in vain a moment ago
    queue_order          one queue for all profiles; a feature that sorts it anew
    profiles             the profiles in force, and which version of one decides for a pod
    version              a whole configuration, ready to take over
    reconfigure          puts a version in force between two attempts
    handles              gives plugins their view of the scheduler
    tasks                work that the loop does not wait for
    alarms               times at which something is due
    cache_debugger       dumps the cache and the queue, compares them with the API server

Law of the package: an attempt, from popping the pod to assuming it, is one synchronous call; the
loop yields between attempts, or between bursts of them. No feature is known here.
"""
