"""Gangs: groups of pods that are scheduled together or not at all.

    feature                follows groups, ranks their pods as one, and tries them as a whole
    group                  one group: its object, its pods, and how far it has come
    group_states           the table of its states and transitions
    likeness               whether its pods are alike, as Kubernetes' own groups want them
    hierarchy              trees of CompositePodGroups and PodGroups
    directory              every group, kept up to date change by change
    settings               how groups are treated, by the profiles in force
    lifecycle              when a group's pods are let go, when it backs off, and what is due when
    attempt                one attempt at a group
    refusals               pods of groups that go back to the queue, and why
    place                  its pods are taken from the queue and tried together, domain by domain
    transaction            enough of them fit at once, or nothing is held
    tree_placement         a tree of groups fits, or nothing is held
    topology               the zones or racks a group is to be packed in
    shortage               why a group does not run, and what is missing
    trial                  where a group would go if others were not there
    disruption_units       which of their pods are evicted together or not at all
    victim_search          who must leave so that a group fits
    preemption             they are evicted while the group waits
    known_misfits          what is known of a group because an equal one did not fit
    leaving_victims        which groups wait for whom to leave
    interrupted_evictions  evictions of groups that were begun and are finished later
    binder                 all of a group is made ready before the first pod is bound
    holds                  room that is held for groups
    foresight              when and where a group will have room first
    reservation            who is kept which room
    status                 events about groups, and their status
    pod_reasons            what their pods are told
    plugin                 GangScheduling and Coscheduling

Law of the package: an attempt at a group is one synchronous call; either enough of its pods are
placed when it ends, or none. What decides is pure.
"""
