"""The five stages joined: watch, cache, queue, cycle, bind.

    following    what the API server holds is followed, a task for each resource
    handling     a change was seen: the cache believes it, the queue hears of it
    looping      one attempt after the other; sleep while there is nothing to do
    scheduler    one attempt: pop, decide, assume, hand over to binding; owns every task
    placing      a node was chosen: assume, Reserve, Permit
    ending       an attempt ends: the pod is bound, or goes back to the queue with its reason
    preempting   room is to be made: nominations, victims in flight, whom to spare
    evicting     victims are marked, deleted and told
    ganging      groups of pods: when they are tried, placed, bound, kept room, and what is said
    quoting      quotas are told what they lack, and what is used
    ordering     who is next is worked out anew where it depends on what runs
    optional     resources that an API server need not have
    reporting    what became of pods, for observers, in events and in their status

Law of the package: the only one that knows all five stages. An attempt, from popping the pod to
assuming it, is one synchronous call; the loop yields between attempts.
"""

from moorage.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
