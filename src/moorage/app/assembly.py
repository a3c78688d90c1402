"""Puts a scheduler together: which features it has, in which order, and what each is passed.

Every hook (`moorage.scheduler.feature`) is called in this order:

    Precedence          puts pods off while those of schedulers that go first are waiting
    Gangs               count pods into groups first of all, and are the first to try a pod
    Preemption          believes budgets without what its victims have spent
    ElasticQuotas       tell what namespaces use
    ResourceClaims      follow claims and devices, and write what plugins could not wait for
    KubeletRejections   let nodes rest that rejected pods
    PlacementOutcomes   tell policies what became of pods
    ScalingHints        tell what an autoscaler should add
    Canaries            decide for a share of a profile's pods
    StandIns            take the pods of schedulers whose lease has expired
    Rivals              tell of others that bind pods of our names
    KnownRefusals       spare pods an attempt that would end as that of an equal pod
    QueueOrder          sorts the queue anew, when everyone else has done what is due

Each of them can be left out.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from moorage.app.policy_features import PlacementOutcomes, ScalingHints
from moorage.batching.quick_decisions import QuickDecisions
from moorage.bind.event_recorder import EventRecorder
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.extender.async_bridge import DecisionThread
from moorage.framework.extenders import NO_EXTENDERS, Extenders
from moorage.gang.attempt import GangAttempt
from moorage.gang.binder import GangBinder, GangBindings
from moorage.gang.directory import Directory
from moorage.gang.feature import Gangs
from moorage.gang.holds import Holds
from moorage.gang.interrupted_evictions import InterruptedEvictions
from moorage.gang.known_misfits import KnownMisfits
from moorage.gang.leaving_victims import LeavingVictims
from moorage.gang.lifecycle import Lifecycle
from moorage.gang.place import GangPlacer
from moorage.gang.pod_reasons import PodReasons
from moorage.gang.preemption import GangPreemption
from moorage.gang.refusals import GangRefusals
from moorage.gang.reservation import Reservations
from moorage.gang.settings import GangSettings
from moorage.gang.status import GangStatus
from moorage.observe.observers import Observers
from moorage.preemption.budget_ledger import BudgetLedger
from moorage.preemption.evictor import Evictor
from moorage.preemption.feature import Preemption
from moorage.preemption.loop_guard import LoopGuard
from moorage.preemption.promises import Promises
from moorage.preemption.spared import SparedPods
from moorage.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE
from moorage.rollout.placement_meter import PlacementMeter
from moorage.rollout.precedence import Precedence
from moorage.rollout.rivals import Rivals
from moorage.rollout.rollback import Canaries
from moorage.rollout.standin import StandIns, Told, silent
from moorage.scheduler.attempt import Tap, TapOf
from moorage.scheduler.bursts import Bursts
from moorage.scheduler.feature import Feature
from moorage.scheduler.intake import FOLLOWED
from moorage.scheduler.known_refusals import KnownRefusals
from moorage.scheduler.kubelet_rejections import KubeletRejections
from moorage.scheduler.ports import Evictions, Ports
from moorage.scheduler.queue_order import QueueOrder
from moorage.scheduler.resource_claims import ResourceClaims
from moorage.scheduler.scheduler import Scheduler
from moorage.tenancy.feature import ElasticQuotas
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import ApiServer

OPTIONAL: Final = (*Gangs.optional, *ElasticQuotas.optional, *ResourceClaims.optional)
"""Resources that are followed if they are served, each in its first served version."""


def assemble(
    server: ApiServer,
    profiles: Mapping[str, Profile],
    *,
    clock: Clock,
    rng: random.Random,
    observers: Iterable[Any] | Observers = (),
    backoff: tuple[float, float] = (1.0, 10.0),
    followed: Iterable[Resource] = FOLLOWED,
    instance: str = "moorage",
    extenders: Extenders = NO_EXTENDERS,
    turns: DecisionThread | None = None,
    leads: Callable[[], bool] = lambda: True,
    told: Told = silent,
    monotonic: Callable[[], float] | None = None,
    max_in_unschedulable: float = MAX_IN_UNSCHEDULABLE,
    recorder: EventRecorder | None = None,
    tap: Tap | None = None,
    sparing: bool = False,
    postponing: bool = True,
    bursts: Bursts | None = None,
) -> Scheduler:
    """A scheduler with every feature.

    `told` hears of schedulers that are stood in for, and of events that are refused; `monotonic`
    judges the leases of the former, ends an attempt's work on devices, and is a clock that nobody
    sets. `sparing` spares equal pods
    attempts whose end is known; who looks at every single one does without, and without `bursts`.
    Unless it is also `postponing` retries, all of it comes out as it would without.
    """
    return Scheduler(
        server,
        profiles,
        clock=clock,
        rng=rng,
        features=partial(
            all_features,
            told=told,
            monotonic=monotonic,
            sparing=sparing,
            postponing=postponing,
        ),
        observers=observers,
        backoff=backoff,
        followed=followed,
        instance=instance,
        extenders=extenders,
        turns=turns,
        leads=leads,
        max_in_unschedulable=max_in_unschedulable,
        recorder=recorder or EventRecorder(server, clock, instance=instance, told=told),
        tap=tap,
        bursts=bursts,
        monotonic=monotonic,
    )


def tap_for(tap_of: TapOf | None, now: Callable[[], float], batching: bool = True) -> Tap | None:
    """How `moorage run` decides: by the given tap, which must see every step; else quickly."""
    if tap_of is not None:
        return tap_of(now)
    return QuickDecisions(now, tells_parts=True) if batching else None


def all_features(
    ports: Ports,
    *,
    told: Told = silent,
    monotonic: Callable[[], float] | None = None,
    sparing: bool = False,
    postponing: bool = True,
) -> list[Feature]:
    """Every feature, in the order in which hooks are called."""
    preemption = preemption_for(ports)
    stand_ins = stand_ins_for(ports, told=told, monotonic=monotonic)
    return [
        Precedence(ports.clock, ports.outcome),
        gangs_for(ports, preemption, sparing=sparing and not postponing),
        preemption,
        quotas_for(ports),
        claims_for(ports),
        rejections_for(ports),
        outcomes_for(ports),
        ScalingHints(ports.cache, ports.queue, ports.reporter),
        canaries_for(ports),
        stand_ins,
        rivals_for(ports, stand_ins),
        *([refusals_for(ports, postponing=postponing)] if sparing else ()),
        QueueOrder(ports.profiles, ports.cache, ports.queue),
    ]


def refusals_for(ports: Ports, *, postponing: bool = True) -> KnownRefusals:
    """The feature that refuses equal pods without an attempt."""
    return KnownRefusals(
        ports.cache, ports.queue, ports.clock, ports.profiles, postpones=postponing
    )


def preemption_for(ports: Ports) -> Preemption:
    """The feature that evicts pods to make room for others."""
    guard = LoopGuard()
    return Preemption(
        ports.queue,
        ports.clock,
        ports.profiles,
        ports.known,
        evictor=Evictor(
            ports.server,
            ports.clock,
            ports.recorder,
            ports.observers,
            ports.waiting,
            ports.preparing,
        ),
        ledger=BudgetLedger(ports.cache, ports.clock, ports.known),
        guard=guard,
        spared=SparedPods(ports.cache, ports.profiles, ports.reporter, guard),
        promises=Promises(ports.cache, ports.queue, ports.clock, ports.reporter, ports.features),
        others=ports.features,
        start=ports.start,
        wake=ports.wake,
    )


def gangs_for(ports: Ports, evictions: Evictions, sparing: bool = False) -> Gangs:
    """The feature of groups that are scheduled together; `evictions` make room for them.

    `sparing` skips attempts at groups whose result is known from an equal group; in scenarios only.
    """
    cache, queue, clock, profiles = ports.cache, ports.queue, ports.clock, ports.profiles
    groups, holds = Directory(profiles.by_name), Holds()
    settings = GangSettings(profiles, groups, holds)
    placer = GangPlacer(cache, queue, clock, profiles, ports.cycles, ports.observers)
    status = GangStatus(
        queue,
        clock,
        ports.server,
        profiles,
        ports.recorder,
        PodReasons(cache, clock, ports.reporter),
        ports.observers,
        ports.start,
    )
    reservations = Reservations(
        cache, queue, clock, profiles, ports.observers, groups, holds, placer
    )
    lifecycle = Lifecycle(cache, queue, clock, groups, settings, status, reservations)
    leaving = LeavingVictims(clock, ports.known, groups, lifecycle)
    preemption = GangPreemption(
        cache,
        profiles,
        ports.cycles,
        groups,
        placer,
        lifecycle,
        leaving,
        evictions,
        ports.start,
        ports.wake,
    )
    binder_of = partial(
        GangBinder,
        cache=cache,
        queue=queue,
        clock=clock,
        waiting=ports.waiting,
        preparing=ports.preparing,
        statuses=ports.statuses,
        outcome=ports.outcome,
        bindings=ports.bindings,
        settings=settings,
        lifecycle=lifecycle,
        reservations=reservations,
        status=status,
    )
    refusals = GangRefusals(
        cache,
        queue,
        profiles,
        ports.cycles,
        ports.outcome,
        ports.reporter,
        lifecycle,
        status,
        preemption,
        KnownMisfits(cache, clock, profiles, holds) if sparing else None,
    )
    bindings = GangBindings(ports.bindings, ports.start, binder_of)
    attempt = GangAttempt(placer, reservations, ports.reporter, bindings, refusals)
    interrupted = InterruptedEvictions(
        cache, clock, profiles, groups, evictions, ports.start, ports.wake
    )
    return Gangs(
        cache,
        queue,
        clock,
        groups,
        holds,
        settings,
        lifecycle,
        leaving,
        status,
        attempt,
        interrupted,
        ports.known,
    )


def quotas_for(ports: Ports) -> ElasticQuotas:
    """The feature of namespaces' quotas."""
    return ElasticQuotas(
        ports.cache,
        ports.clock,
        ports.server,
        ports.profiles,
        ports.recorder,
        ports.observers,
        ports.start,
    )


def claims_for(ports: Ports) -> ResourceClaims:
    """The feature of claims and devices, if the API server serves them."""
    return ResourceClaims(
        ports.cache,
        ports.queue,
        ports.clock,
        ports.server,
        ports.observers,
        ports.start,
        ports.later,
        ports.wake,
    )


def rejections_for(ports: Ports) -> KubeletRejections:
    """The feature that lets nodes rest whose kubelets reject pods."""
    return KubeletRejections(
        ports.cache,
        ports.queue,
        ports.clock,
        ports.server,
        ports.reporter,
        ports.observers,
        ports.start,
        ports.later,
        ports.believe,
    )


def rivals_for(ports: Ports, stand_ins: StandIns) -> Rivals:
    """The feature that reports other schedulers which bind pods of our scheduler names."""
    return Rivals(
        ports.cache,
        ports.clock,
        ports.profiles,
        ports.reporter,
        ports.is_active,
        lambda: stand_ins.state().keys(),
    )


def outcomes_for(ports: Ports) -> PlacementOutcomes:
    """Policies that learn hear of every attempt."""
    outcomes = PlacementOutcomes(ports.profiles)
    ports.observers.add(outcomes)
    return outcomes


def canaries_for(ports: Ports) -> Canaries:
    """The feature that lets new versions of profiles decide for some pods; it also observes."""
    canaries = Canaries(
        ports.profiles,
        PlacementMeter(ports.cache),
        ports.observers,
        ports.recorder,
        ports.reconfiguration,
    )
    ports.observers.add(canaries)
    return canaries


def stand_ins_for(
    ports: Ports, *, told: Told = silent, monotonic: Callable[[], float] | None = None
) -> StandIns:
    """The feature that takes the pods of schedulers which are gone."""
    return StandIns(
        ports.clock,
        ports.server,
        ports.profiles,
        ports.recorder,
        ports.reconfiguration,
        ports.start,
        ports.later,
        ports.is_active,
        told=told,
        monotonic=monotonic,
    )
