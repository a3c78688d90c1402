"""Gangs: pods that are placed together or not at all.

Law of the package: it knows who belongs together and what keeps a group from being tried; it
places nobody. The transaction is in `moorage.cycle.gangs`, and `moorage.scheduler.ganging` joins
the two.

    membership   which group a pod names
    group        one group: its object, its pods, how far it has come
    directory    every group, kept up to date change by change
    plugin       GangScheduling: the gate before the queue, and room that is held for a group
"""

from moorage.policies.gang.plugin import GangScheduling

__all__ = ["GangScheduling"]
