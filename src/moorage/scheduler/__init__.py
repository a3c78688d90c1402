"""The scheduler: the five stages (watch, cache, queue, cycle, bind) joined in one loop.

    scheduler            owns every task, and makes what the others are handed
    intake               a reflector per resource; the one path that every change takes
    optional_resources   resources that an API server need not have
    event_handlers       a change updates the cache, and the queue hears of it
    loop                 one attempt after the other; sleep while there is nothing to do
    bursts               how many attempts in a row before others have their turn
    attempt              pop, decide, assume, hand over to binding; the cycle of each attempt
    placement            a node was chosen: assume, Reserve, Permit
    outcome              the pod is bound, or goes back to the queue with its reason
    report               what became of pods, for observers, in events and in their status
    status_writer        the status of pods: per pod in order, and not after they are bound
    feature              what may be added to a scheduler, and where it is asked
    ports                what a feature may be handed
    kubelet_rejections   a feature: nodes rest whose kubelet refused a pod
    resource_claims      a feature: claims and devices are followed, errands carried out
    known_refusals       a feature: who is like a pod that was just refused is spared the attempt
    noted_dice           random numbers, and which were drawn in an attempt
    recent_refusals      kinds of pods that were tried again in vain a moment ago
    queue_order          one queue for all profiles; a feature that sorts it anew
    profiles             the profiles in force, and which version of one decides for a pod
    version              a whole configuration, ready to take over
    reconfigure          it takes over between two attempts
    handles              plugins are given their view of the scheduler
    tasks                work that the loop does not wait for
    alarms               times at which something is due
    cache_debugger       dumps what is believed, compares it with the API server

Law of the package: an attempt, from popping the pod to assuming it, is one synchronous call; the
loop yields between attempts, or between bursts of them. No feature is known here.
"""
