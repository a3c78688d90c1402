"""The scheduler: the five stages (watch, cache, queue, cycle, bind) joined in one loop.

    scheduler            one attempt: pop, decide, assume, hand over to binding; owns every task
    intake               a reflector per resource; each change is handed on once, in order
    event_handlers       a change updates the cache, and the queue hears of it
    loop                 one attempt after the other; sleep while there is nothing to do
    placement            a node was chosen: assume, Reserve, Permit
    outcome              the pod is bound, or goes back to the queue with its reason
    report               what became of pods, for observers, in events and in their status
    kubelet_rejections   pods that a kubelet refused: their node is left alone for a while
    profiles             the profiles in force, and which version of one decides for a pod
    profile_queue        one queue for all profiles
    reconfigure          another configuration takes over between two attempts
    alarms               times at which something is due
    cache_debugger       dumps what is believed, compares it with the API server

Law of the package: an attempt, from popping the pod to assuming it, is one synchronous call; the
loop yields between attempts.
"""
