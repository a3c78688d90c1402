"""Settings of the queue, and what happens to waiting pods when they change.

1. Pods whose schedulerName no longer has a profile are dropped. One in flight is dropped when it
   comes back.
2. Pods that are active or back off are passed to the PreEnqueue plugins again, and ordered anew.
3. Pods that the plugins of a changed profile refused or gated are tried again after their backoff:
   the plugin that refused them may be gone.
4. Pods in flight are decided with the old settings. If those refuse them, the change counts as an
   event that came in the meantime, so they are tried again.

Pods keep their history: attempts, failures and the time they entered the queue.
"""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from moorage.framework.events import CONFIGURATION_CHANGED
from moorage.framework.queued_pod import QueuedPod, State
from moorage.queue.backoff import Backoff
from moorage.queue.in_flight import InFlightEvent, InFlightPods
from moorage.queue.pre_enqueue import PreEnqueueEntry, PreEnqueuePlugins
from moorage.queue.queueing_hints import QueueingHints, QueueingStrategy, RegisteredHints
from moorage.queue.sub_queues import SortKey, Step, SubQueues
from moorage.queue.transitions import Trigger

_WAITING_FOR_EVENTS = frozenset({State.UNSCHEDULABLE, State.GATED})


class QueueSettings(NamedTuple):
    """QueueSort key and backoff of a queue; PreEnqueue plugins and hints of each scheduler name."""

    sort_key: SortKey
    pre_enqueue: Mapping[str, Sequence[PreEnqueueEntry]]
    hints: RegisteredHints
    backoff: Backoff


def apply_settings(
    settings: QueueSettings,
    changed: Container[str],
    now: float,
    *,
    places: SubQueues,
    flights: InFlightPods,
    gates: PreEnqueuePlugins,
    hints: QueueingHints,
) -> None:
    """Apply new settings; `changed` are the scheduler names whose plugins differ.

    If the new sort key raises, it does so before anything has changed.
    """
    sorted(map(settings.sort_key, places.pods.values()))  # keys that do not compare raise here
    gates.replace(settings.pre_enqueue)
    hints.replace(settings.hints)
    places.go_by(settings.sort_key, settings.backoff)
    step = Step(Trigger.RECONFIGURE, CONFIGURATION_CHANGED.name, now)
    moving = [pod for pod in _in_order(places) if _moves(pod, gates, changed)]
    for pod in moving:  # all of them first: keys of two orders cannot be compared
        places.leave(pod)
    for pod in moving:
        if gates.serves(pod.info.pod.spec.scheduler_name):
            _put_anew(pod, places, step)
        else:
            places.shift(pod, State.OUTSIDE, step)
            del places.pods[pod.info.uid]
    for pod in places.pods.values():
        if not gates.serves(pod.info.pod.spec.scheduler_name):
            pod.deleted = True
            places.shift(pod, State.IN_FLIGHT, step)
    flights.record(InFlightEvent(CONFIGURATION_CHANGED, None, None))


def _in_order(places: SubQueues) -> list[QueuedPod]:
    """Every pod, in the order in which it came to its present sub-queue."""
    return sorted(places.pods.values(), key=lambda pod: pod.sequence)


def _moves(pod: QueuedPod, gates: PreEnqueuePlugins, changed: Container[str]) -> bool:
    scheduler = pod.info.pod.spec.scheduler_name
    if pod.state is State.IN_FLIGHT:
        return False
    return (
        pod.state not in _WAITING_FOR_EVENTS or scheduler in changed or not gates.serves(scheduler)
    )


def _put_anew(pod: QueuedPod, places: SubQueues, step: Step) -> None:
    pod.backoff_until = None
    if pod.state is State.ACTIVE:
        places.activate(pod, step)
    else:
        places.requeue(pod, QueueingStrategy.AFTER_BACKOFF, step)
