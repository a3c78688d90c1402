"""The five stages joined: watch, cache, queue, cycle, bind.

    handling     a change was seen: the cache believes it, the queue hears of it
    placing      a node was chosen: assume, Reserve, Permit
    evicting     room is to be made: victims are told and deleted
    scheduler    the loop that pops, attempts and hands over to binding; owns every task

Law of the package: the only one that knows all five stages. An attempt, from popping the pod to
assuming it, is one synchronous call; the loop yields between attempts.
"""

from moorage.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
