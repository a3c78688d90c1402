"""Gangs: groups of pods that are scheduled together or not at all.

    feature                follows groups, ranks their pods as one, and tries them as a whole
    group                  one group: its object, its pods, and how far it has come
    group_states           the table of its states and transitions
    likeness               whether its pods are alike, as Kubernetes' own groups require
    hierarchy              trees of CompositePodGroups and PodGroups
    directory              every group, kept up to date change by change
    settings               how groups are treated, by the profiles in force
    lifecycle              when a group's pods are released, when it backs off, and what is due when
    attempt                one attempt at a group
    refusals               pods of groups that go back to the queue, and why
    place                  takes its pods from the queue and tries them together, domain by domain
    transaction            enough pods of a group fit at once, or nothing is held
    tree_placement         a tree of groups fits, or nothing is held
    topology               the zones or racks in which a group is packed
    shortage               why a group does not run, and what is missing
    trial                  where a group would go if other pods were gone
    disruption_units       which of their pods are evicted together or not at all
    victim_search          which pods must leave so that a group fits
    preemption             evicts those pods while the group waits
    known_misfits          what is known of a group because an equal one did not fit
    leaving_victims        which groups wait for which pods to leave
    interrupted_evictions  evictions of groups that were begun and are finished later
    binder                 prepares all pods of a group before the first is bound
    holds                  room that is held for groups
    foresight              when and where a group will first have room
    reservation            which groups get room held, and how much
    status                 events about groups, and their status
    pod_reasons            the reasons given to their pods
    plugin                 GangScheduling and Coscheduling

Law of the package: an attempt at a group is one synchronous call. When it ends, either enough of
the group's pods are placed, or none. Decisions are pure.
"""
